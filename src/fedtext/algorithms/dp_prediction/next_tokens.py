"""The next token of a group's text: public candidates, and what each client's own prompt says of them.

A client's logits depend on its own row alone, to the bit. Rows are computed side by side in one fixed shape, in which
the last places repeat a row; `rows_are_alike` tries that a row's place and its neighbours change nothing, and rows are
computed one by one on a machine where they do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float32, Int64

from fedtext.algorithms.dp_prediction.prompts import NO_TOKEN, Rows
from fedtext.federation.token_release import Candidates
from fedtext.federation.units import Block
from fedtext.generation.token_sampling import penalised
from fedtext.params.dp_prediction import DpPrediction

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


class NextTokens:
    """The next token's logits behind rows of tokens, `at_once` rows side by side, and behind what is added to all."""

    def __init__(self, model: PreTrainedModel, rows: Rows, at_once: int) -> None:
        self._model, self._count = model, len(rows)
        places = np.minimum(np.arange(-(-len(rows) // at_once) * at_once), len(rows) - 1)
        self._batches = [_Batch(model, rows[some]) for some in places.reshape(-1, at_once)]

    def logits(self, added: Sequence[int]) -> Float32[np.ndarray, "row token"]:
        """Return the logits behind all tokens so far and these."""
        found = [batch.logits(added) for batch in self._batches]
        return np.concatenate(found)[: self._count] if found else np.empty((0, self._model.config.vocab_size), "f4")


class _Batch:
    """Rows of one shape, with the keys and values of what they have read."""

    def __init__(self, model: PreTrainedModel, rows: Rows) -> None:
        import torch
        from transformers.cache_utils import DynamicCache

        ids = torch.from_numpy(rows.astype(np.int64)).to(model.device)
        self._model, self._cache, self._mask = model, DynamicCache(), (ids != NO_TOKEN).long()
        self._last = self._read(ids.clamp(min=0), (self._mask.cumsum(-1) - 1).clamp(min=0))

    def logits(self, added: Sequence[int]) -> Float32[np.ndarray, "row token"]:
        import torch

        for token in added:
            positions = self._mask.sum(-1, keepdim=True)
            self._mask = torch.cat([self._mask, torch.ones_like(positions)], dim=1)
            self._last = self._read(torch.full_like(positions, token), positions)
        return self._last

    def _read(self, ids: Tensor, positions: Tensor) -> Float32[np.ndarray, "row token"]:
        import torch

        with torch.inference_mode():
            output: Any = self._model(
                input_ids=ids,
                attention_mask=self._mask,
                position_ids=positions,
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=1,
            )
        read: Float32[np.ndarray, "row token"] = output.logits[:, -1].float().cpu().numpy()
        return read


def rows_are_alike(model: PreTrainedModel, width: int, at_once: int) -> bool:
    """Return whether a row's logits depend, to the bit, neither on its place nor on the rows beside it.

    It is tried on made-up tokens, of a prompt and of one token behind it.
    """
    rng = np.random.default_rng(0)
    tokens = rng.integers(model.config.vocab_size, size=(at_once, width), dtype=np.int32)
    alike = np.repeat(tokens[:1], at_once, axis=0)
    others = NextTokens(model, tokens, at_once)
    equal = NextTokens(model, alike, at_once)
    for added in ((), (1,)):
        own, beside = equal.logits(added), others.logits(added)
        if not (np.array_equal(own, np.repeat(own[:1], at_once, axis=0)) and np.array_equal(own[0], beside[0])):
            return False
    return True


@dataclass
class GroupReader:
    """The reader of one text (`fedtext.federation.token_release.Reader`).

    Attributes:
        params: The algorithm's parameters.
        clip: The clip of a contribution, which the forerunner's form needs.
        margin: Nats at temperature 1 below the smallest share at which a token may still be drawn: as much as one
            client could lift one token and lower another.
        public: The public prompt.
        private: The prompts of the group's clients.
        units: The client of each of them.
        begun: Tokens of the opening, which we write.
        is_complete: Whether a text of these tokens is complete.
        never_first: Tokens that no text begins with; None: any.
    """

    params: DpPrediction
    clip: float
    margin: float
    public: NextTokens
    private: NextTokens
    units: Int64[np.ndarray, " unit"]
    begun: Sequence[int]
    is_complete: Callable[[Sequence[int]], bool]
    never_first: Bool[np.ndarray, " token"] | None = None
    _added: Sequence[int] = field(default=(), init=False)
    _logits: Float32[np.ndarray, " token"] = field(init=False)

    def candidates(self, written: Sequence[int]) -> Candidates | None:
        """Return the tokens whose public probability is at least `min_p` of the likeliest one's, less a margin."""
        if written and self.is_complete(written):
            return None
        self._added = written[-1:] if written else self.begun
        (self._logits,) = self.public.logits(self._added)
        return likely(self._public_scores(written), self.params, self.margin)

    def contributions(self, candidates: Candidates) -> Block:
        """Return each client's logits of the candidates, less the public ones, or as the forerunner centres them."""
        said = self.private.logits(self._added).astype(np.float64)
        if self.params.form == "difference":
            return Block(self.units, (said - self._logits)[:, candidates.tokens])
        likeliest = said.max(axis=1, keepdims=True, initial=-np.inf)
        return Block(self.units, (said - likeliest + self.clip)[:, candidates.tokens])

    def _public_scores(self, written: Sequence[int]) -> Float32[np.ndarray, " token"]:
        import torch

        penalty, scores = self.params.sampler.repetition_penalty, torch.from_numpy(self._logits.copy())[None]
        if written and penalty > 1:
            scores = penalised(scores, torch.tensor([list(written)]), penalty)
        if self.never_first is not None and not written and not self.begun:
            scores[0, torch.from_numpy(self.never_first)] = -math.inf
        return np.asarray(scores[0].numpy())


def likely(scores: Float32[np.ndarray, " token"], params: DpPrediction, margin: float) -> Candidates:
    """Return the tokens that may be drawn, with their public scores at the temperature.

    The form `logits` has no public prompt: all tokens that may stand there are as likely.
    """
    nats = scores.astype(np.float64) / params.sampler.temperature
    if params.form == "logits":
        tokens = np.flatnonzero(np.isfinite(nats))
        return Candidates(tokens, np.zeros(len(tokens)))
    share = params.sampler.min_p
    least = nats.max() + (math.log(share) if share else -math.inf) - margin / params.sampler.temperature
    tokens = np.flatnonzero(np.isfinite(nats) & (nats >= least))
    return Candidates(tokens, nats[tokens])


def one_text_of_each(
    unit: Int64[np.ndarray, " sample"], draw: Callable[[int, int], int]
) -> tuple[Int64[np.ndarray, " unit"], Int64[np.ndarray, " unit"]]:
    """Return the units that hold text, and the row of one of each one's texts.

    Args:
        unit: The unit of each row.
        draw: Draws a number below the second, for the unit of the first: by its own code, whoever else is there.
    """
    units = np.unique(unit)
    held = [np.flatnonzero(unit == one) for one in units]
    rows = [own[draw(one, len(own))] for one, own in zip(units.tolist(), held, strict=True)]
    return units, np.array(rows, dtype=np.int64)

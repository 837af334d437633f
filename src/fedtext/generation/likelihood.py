"""Log-likelihoods of texts that continue prompts, under a model whose weights are on this machine."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from fedtext.system.cores import even_batches, over_cores
from fedtext.system.precision import scoring_copy
from fedtext.system.progress import progress

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from fedtext.models.generator import TrainableGenerator

SIDE_BY_SIDE = 32  # texts of a batch


def mean_log_likelihoods(
    generator: TrainableGenerator, prompts: Sequence[str], texts: Sequence[str], *, label: str = "likelihoods"
) -> Float[np.ndarray, " text"]:
    """Return each text's mean log-likelihood behind its own prompt, in nats a token; NaN for an empty text.

    The mean is over tokens where they stand first. A token that stood in the text before is easily guessed, and a loop
    would be the likeliest text of all.

    A text is tokenised apart from its prompt, as a generator continues it token by token. Texts behind equal prompts
    are scored together, and their prompt is read once.

    Args:
        generator: The model, with its weights.
        prompts: As many as texts.
        texts: What is scored.
        label: Of the progress bar.
    """
    model, tokenizer = generator.load()
    reader = scoring_copy(model)
    rows = [tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] for text in texts]
    behind: dict[str, list[int]] = {}
    for number in sorted(range(len(rows)), key=lambda number: -len(rows[number])):
        if rows[number]:
            behind.setdefault(prompts[number], []).append(number)
    batches = {prompt: even_batches(numbers, SIDE_BY_SIDE, 2) for prompt, numbers in behind.items()}

    def scored() -> Iterator[tuple[Sequence[int], list[float]]]:
        for prompt, own in batches.items():
            prefix = _Prompt.read(reader, tokenizer, prompt)
            work = partial(prefix.scores, rows)
            yield from zip(own, over_cores(work, own, len(own), model.device), strict=True)

    scores = np.full(len(rows), np.nan)
    total = sum(map(len, batches.values()))
    for batch, found in progress(scored(), label, unit="batch", total=total):
        scores[list(batch)] = found
    return scores


class _Prompt:
    """A prompt that a model has read: what it keeps of it, and the logits of the token behind it."""

    def __init__(self, model: PreTrainedModel, length: int, cache: object, logits: Tensor) -> None:
        self.model, self.length, self.cache, self.logits = model, length, cache, logits

    @classmethod
    def read(cls, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prompt: str) -> _Prompt:
        """Read the prompt once."""
        import torch

        ids = torch.tensor([tokenizer(prompt, verbose=False)["input_ids"]], device=model.device)
        with torch.inference_mode():
            output = model(input_ids=ids, use_cache=True, logits_to_keep=1)
        return cls(model, ids.shape[1], output.past_key_values, output.logits)

    def scores(self, rows: Sequence[list[int]], batch: Sequence[int]) -> list[float]:
        """Return the mean log-likelihood behind the prompt of the batch's rows, at tokens' first places."""
        import torch

        own = [rows[number] for number in batch]
        longest = max(map(len, own))

        def padded(values: Iterable[list[int]]) -> Tensor:
            return torch.tensor([row + [0] * (longest - len(row)) for row in values], device=self.model.device)

        ids, real, first = padded(own), padded([1] * len(row) for row in own), padded(map(_first_places, own))
        with torch.inference_mode():
            cache = copy.deepcopy(self.cache)
            cache.batch_repeat_interleave(len(own))  # type: ignore[attr-defined]
            shown = torch.cat([real.new_ones(len(own), self.length), real[:, :-1]], dim=1)
            logits = self.logits.expand(len(own), -1, -1)
            if longest > 1:
                more = self.model(
                    input_ids=ids[:, :-1], attention_mask=shown, past_key_values=cache, use_cache=True
                ).logits
                logits = torch.cat([logits, more], dim=1)
            return _means(logits, ids, first)


def _first_places(row: Sequence[int]) -> list[int]:
    """Mark with 1 where each token stands for the first time, and with 0 where it stood before."""
    return [int(row.index(token) == place) for place, token in enumerate(row)]


def _means(logits: Tensor, ids: Tensor, counted: Tensor) -> list[float]:
    """Return each row's mean log-likelihood over the places that are marked 1."""
    chosen = logits.gather(-1, ids[..., None])[..., 0].float()
    normaliser = logits.float().logsumexp(-1)
    means: list[float] = ((chosen - normaliser) * counted).sum(1).div(counted.sum(1)).tolist()
    return means

"""Private prediction's texts: every group's readers, the one release of tokens, and the texts that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Bool

from fedtext.algorithms.dp_prediction.next_tokens import GroupReader, NextTokens, one_text_of_each, rows_are_alike
from fedtext.algorithms.dp_prediction.plan import group_size, planned_release
from fedtext.algorithms.dp_prediction.prompts import NO_TOKEN, Rows, filled, form_of, framing_of, public_row
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.token_release import PlannedTokens, Texts, release_texts
from fedtext.generation.cleaning import clean_samples
from fedtext.generation.decoding import validate_model
from fedtext.generation.first_tokens import never_first
from fedtext.generation.generators.local import completion, decoded_texts, end_tokens
from fedtext.models.generator import TrainableGenerator
from fedtext.params.dp_prediction import DpPrediction
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.seeding import stream
from fedtext.system.cores import over_cores
from fedtext.system.precision import decoding_copy
from fedtext.system.progress import progress

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def written_tokens(
    generator: TrainableGenerator,
    public: Sequence[str],
    samples: PrivateSamples,
    params: DpPrediction,
    ledger: Ledger,
    key: NoiseKey,
) -> tuple[Rows, Ledger]:
    """Release the tokens of all groups' texts, and return them with the charged ledger.

    Args:
        generator: The model, whose weights are here: private text is put into its prompts.
        public: Texts, of which prompts without private text show one where the sampler shows examples.
        samples: A prompt's row of tokens for each private text (`prompts.client_rows`).
        params: The algorithm's parameters.
        ledger: The ledger that was opened for the plan.
        key: The run's secret noise key.

    Returns:
        A row of tokens for each text, with `NO_TOKEN` behind its end; and the charged ledger.

    Raises:
        BudgetExceeded: ledger or budget guard refuse; no private value has been read.
        ValueError: `fedtext.federation.token_release.release_texts` raises it, or the model does not see a whole row.
    """
    plan = planned_release(params, ledger.declaration, ledger.population)
    plan = replace(plan, query=plan.query.about("", f"{params.model_dump_json()} {generator.source}"))
    model, tokenizer = generator.load()
    validate_model(model, samples.features.shape[1] + plan.tokens)
    writer = _Writer(
        generator,
        decoding_copy(model),
        tokenizer,
        public,
        params,
        plan,
        group_size(params, ledger.population),
        samples.features.shape[1],
    )
    tokens, charged = release_texts(plan, writer.reader, samples, ledger, key, writer.over_cores)
    return filled(tokens, plan.tokens), charged


@dataclass(frozen=True)
class _Writer:
    """All that is public of the texts: model, prompts, plan."""

    generator: TrainableGenerator
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    public: Sequence[str]
    params: DpPrediction
    plan: PlannedTokens
    group_size: int
    width: int

    def reader(self, own: PrivateSamples, group: int, text: int) -> GroupReader:
        """Return the reader of a text, from the samples of the group's units."""
        number = group * self.plan.texts + text
        framing = framing_of(self.generator, self.params, number)
        units, rows = one_text_of_each(own.unit, lambda unit, held: _drawn(self.params.seed, unit, text, held))
        begun, clip = framing.before(0), self.plan.query.clip_norm
        return GroupReader(
            params=self.params,
            clip=clip,
            margin=2 * clip / self.group_size,
            public=NextTokens(
                self.model, public_row(self.generator, _example(self.public, self.params, number), self.params), 1
            ),
            private=NextTokens(self.model, own.features[rows], self._at_once),
            units=units,
            begun=self.tokenizer(begun, add_special_tokens=False)["input_ids"] if begun else (),
            is_complete=self._is_complete(framing.stops),
            never_first=self._never_first if framing.letter_first and not begun else None,
        )

    def over_cores(self, write: Callable[[int], Texts], groups: range) -> Iterable[Texts]:
        """Write the texts of the groups, one group a core."""
        done = over_cores(write, groups, len(groups), self.model.device)
        return progress(done, "texts of groups of clients", unit="group", total=len(groups))

    @cached_property
    def _at_once(self) -> int:
        wanted = self.params.clients_at_once
        return wanted if rows_are_alike(self.model, self.width, wanted) else 1

    @cached_property
    def _never_first(self) -> Bool[np.ndarray, " token"]:
        found: np.ndarray = never_first(self.tokenizer, self.model.config.vocab_size, self.model.device).cpu().numpy()
        return found

    def _is_complete(self, stops: Sequence[str]) -> Callable[[Sequence[int]], bool]:
        import torch

        holds = completion(self.model, self.tokenizer, stops)
        return lambda tokens: bool(holds(torch.tensor([list(tokens)], device=self.model.device))[0])


def sampled_texts(generator: TrainableGenerator, rows: Rows, params: DpPrediction, *, length: int) -> pd.DataFrame:
    """Return the texts of released tokens, each cut to a sample of at most `length` tokens; some may be empty.

    Returns:
        Columns `prompt_id` (the group), `response`, `text`, `label`.
    """
    import torch

    model, tokenizer = generator.load()
    form, raw, ends = form_of(generator, params), [], end_tokens(model, tokenizer)
    for number, row in enumerate(rows):
        framing = framing_of(generator, params, number)
        (text,) = decoded_texts(torch.from_numpy(row[row != NO_TOKEN][None]), tokenizer, ends, framing.stops)
        raw.append(framing.before(0) + text)
    legible_only = params.sampler.legible_only
    texts = clean_samples(raw, form, generator.length_tokenizer(), length, legible_only=legible_only)
    group, response = np.divmod(np.arange(len(raw)), params.texts_per_group)
    return pd.DataFrame({"prompt_id": group, "response": response, "text": texts, "label": None})


def _drawn(seed: int, unit: int, text: int, held: int) -> int:
    """Draw which of a unit's texts it shows for its group's text of this number, by its own code."""
    return int(stream(seed, "shown", unit, text).integers(held))


def _example(public: Sequence[str], params: DpPrediction, number: int) -> str | None:
    if not params.sampler.shows_examples or not public:
        return None
    return public[int(stream(params.seed, "public example", number).integers(len(public)))]

"""The profile of all silos (Equation 4), and the texts that are written in proportion to it.

The profile is the noisy number of records of each code. The generator writes texts of each code, prompted with the
code that it was trained on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Float

from fedtext.federation.federation import Federation
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.question import Question, classes_name
from fedtext.federation.secure_sum import NoisySum
from fedtext.federation.units import Block
from fedtext.generation.apportionment import apportion, proportions
from fedtext.generation.by_count import texts_by_count
from fedtext.generation.control_codes import ControlCode
from fedtext.generation.prompt_forms import PromptForm, prompt_form
from fedtext.models.generator import Framing, Generator
from fedtext.params.flexible import Flexible
from fedtext.params.task import parts_of
from fedtext.privacy.ledger import Ledger
from fedtext.seeding import derived_seed
from fedtext.voting.class_means import class_sum_blocks

Counts = Float[np.ndarray, " code"]


def code_counts(samples: PrivateSamples, codes: int) -> Iterator[Block]:
    """Yield each unit's number of samples of each code; a sample of an undeclared code is not counted."""
    ones = replace(samples, features=np.ones((len(samples.unit), 1), dtype=np.float32))
    return class_sum_blocks(ones, codes)


class Profile(Question):
    """The question of a unit's number of samples of each code."""

    labels: tuple[str, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """The declared codes."""
        return self.labels

    def blocks(self, held: PrivateSamples) -> Iterator[Block]:
        """Implement Question."""
        return code_counts(held, max(len(self.labels), 1))


def noised_profile(query: Query, federation: Federation, params: Flexible, ledger: Ledger) -> NoisySum:
    """Release the profile, and charge every silo in the ledger."""
    asked = query.about(f"profile {classes_name(params.labels)}")
    return federation.summed(asked, Profile(labels=params.labels), ledger)


def text_counts(profile: Counts, params: Flexible) -> list[int]:
    """Compute s_j, the texts per code, in proportion to the profile, by largest remainder."""
    return apportion(params.candidates, proportions(profile).tolist())


def pick_counts(written: list[int], params: Flexible) -> list[int]:
    """Compute how many texts of each code are kept, in proportion to how many were to be written."""
    return apportion(min(params.synthetic_texts, sum(written)), [float(count) for count in written])


@dataclass(frozen=True)
class UntunedPrompt:
    """A prompt form for an untrained model: one sentence (a `PromptForm`; Appendix D).

    Attributes:
        words: The sentence; `{label}` is replaced by the whole code, `{1}`, `{2}` and so on by its parts.
    """

    words: str
    description: ClassVar[None] = None
    framing: ClassVar[Framing] = Framing()
    sentences: ClassVar[bool] = False

    def request(self, examples: Sequence[str], label: str | None = None, topic: str | None = None) -> str:
        """Return the sentence for one code."""
        asked = self.words.replace("{label}", label or "")
        for place, part in enumerate(parts_of(label or ""), start=1):
            asked = asked.replace(f"{{{place}}}", part)
        return asked

    def cut(self, text: str) -> str:
        """Return the whole text."""
        return text.strip()


def form_of(params: Flexible, *, tuned: bool) -> PromptForm:
    """Return the prompt form: the code alone after a training on texts with codes, else a sentence."""
    if tuned:
        return ControlCode(params.sampler.description)
    return UntunedPrompt(params.untuned_prompt) if params.untuned_prompt is not None else prompt_form(params.sampler)


def code_request(params: Flexible, label: str | None) -> str:
    """Return the prefix of a text of this code in training; a text of an undeclared code has none."""
    return form_of(params, tuned=True).request([], label if params.labels else None)


def written_texts(
    generator: Generator, counts: Sequence[int], params: Flexible, length: int, *, tuned: bool
) -> pd.DataFrame:
    """Generate at most `counts[c]` non-empty texts of each code c: columns `text`, `prompt_id`, `label`."""
    form = form_of(params, tuned=tuned)
    written = texts_by_count(
        generator,
        [form.request([], label) for label in params.classes],
        counts,
        responses=params.final_responses,
        sampler=params.sampler,
        length=length,
        seed=derived_seed(params.seed, "responses"),
        label="texts of the trained generator" if tuned else "texts of the untrained generator",
        form=form,
    )
    labels = [params.classes[kind] for kind in written["kind"]]
    return written.assign(label=labels)[["text", "prompt_id", "label"]]

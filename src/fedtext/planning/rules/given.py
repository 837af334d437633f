"""What a rule is given: parameters, the population and assumed lengths; and the usual kinds of work."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fedtext.federation.units import Population
from fedtext.params import Parameters
from fedtext.params.corpus import Chunking, Corpus
from fedtext.params.generation import PROMPT_NAMES, Sampler
from fedtext.params.plan import Planning
from fedtext.params.training import CausalTraining, Lora, PreferenceTraining
from fedtext.planning.work import Kind, Work

P = TypeVar("P", bound=Parameters)
HEADING, REQUEST, PAGE = 8, 40, 10  # tokens around each text that a prompt shows, of all else that it says, of a page
TEXTS_AT_ONCE = 8  # texts that are embedded or scored side by side


@dataclass(frozen=True)
class Given:
    """The public values that work follows from.

    Attributes:
        parameters: All parameters of the run.
        population: The units that are asked.
        generators: How many generators `models.plms` names.
        models: The models that the node is given, by name of their data sets.
        inputs: How many data sets and groups of parameters the node is given.
    """

    parameters: Mapping[str, Any]
    population: Population
    generators: int = 0
    models: tuple[str, ...] = ()
    inputs: int = 0

    def params(self, group: str, kind: type[P]) -> P:
        """Return a group of parameters, by its dotted name."""
        value: Any = self.parameters
        for name in group.split("."):
            value = value[name]
        return kind.model_validate(value)

    @property
    def length(self) -> int:
        """The most tokens of a sample."""
        return self.params("chunking", Chunking).length

    @property
    def tokens(self) -> float:
        """Tokens of a sample, as assumed."""
        return self.length * self.params("plan", Planning).filled

    @property
    def samples(self) -> int:
        """Samples of all training units, as assumed."""
        return round(self.population.training * self.params("plan", Planning).samples)

    @property
    def public_samples(self) -> float:
        """Samples of the public texts, as assumed."""
        corpus = self.params("corpus", Corpus)
        samples = corpus.public_texts * self.params("plan", Planning).samples
        return min(corpus.public_samples or samples, samples)

    @property
    def test_samples(self) -> int:
        """Samples of all test units, as assumed."""
        return round(self.population.test * self.params("plan", Planning).samples)

    def written(
        self,
        prompts: float,
        responses: int,
        sampler: Sampler,
        *,
        within: str,
        shown: int | None = None,
        model: str = "",
        whole: bool = False,
    ) -> Work:
        """Return the writing of `responses` texts for each prompt.

        Args:
            prompts: Number of prompts.
            responses: Texts of a prompt.
            sampler: Most tokens of a text, and texts side by side.
            within: The group of parameters that the sampler belongs to.
            shown: Texts that a prompt shows, if the sampler's shows any; None: its own number.
            model: The model, if the node is given several.
            whole: Whether a text is as long as it may be, as a list and an answer are; else as full as a sample.
        """
        filled = 1.0 if whole else self.params("plan", Planning).filled
        said = REQUEST if sampler.prompt in PROMPT_NAMES else PAGE
        examples = sampler.shots if shown is None else shown
        prompt = said + (examples * (self.tokens + HEADING) if sampler.shows_examples else 0)
        texts = math.ceil(prompts * responses)
        at_once = max(min(sampler.batch_size, texts), 1)
        return Work(
            Kind.WRITING,
            tokens=texts * sampler.max_new_tokens * filled,
            at_once=at_once,
            row=prompt / responses + sampler.max_new_tokens,
            texts=texts,
            shown=prompts * prompt,
            shared=responses,
            lower=f"{within}.sampler.batch_size",
            model=model,
        )

    def read(self, texts: float, tokens: float | None = None, *, model: str = "") -> Work:
        """Return one reading of texts, to embed or to score them."""
        row = self.tokens if tokens is None else tokens
        return Work(Kind.READING, tokens=texts * row, at_once=TEXTS_AT_ONCE, row=row, model=model)


def trained(
    texts: float, tokens: float, training: CausalTraining, *, within: str, lora: Lora | None = None, passes: float = 1.0
) -> Work:
    """Return a training on texts of so many tokens; `passes` multiplies its epochs, as several rates do."""
    return Work(
        Kind.TRAINING,
        tokens=texts * tokens * training.epochs * passes,
        at_once=training.batch_size,
        row=tokens,
        lora=lora,
        lower=f"{within}.batch_size",
    )


def preferred(pairs: float, prompt: float, answer: float, params: PreferenceTraining, *, within: str) -> Work:
    """Return a training on pairs of answers to a prompt, which is computed once for both."""
    pair = prompt + 2 * answer
    return Work(
        Kind.TRAINING,
        tokens=pairs * pair * params.epochs,
        at_once=params.at_once,
        row=pair,
        referred=pairs * pair,
        devices=params.gpus,
        lora=params.lora,
        checkpointed=params.activation_checkpointing,
        lower=f"{within}.pairs_at_once",
        checkpointing=f"{within}.activation_checkpointing",
    )


def private(units: float, tokens: float, epochs: float, at_once: int, *, within: str, lora: Lora | None) -> Work:
    """Return a training that takes a gradient of every unit."""
    return Work(
        Kind.PRIVATE_TRAINING,
        tokens=units * tokens * epochs,
        at_once=at_once,
        row=tokens,
        lora=lora,
        lower=within,
    )


Rule = Callable[[Given], tuple[Work, ...]]


def nothing(given: Given) -> tuple[Work, ...]:
    """Return no work, for a node that is given a model and computes next to nothing with it."""
    return ()

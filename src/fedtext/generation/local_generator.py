"""A generator whose weights are on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from fedtext.generation.sampling import sample_responses
from fedtext.models.framing import Framing
from fedtext.models.language_model import LanguageModel, Tokenizer
from fedtext.models.word_weights import WordWeights
from fedtext.params.generation import Prompt, Sampler
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class LocalGenerator(LanguageModel):
    """A language model, with an adapter or without, that writes and can be trained (a `TrainableGenerator`).

    Attributes:
        measure: The tokenizer in whose tokens lengths are counted; None: the model's own.
        temperature: What this generator draws at, whatever the sampler says; None: as the sampler says.
        prompt: The form that it is asked in where it is one of several; None: as the sampler says.
        words: What it favours: for all requests, or one for each; nothing where it is empty.
    """

    measure: Tokenizer | None = None
    temperature: float | None = None
    prompt: Prompt | None = None
    words: tuple[WordWeights, ...] = ()

    @property
    def identity(self) -> str:
        """Source, adapter and temperature, as far as they are set."""
        adapter = f", adapter {self.adapter.name}" if self.adapter else ""
        return f"{self.source}{adapter}" + (f", temperature {self.temperature:g}" if self.temperature else "")

    def favouring(self, words: Sequence[WordWeights]) -> Self:
        """The same generator, which favours these words in all that it is asked, or the n-th in the n-th request."""
        return replace(self, words=tuple(words))

    def length_tokenizer(self) -> PreTrainedTokenizerBase:
        """The tokenizer in whose tokens lengths are counted."""
        return self.tokenizer() if self.measure is None else self.measure.load()

    def own(self, sampler: Sampler) -> Sampler:
        """The sampler at this generator's own temperature, asking in its own form."""
        return sampler.for_one(self.temperature, self.prompt)

    def write(
        self,
        requests: Sequence[str],
        *,
        framing: Framing,
        responses: int,
        sampler: Sampler,
        seed: int,
        label: str,
    ) -> list[list[str]]:
        """As `Generator.write`; equal arguments give equal texts (`fedtext.generation.sampling`)."""
        if not requests:
            return []
        model, tokenizer = self.load()
        begun = [framing.before(number) for number in range(len(requests))]
        beginnings = _beginnings(self.source, requests, framing, tokenizer)
        written = sample_responses(
            model,
            tokenizer,
            [beginning + words for beginning, words in zip(beginnings, begun, strict=True)],
            responses=responses,
            sampler=self.own(sampler),
            seed=seed,
            stops=framing.stops,
            label=label,
            words=self.words,
            letter_first=framing.letter_first and not framing.begun,
        )
        return [[words + text for text in texts] for words, texts in zip(begun, written, strict=True)]

    def beginnings(self, requests: Sequence[str], framing: Framing) -> list[str]:
        """The requests themselves, or in the model's own chat template, up to where the sample begins.

        Raises:
            ValueError: The model has no chat template.
        """
        return _beginnings(self.source, requests, framing, self.tokenizer())

    def ending(self, framing: Framing) -> str:
        """The framing's closing, and in a chat the token that ends the model's turn."""
        return f"{framing.closing}{self.tokenizer().eos_token or ''}" if framing.chat else framing.closing


def _beginnings(
    source: str, requests: Sequence[str], framing: Framing, tokenizer: PreTrainedTokenizerBase
) -> list[str]:
    if not framing.chat:
        return list(requests)
    if tokenizer.chat_template is None:
        raise InputError(cannot_chat(source, "has no chat template"))
    first = tokenizer.bos_token if _adds_first_token(tokenizer) else None
    turns = ([{"role": "user", "content": text}] for text in requests)
    texts = [tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True) for turn in turns]
    return [(text.removeprefix(first) if first else text) + framing.opening for text in texts]


def cannot_chat(source: str, reason: str) -> str:
    """What to say of a model that cannot be asked in messages, and has what `reason` says."""
    return (
        f"generator '{source}' {reason}, so it cannot be asked in messages: set generation.prompt=list, or take a "
        "model that was trained to chat, as models.generator=smollm2 (others' names often end in -Instruct)"
    )


def _adds_first_token(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the tokenizer begins every text with its first token; a template that writes it would double it."""
    ids = tokenizer("a")["input_ids"]
    return tokenizer.bos_token_id is not None and ids[:1] == [tokenizer.bos_token_id]

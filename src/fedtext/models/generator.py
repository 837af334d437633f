"""Interfaces of models that write text, wherever their weights are.

Weights on this machine are one generator (`fedtext.generation.generators.local`), a server with OpenAI's API is another
(`fedtext.generation.generators.endpoint`), and a third has weights here and servers that write with them
(`fedtext.generation.generators.served`). An algorithm that only needs texts takes a `Generator`. One that trains the
model takes a `TrainableGenerator`, one that also guides it by words a `GuidedGenerator`, and one that sends chat
messages a `ChatGenerator`. A run that would give an algorithm another kind is refused before it starts
(`fedtext.wiring.hooks.preflight`).

`Framing` is the prompt template around a sample: whether it answers a message, what opens it and what ends it.
`WordWeights` are words that a generator is to write more or less often than it would.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from fedtext.params.generation import Sampler

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


LEAD = re.compile(r'\s*(?:[^"“\n]*:[ \t]*\n\s*)?["“]')  # of an answer that its writer opened: a line, a quotation mark


@dataclass(frozen=True)
class Framing:
    """Prompt template: how a request is put to a model, and where the sample begins and ends.

    Attributes:
        chat: Whether a request is a user's message that is answered, or the beginning of a text that goes on.
        opening: How the answer to a message begins, written by us; the model goes on with the sample.
        lead: What stands between a text that goes on and the sample, and belongs to it when a model is trained on it.
        closing: What follows a sample and belongs to it when a model is trained on it.
        plea: Closes a message to a model whose answer cannot be opened.
        stops: Texts after any of which nothing is wanted; none if the end of the response tells.
        begun: How the sample of each request begins, written by us as `opening` is; it belongs to the sample. None: as
            the model likes.
        letter_first: Whether a sample that we have not begun begins with a letter, and not with a mark or a greeting.
    """

    chat: bool = False
    opening: str = ""
    lead: str = ""
    closing: str = ""
    format_instruction: str = ""
    stops: tuple[str, ...] = ()
    begun: tuple[str, ...] = ()
    letter_first: bool = False

    def message(self, request: str, number: int = 0) -> str:
        """Return the chat message of the request with this number, for a model whose answer cannot be opened by us."""
        begun = f'Begin it with "{self.begun[number]}".' if self.begun else ""
        return " ".join(filter(None, [request, begun, self.format_instruction]))

    def before(self, number: int) -> str:
        """Return the beginning of this request's sample that we write, behind `opening`; the model continues it."""
        return f"{'' if self.chat else self.lead}{self.begun[number]}" if self.begun else ""

    def opened(self, answer: str) -> str:
        """Return an answer without the words that introduce its quotation, as if we had opened it ourselves."""
        return LEAD.sub("", answer, count=1) if self.opening and LEAD.match(answer) else answer


@dataclass(frozen=True)
class WordWeights:
    """Additive bias on the log-probability of words, in nats; other words have 0.

    A word is as `fedtext.embedding.words` finds it, in lower case: letters and digits, a mark, or a line's end.

    Attributes:
        anywhere: Bias wherever the word stands.
        first: Bias where a text begins with the word.
        after: By a word, the additional bias of words that stand directly behind it.
    """

    anywhere: Mapping[str, float] = field(default_factory=dict)
    first: Mapping[str, float] = field(default_factory=dict)
    after: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@runtime_checkable
class Generator(Protocol):
    """A model that continues texts, or answers requests."""

    @property
    def identity(self) -> str:
        """The model's name in one line without secrets: for reports, errors and tables."""

    def length_tokenizer(self) -> PreTrainedTokenizerBase:
        """Return the tokenizer by whose tokens the lengths of texts are counted."""

    def own(self, sampler: Sampler) -> Sampler:
        """Return the sampler with the settings of this generator alone, such as its temperature and prompt template."""

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
        """Return `responses` raw texts for every request, in the requests' order.

        Args:
            requests: The requests; never private text, for a generator may be a server.
            framing: Prompt template around a sample. A response begins after its opening, and may end before its
                `stop`, with it or behind it.
            responses: Texts per request, at least 1.
            sampler: Settings of token sampling.
            seed: Seed of token sampling. Equal seeds give equal texts on one machine; a server may ignore seeds.
            label: Name of the progress bar.

        Raises:
            ValueError: The model cannot serve the request.
            OSError: The model does not exist, or does not respond.
        """


@runtime_checkable
class ChatGenerator(Generator, Protocol):
    """A generator that answers chat messages, so that it follows instructions."""


@runtime_checkable
class TrainableGenerator(Generator, Protocol):
    """A generator whose weights are local, so that low-rank adapters of it can be trained."""

    @property
    def source(self) -> str:
        """The public checkpoint under every adapter: `bundled:<name>`, a directory or a Hugging Face id."""

    def with_adapter(self, path: Path | None) -> Self:
        """Return the same public model with the adapter in `path`."""

    def load(self, merge_adapter: bool = True) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        """Load the model, in evaluation mode on its device, and the tokenizer."""

    def completion_prompts(self, requests: Sequence[str], framing: Framing) -> list[str]:
        """Return the model's input before each sample, opening included: the prompts of training completions."""

    def ending(self, framing: Framing) -> str:
        """Return the text that ends a sample in training: the framing's closing, and the end of its turn."""


@runtime_checkable
class GuidedGenerator(TrainableGenerator, Protocol):
    """A trainable generator that also takes word weights, so that it writes here."""

    def with_word_weights(self, words: Sequence[WordWeights]) -> Self:
        """Return the same generator with word weights: one for all requests, or the n-th for the n-th request."""

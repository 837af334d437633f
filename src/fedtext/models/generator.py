"""What algorithms ask of a model that writes text, wherever its weights are.

Weights on this machine are one generator (`fedtext.generation.generators.local`), a server that speaks OpenAI's API is
another (`fedtext.generation.generators.endpoint`). An algorithm that only asks for texts takes a `Generator`. One that
trains the model takes a `TrainableGenerator`, and what tells it in messages what to write takes a `ChatGenerator`. A
run that would give either anything else is refused before it starts (`fedtext.wiring.hooks.preflight`).

- What stands around a sample besides the request: whether it answers a message, what opens it and what ends it.
- Words that a generator is to write more or less often than it would.
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
    """How a request is put to a model, and where the sample begins and ends.

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
    plea: str = ""
    stops: tuple[str, ...] = ()
    begun: tuple[str, ...] = ()
    letter_first: bool = False

    def message(self, request: str, number: int = 0) -> str:
        """The request of this number to a model whose answer cannot be opened."""
        begun = f'Begin it with "{self.begun[number]}".' if self.begun else ""
        return " ".join(filter(None, [request, begun, self.plea]))

    def before(self, number: int) -> str:
        """What we write of the sample of this request, behind `opening`; the model goes on with it."""
        return f"{'' if self.chat else self.lead}{self.begun[number]}" if self.begun else ""

    def opened(self, answer: str) -> str:
        """An answer that its writer opened, as if we had: without what leads to the quotation, where it has one."""
        return LEAD.sub("", answer, count=1) if self.opening and LEAD.match(answer) else answer


@dataclass(frozen=True)
class WordWeights:
    """What is added to the log-probability of a word when it could come next, in nats; other words have 0.

    A word is as `fedtext.embedding.words` finds it, in small letters: letters and digits, a mark, or a line's end.

    Attributes:
        anywhere: Wherever the word stands.
        first: Where a text begins with it.
    """

    anywhere: Mapping[str, float] = field(default_factory=dict)
    first: Mapping[str, float] = field(default_factory=dict)


@runtime_checkable
class Generator(Protocol):
    """A model that continues texts, or answers requests."""

    @property
    def identity(self) -> str:
        """Which model this is, in one line without secrets: for reports, errors and tables."""

    def length_tokenizer(self) -> PreTrainedTokenizerBase:
        """The tokenizer in whose tokens the lengths of its texts are counted."""

    def own(self, sampler: Sampler) -> Sampler:
        """The sampler with what was settled for this generator alone: a temperature, the form that it is asked in."""

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
        """`responses` raw texts for every request, in the requests' order.

        Args:
            requests: What is asked; never text that is private, for a generator may be a server.
            framing: What stands around a sample. A response begins after its opening, and may end before its `stop`,
                with it or behind it.
            responses: Texts a request, at least 1.
            sampler: How they are drawn.
            seed: Of the draws. Equal seeds give equal texts on one machine, from a server as far as it heeds seeds.
            label: Names the progress bar.

        Raises:
            ValueError: The model cannot serve the request.
            OSError: It is not there, or does not answer.
        """


@runtime_checkable
class ChatGenerator(Generator, Protocol):
    """A generator that answers messages, so that it can be told what to write."""


@runtime_checkable
class TrainableGenerator(Generator, Protocol):
    """A generator whose weights are here, so that low-rank adapters of it can be trained."""

    @property
    def source(self) -> str:
        """The public checkpoint under every adapter: `bundled:<name>`, a directory or a Hugging Face id."""

    def with_adapter(self, path: Path | None) -> Self:
        """The same public model with the adapter in `path`."""

    def favouring(self, words: Sequence[WordWeights]) -> Self:
        """The same generator, which favours these words in all that it is asked, or the n-th in the n-th request."""

    def load(self, merge_adapter: bool = True) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        """Model, in evaluation mode on its device, and tokenizer."""

    def beginnings(self, requests: Sequence[str], framing: Framing) -> list[str]:
        """What the model reads before each sample, opening included: what a completion is trained to follow."""

    def ending(self, framing: Framing) -> str:
        """What ends a sample when the model is trained on it: the framing's closing, and the end of its turn."""

"""What algorithms ask of a model that writes text, wherever its weights are.

Weights on this machine are one generator (`fedtext.generation.local_generator`), a server that speaks OpenAI's API is
another (`fedtext.generation.endpoint_generator`). An algorithm that only asks for texts takes a `Generator`. One that
trains the model takes a `TrainableGenerator`, and what tells it in messages what to write takes a `ChatGenerator`. A
run that would give either anything else is refused before it starts (`fedtext.wiring.hooks.preflight`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from fedtext.models.framing import Framing
from fedtext.models.word_weights import WordWeights
from fedtext.params.generation import Sampler

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


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

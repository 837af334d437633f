"""Context limits of the models that read texts, in their own tokens, and what happens to longer texts.

They are reported before a run, from public values alone: the declared length of a sample and public texts. The number
of tokens of private samples is private, so a limit below the declared length is assumed to be passed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fedtext.system.errors import InputError

UNKNOWN_AT_MOST = 0.25  # of the public texts' tokens: there 4 of 10 texts have another nearest neighbour (decision 42)
MULTILINGUAL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
FRAME = 16  # tokens around each sample in a list: its heading, and its share of the first line
SPECIAL = 1  # the start token, the least that a reader puts before a text


class Beyond(StrEnum):
    """What a model does with a text that is longer than its limit."""

    REFUSED = "refused"
    WINDOWS = "windows"


@dataclass(frozen=True)
class ReadingLimit:
    """A model's context limit.

    Attributes:
        reader: The model's name in the catalog.
        tokens: The largest number of its own tokens that it reads at once; None if it names no limit.
        beyond: What happens to a longer text.
    """

    reader: str
    tokens: int | None
    beyond: Beyond

    def is_exceeded_by(self, length: int) -> bool:
        """Return whether a text of `length` tokens is longer than the limit."""
        return self.tokens is not None and length + SPECIAL > self.tokens

    def note_for(self, length: int) -> str | None:
        """Return the note for a user whose samples have `length` tokens; None if all of them fit.

        Raises:
            ValueError: They may not fit, and this model must read whole texts.
        """
        if not self.is_exceeded_by(length):
            return None
        if self.beyond is Beyond.REFUSED:
            raise InputError(
                f"chunking.length is {length}, but '{self.reader}' reads {self.tokens} tokens at once: make it "
                "smaller, or choose a model with a longer context",
                code="chunks-too-long",
                parameter="chunking.length",
                value=length,
            )
        return (
            f"'{self.reader}' reads {self.tokens} tokens at once and chunking.length is {length}: a longer sample's "
            "embedding is the mean of its parts'"
        )


@dataclass(frozen=True)
class Reading:
    """How a model reads a text that is longer than a declared number of its own tokens.

    Attributes:
        reader: The model's name in the catalog.
        parameter: Dotted name of the parameter that declares the number.
        how: Description, with a place for the number.
        cuts: Whether the rest of the text is not read.
        where: A parameter and the value at which the model reads so; None: always.
    """

    reader: str
    parameter: str
    how: str
    cuts: bool = True
    where: tuple[str, object] | None = None


READINGS = (
    Reading("encoder", "chunking.length", "a sample that is too long for it as the mean of its parts", cuts=False),
    Reading("on_device", "chunking.length", "every sample whole, in windows of {} of its own tokens", cuts=False),
    Reading(
        "classifier",
        "classification.training.length",
        "the first {} of its tokens of a text",
        where=("classification.training.kind", "fine_tuned"),
    ),
    Reading(
        "classifier",
        "evaluation.questions.length",
        "{} of its tokens of a question with its passage",
        where=("evaluation.questions.measured", True),
    ),
    Reading("downstream", "dp_ft.tokens.prompt", "the last {} of its tokens of a pair's prompt"),
    Reading("downstream", "dp_ft.tokens.answer", "the first {} of its tokens of a pair's answer"),
)


def readings(models: Collection[str], value_of: Callable[[str], Any]) -> list[tuple[Reading, str]]:
    """Return the readings that apply to a run, each with the sentence that describes it.

    Args:
        models: Names, in the catalog, of the models that the run uses.
        value_of: Returns a parameter's value by its dotted name; None if the run does not read it.
    """
    found = []
    for reading in READINGS:
        number = value_of(reading.parameter) if reading.reader in models else None
        if number is not None and (reading.where is None or value_of(reading.where[0]) == reading.where[1]):
            found.append((reading, reading.how.format(number)))
    return found


def fitting_length(limit: ReadingLimit, listed: int, new_tokens: int) -> int:
    """Return how long the samples of a list may be, with `new_tokens` behind it, for a model with a limit."""
    assert limit.tokens is not None
    return (limit.tokens - SPECIAL - new_tokens) // listed - FRAME


def validate_list_length(limit: ReadingLimit, *, listed: int, length: int, new_tokens: int, asked_by: str) -> None:
    """Raise an error if a list prompt, with the `new_tokens` behind it, may exceed the model's context.

    Raises:
        ValueError: It may; both numbers are named, and a sample length that would fit.
    """
    most = listed * (length + FRAME) + new_tokens
    if limit.tokens is None or not limit.is_exceeded_by(most):
        return
    fits = fitting_length(limit, listed, new_tokens)
    raise InputError(
        f"{asked_by} lists {listed} samples of chunking.length {length}, up to {most} tokens with what is written, and "
        f"'{limit.reader}' reads {limit.tokens} at once: lower chunking.length to {fits}, or choose a generator with a "
        "longer context (models.generator)",
        code="list-too-long",
        parameter="chunking.length",
        value=length,
    )


def validate_script(share: float, encoder: str, texts: str) -> None:
    """Raise an error if the encoder does not know the script of the public texts: votes could not tell texts apart.

    Raises:
        ValueError: The `share` of unknown tokens is above `UNKNOWN_AT_MOST`.
    """
    if share > UNKNOWN_AT_MOST:
        raise InputError(
            f"encoder '{encoder}' does not know {100 * share:.0f}% of the tokens of {texts}, so it cannot tell such "
            f"texts apart: choose one that reads their script, as models.encoder={MULTILINGUAL}",
            code="unknown-script",
            parameter="models.encoder",
            value=encoder,
        )

"""What each reader of a text reads at once, in its own tokens, and what becomes of the rest: said before a run.

Only public values are asked: the declared length of a sample and public texts. How many tokens the private samples have
is private, so a limit that the declared length passes is taken to be passed.
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
    """What a reader does with a text that is longer than it reads at once."""

    REFUSED = "refused"
    WINDOWS = "windows"


@dataclass(frozen=True)
class ReadingLimit:
    """A reader's limit.

    Attributes:
        reader: The model's name in the catalog.
        tokens: The most that it reads at once, of its own tokens; None where it names no limit.
        beyond: What becomes of a longer text.
    """

    reader: str
    tokens: int | None
    beyond: Beyond

    def passed_by(self, length: int) -> bool:
        """Whether a text of `length` tokens is longer."""
        return self.tokens is not None and length + SPECIAL > self.tokens

    def said_of(self, length: int) -> str | None:
        """What to tell whoever runs it where samples have `length` tokens; None where all of them fit.

        Raises:
            ValueError: they may not, and this reader reads no part of a text for the whole.
        """
        if not self.passed_by(length):
            return None
        if self.beyond is Beyond.REFUSED:
            raise InputError(
                f"chunking.length is {length}, but '{self.reader}' reads {self.tokens} tokens at once: make it "
                "smaller, or choose a model with a longer context"
            )
        return (
            f"'{self.reader}' reads {self.tokens} tokens at once and chunking.length is {length}: a longer sample's "
            "embedding is the mean of its parts'"
        )


@dataclass(frozen=True)
class Reading:
    """How a model reads a text that may be longer than it reads at once, by a declared number of its own tokens.

    Attributes:
        reader: The model's name in the catalog.
        parameter: What declares the number, by its dotted name.
        how: In words, with a place for the number.
        cuts: Whether the rest of the text is not read.
        where: A parameter and its value at which the model reads so; None: always.
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
    Reading("generator", "dp_ft.tokens.prompt", "the last {} of its tokens of a pair's prompt"),
    Reading("generator", "dp_ft.tokens.answer", "the first {} of its tokens of a pair's answer"),
)


def readings(models: Collection[str], value_of: Callable[[str], Any]) -> list[tuple[Reading, str]]:
    """How the models of a run read long texts, each with its words.

    Args:
        models: Their names in the catalog.
        value_of: A parameter's value by its dotted name; None where the run does not read it.
    """
    found = []
    for reading in READINGS:
        number = value_of(reading.parameter) if reading.reader in models else None
        if number is not None and (reading.where is None or value_of(reading.where[0]) == reading.where[1]):
            found.append((reading, reading.how.format(number)))
    return found


def validate_list_length(limit: ReadingLimit, *, listed: int, length: int, new_tokens: int, asked_by: str) -> None:
    """Refuses a list of samples of `length` tokens, and the `new_tokens` behind it, that the model may not read whole.

    Raises:
        ValueError: it may not; both numbers are named, and the length that would do.
    """
    most = listed * (length + FRAME) + new_tokens
    if limit.tokens is None or not limit.passed_by(most):
        return
    fits = (limit.tokens - SPECIAL - new_tokens) // listed - FRAME
    raise InputError(
        f"{asked_by} lists {listed} samples of chunking.length {length}, up to {most} tokens with what is written, and "
        f"'{limit.reader}' reads {limit.tokens} at once: lower chunking.length to {fits}, or choose a generator with a "
        "longer context (models.generator)"
    )


def refuse_unknown(share: float, encoder: str, texts: str) -> None:
    """Refuses an encoder that does not know the script of the public texts: votes would not tell texts apart.

    Raises:
        ValueError: the `share` of unknown tokens is above `UNKNOWN_AT_MOST`.
    """
    if share > UNKNOWN_AT_MOST:
        raise InputError(
            f"encoder '{encoder}' does not know {100 * share:.0f}% of the tokens of {texts}, so it cannot tell such "
            f"texts apart: choose one that reads their script, as models.encoder={MULTILINGUAL}"
        )

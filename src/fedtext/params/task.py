"""The classes that labelled texts are of: declared once for a run, never read from private text."""

from __future__ import annotations

from pydantic import field_validator

from fedtext.params import words
from fedtext.params.classes import OfClasses
from fedtext.system.errors import InputError


def in_words(label: str) -> str:
    """A class as a sentence names it: `card_arrival` as `card arrival`."""
    return " ".join(label.replace("_", " ").split())


class Task(OfClasses):
    """`labels` are the classes (`corpus.label_column`); `attributes` are what texts of every class are varied by.

    No label: there is no such task, and nothing is classified.
    """

    group = "task"

    labels: tuple[str, ...]
    attributes: tuple[str, ...]

    _attributes = field_validator("attributes", mode="before")(words)

    @field_validator("labels")
    @classmethod
    def _each_class_has_a_name(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        if any(not in_words(label) for label in labels):
            raise InputError(f"task.labels has an empty name: {labels}; name every class by a word")
        return labels

    @property
    def names(self) -> tuple[str, ...]:
        """The classes as sentences name them, in the order of `labels`."""
        return tuple(map(in_words, self.labels))

    def refuse_without_classes(self, wanted_by: str) -> None:
        """Raises ValueError for fewer than two classes; `wanted_by` is what needs them."""
        if len(self.labels) < 2:
            raise InputError(
                f"{wanted_by}: classes are needed, and task.labels names {len(self.labels)}: name two or more, as "
                "corpus.label_column has them (--params task.labels='asyncio email unittest')"
            )

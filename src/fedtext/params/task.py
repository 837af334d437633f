"""The classes of labelled texts: declared once for a run, never read from private text.

A class may be a control code of several parts, as category and stars of a review: its label is the parts' values joined
by TAB (Yue et al., ACL 2023, section 4.1), so no part may contain one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, ClassVar, cast

from pydantic import field_validator

from fedtext.params import Parameters, each_once, words
from fedtext.system.errors import InputError

BETWEEN_PARTS = "\t"


def as_labels(declared: object) -> object:
    """Return declared classes as a list: words, or for control codes the values of each part by its name.

    `{category: bars shopping, stars: 1 5}` stands for the four codes. A part whose values are null is left out.
    """
    if not isinstance(declared, Mapping):
        return words(declared)
    parts = [cast("Sequence[object]", words(values)) for values in declared.values() if values is not None]
    return tuple(joined(tuple(map(str, values))) for values in product(*parts)) if parts else ()


class OfClasses(Parameters):
    """Base of parameters with `labels`: the classes, public and declared, never read from private data (`as_labels`).

    No labels: there are no classes. A model declares the field itself, in its own place: the order of fields is part of
    a query's description, and so of the names of noise streams.

    Attributes:
        group: Name of the group of parameters, for messages.
    """

    group: ClassVar[str]
    if TYPE_CHECKING:
        labels: tuple[str, ...]

    _words = field_validator("labels", mode="before", check_fields=False)(as_labels)

    @field_validator("labels", check_fields=False)
    @classmethod
    def _each_class_once(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        return each_once(labels, f"{cls.group}.labels")

    @property
    def classes(self) -> tuple[str | None, ...]:
        """The declared labels, or one unnamed class."""
        return self.labels or (None,)


def joined(values: Sequence[str]) -> str:
    """Return the label of a control code with these values of its parts.

    Raises:
        ValueError: a value holds a TAB, or is empty.
    """
    for value in values:
        if BETWEEN_PARTS in value or not value.strip():
            raise InputError(
                f"{value!r} is no part of a control code: TAB stands between parts, and none is empty",
                code="not-a-control-code",
                value=value,
            )
    return BETWEEN_PARTS.join(values)


def parts_of(label: str) -> tuple[str, ...]:
    """Return the values of a label's parts; the label itself if it has one part."""
    return tuple(label.split(BETWEEN_PARTS))


def in_one_word(value: str) -> str:
    """Return a value of a data set as a class that a command line can name: `_` for spaces and commas."""
    return "_".join(value.replace(",", " ").split())


def in_words(label: str) -> str:
    """Return a class in words: `card arrival` for `card_arrival`, the parts with commas for a control code."""
    return ", ".join(" ".join(part.replace("_", " ").split()) for part in parts_of(label))


class Task(OfClasses):
    """`labels` are the classes (`corpus.label_column`); `attributes` vary the texts of every class.

    Without labels there is no such task, and nothing is classified.
    """

    group = "task"

    labels: tuple[str, ...]
    attributes: tuple[str, ...]

    _attributes = field_validator("attributes", mode="before")(words)

    @field_validator("labels")
    @classmethod
    def _each_class_has_a_name(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        if any(not in_words(label) for label in labels):
            raise InputError(
                f"task.labels has an empty name: {labels}; name every class by a word",
                code="empty-label",
                parameter="task.labels",
                value=labels,
            )
        return labels

    @property
    def names(self) -> tuple[str, ...]:
        """The classes in words, in the order of `labels`."""
        return tuple(map(in_words, self.labels))

    def validate_classes(self, wanted_by: str) -> None:
        """Raise ValueError for fewer than two classes; `wanted_by` is what needs them."""
        if len(self.labels) < 2:
            raise InputError(
                f"{wanted_by}: classes are needed, and task.labels names {len(self.labels)}: name two or more, as "
                "corpus.label_column has them (--params task.labels='asyncio email unittest')",
                code="too-few-labels",
                parameter="task.labels",
                value=len(self.labels),
            )

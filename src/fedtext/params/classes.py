"""Declared classes, as several algorithms have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import field_validator

from fedtext.params import Parameters, each_once, words


class OfClasses(Parameters):
    """Base of parameters with `labels`: the classes, public and declared, never read from private data.

    None means that there are no classes. A model declares the field itself, in its own place: the order of fields is
    part of what units are told, and so of the names of noise.

    Attributes:
        group: Name of the group of parameters, for messages.
    """

    group: ClassVar[str]
    if TYPE_CHECKING:
        labels: tuple[str, ...]

    _words = field_validator("labels", mode="before", check_fields=False)(words)

    @field_validator("labels", check_fields=False)
    @classmethod
    def _each_class_once(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        return each_once(labels, f"{cls.group}.labels")

    @property
    def classes(self) -> tuple[str | None, ...]:
        """The declared labels, or one nameless class."""
        return self.labels or (None,)

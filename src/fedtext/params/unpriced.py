"""Measures of held-out text that have no priced form."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from fedtext.params import Parameters
from fedtext.system.errors import InputError


class Unpriced(Parameters):
    """Base of parameters with `measured`: whether it is taken at all, which only exact figures allow.

    Attributes:
        group: Name of the group of parameters, for messages.
        figures: What has no priced form, in a word.
    """

    group: ClassVar[str]
    figures: ClassVar[str]
    if TYPE_CHECKING:
        measured: bool

    def refuse_impossible(self, *, priced: bool) -> None:
        """Raises ValueError where it is asked for and test clients pay for figures of their text."""
        if self.measured and priced:
            raise InputError(
                f"{self.group}.measured is true, but this run's test clients pay for figures of their text and "
                f"{self.figures} have no priced form: leave it out ({self.group}.measured=false), or measure without "
                "protection (evaluation.priced=false)"
            )

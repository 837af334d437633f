"""Turns, the content of a page before any filter: each is made of paragraphs with their kinds.

Parsers only read structure. `clients` decides later whether a chair's turn or an inserted letter becomes benchmark
text. So the published reading and the clean one share one parser, and everything left out is counted by kind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

SPOKEN = "spoken"  # a paragraph said (or, for abstracts, written) by the turn's own speaker
SPEECH = "speech"  # a turn of an ordinary speaker; every other kind is left out of the clean benchmark
CHAIR_TURN = "chair"
COLLECTIVE = "collective"  # "Some hon. members"
NOT_SPOKEN = "not_spoken"  # handed in and printed with a bullet
UNKNOWN_ELEMENT = "unknown_element"  # of a page, which its parser does not ask for; its name is among the unknown ones
INSERTED = "inserted"  # matter set in print, indented
COPY = "copy_of_sub_granule"  # what a page of a whole section repeats from the pages of its parts

# Kinds of turn in which a member speaks.
INTERVENTIONS = frozenset({SPEECH, CHAIR_TURN, COLLECTIVE, NOT_SPOKEN})


class Paragraph(NamedTuple):
    """One paragraph and what it is: `spoken`, or a structural kind such as `motion_text`, `inserted` or `time_mark`."""

    text: str
    kind: str = SPOKEN


@dataclass(frozen=True, slots=True)
class Turn:
    """One speaker's uninterrupted turn, one abstract, or one piece of a page that nobody speaks (`kind`).

    `client_id` starts with the date; `number` tells turns of one page part; `labelled` marks a Canadian
    intervention that holds other speakers' labels (the published reading skips those whole); `unknown` is what no rule
    knows in it, which goes unsaid if the turn is taken down.
    """

    client_id: str
    source: str
    kind: str
    date: str
    paragraphs: tuple[Paragraph, ...]
    country: str = ""
    chamber: str = ""
    speaker: str = ""
    speaker_id: str = ""
    title: str = ""
    url: str = ""
    license: str = ""
    floor_language: str = ""
    label: str = ""
    labelled: bool = False
    unknown: tuple[Unknown, ...] = ()


class Retraction(NamedTuple):
    """A page's word that a text is retracted, withdrawn or deleted, whichever page of its source that stands on.

    `address` is the `url` of the text, or of the submission that it belongs to; `rule` is the one it is left out under.
    """

    address: str
    rule: str


class Unknown(NamedTuple):
    """Something of a page that no rule knows, such as a speaker's label: its `kind`, and its `name` as printed."""

    kind: str
    name: str


@dataclass
class UniqueIds:
    """Ids of one page: a repeated one gets a suffix, so that no turn is lost; in time linear in their number."""

    copies: dict[str, int] = field(default_factory=dict)

    def unique(self, client_id: str) -> str:
        """Return `client_id`, with `.copy2`, `.copy3` and so on if the page has used it already."""
        unique = client_id
        while unique in self.copies:
            self.copies[client_id] += 1
            unique = f"{client_id}.copy{self.copies[client_id]}"
        self.copies[unique] = 1
        return unique


def n_words(text: str) -> int:
    """Return the number of runs of non-space characters."""
    return len(text.split())


def joined(*parts: str | None) -> str:
    """Return the parts' words, single-spaced."""
    return " ".join(" ".join(part for part in parts if part).split())

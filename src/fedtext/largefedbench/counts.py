"""Counts of every turn and word that was read: kept, or left out under a named rule."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from fedtext.largefedbench.halves import Half, half_of
from fedtext.system.errors import FedtextError

HIDDEN = "(on the takedown list)"  # in place of a name of somebody who asked to be left out
_TITLES = frozenset({
    "baroness", "chair", "chairman", "chairwoman", "congressman", "congresswoman", "dame", "deputy", "gentleman",
    "gentlewoman", "general", "hon", "honorable", "honourable", "lady", "lord", "madam", "member", "miss", "mrs",
    "president", "right", "secretary", "senator", "sir", "speaker", "the",
})  # fmt: skip
LONGEST_NAME = 80  # characters of a name that is counted: a damaged page may hold one of a megabyte


WORDS_A_CUT = 2  # by how many the words of a cut may be out of the words that were read


def name_words(name: str) -> set[str]:
    """Return the words of a name, or an id, that tell people apart: no titles, and nothing of two letters."""
    return {word for word in re.findall(r"\w{3,}", name.casefold()) if word not in _TITLES}


class SumError(FedtextError):
    """Counts of a build that do not add up."""


Tally = defaultdict[str, list[int]]


def _tally() -> Tally:
    return defaultdict(lambda: [0, 0])


@dataclass
class SourceCounts:
    """One source: turns and words read, clients and words kept, and [times, words] by rule for what was not.

    `left_out` are whole turns; `removed` are pieces taken out of turns that were cleaned. Words read are words kept
    plus both; `notes` are plain counts of things worth knowing that take no words; `unknown` counts what no rule knows,
    by kind and by name as printed; `halves` are sums over pages, by half-year, from which deviations are computed.
    """

    pages: int = 0
    turns: int = 0
    words: int = 0
    clients: int = 0
    words_kept: int = 0
    left_out: Tally = field(default_factory=_tally)
    removed: Tally = field(default_factory=_tally)
    notes: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, Counter[str]] = field(default_factory=dict)
    halves: dict[str, Half] = field(default_factory=dict)
    _counted: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    def leave_out(self, rule: str, words: int, turns: int = 1) -> None:
        """Count whole turns left out under `rule`."""
        self.left_out[rule][0] += turns
        self.left_out[rule][1] += words

    def remove(self, rule: str, words: int, times: int = 1) -> None:
        """Count pieces taken out of cleaned turns under `rule`."""
        self.removed[rule][0] += times
        self.removed[rule][1] += words

    def note(self, name: str, number: int = 1) -> None:
        """Count something that takes no words."""
        self.notes[name] = self.notes.get(name, 0) + number

    def note_unknown(self, kind: str, name: str, number: int = 1) -> None:
        """Count something that no rule knows, under its own name."""
        self.unknown.setdefault(kind, Counter())[name[:LONGEST_NAME]] += number

    def hide(self, words: Collection[str]) -> None:
        """Replace unknown names that have one of these words, which name people on the takedown list."""
        for kind, names in self.unknown.items():
            shown = Counter[str]()
            for name, number in names.items():
                shown[HIDDEN if name_words(name).intersection(words) else name] += number
            self.unknown[kind] = shown

    def end_page(self, date: str) -> None:
        """Note what the page that was just read has added, in the half-year of its date."""
        self.halves.setdefault(half_of(date), Half()).add_page(self._page_counts())

    def _page_counts(self) -> dict[str, int]:
        """Return what was counted since the last call, by name; nothing of takedowns, who may be few on a page."""
        now = {"turns": self.turns, "words": self.words}
        now |= {f"left out: {rule}": turns for rule, (turns, _) in self.left_out.items() if rule != "taken_down"}
        now |= {f"removed: {rule}": times for rule, (times, _) in self.removed.items()}
        now |= {f"unknown: {kind}": names.total() for kind, names in self.unknown.items()}
        grown = {name: number - self._counted.get(name, 0) for name, number in now.items()}
        self._counted = now
        return grown

    def check(self, source: str) -> None:
        """Check that everything read was kept or left out: turns exactly, words but for those that a removal cuts.

        A removal inside a word counts as a word, and may make two of it: so each may be out by two.

        Raises:
            SumError: the counts do not add up, which is a fault of the program.
        """
        left_out = [sum(column) for column in zip((0, 0), *self.left_out.values(), strict=True)]
        cuts = sum(times for times, _ in self.removed.values())
        words = self.words - self.words_kept - left_out[1] - sum(words for _, words in self.removed.values())
        if self.turns != self.clients + left_out[0] or abs(words) > WORDS_A_CUT * cuts:
            raise SumError(
                f"source {source}: {self.turns} turns and {self.words} words were read, {words} words and "
                f"{self.turns - self.clients - left_out[0]} turns are in no count; report this as a fault of fedtext",
                code="counts-do-not-add-up",
                value=source,
            )

    def add(self, other: SourceCounts) -> None:
        """Add the counts of another part of the same source."""
        self.pages += other.pages
        self.turns += other.turns
        self.words += other.words
        self.clients += other.clients
        self.words_kept += other.words_kept
        for rule, (turns, words) in other.left_out.items():
            self.leave_out(rule, words, turns)
        for rule, (times, words) in other.removed.items():
            self.remove(rule, words, times)
        for name, number in other.notes.items():
            self.note(name, number)
        for kind, names in other.unknown.items():
            for name, number in names.items():
                self.note_unknown(kind, name, number)
        for name, half in other.halves.items():
            self.halves.setdefault(name, Half()).add(half)

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON, rules in alphabetical order."""
        return {
            "pages": self.pages,
            "turns": self.turns,
            "words": self.words,
            "clients": self.clients,
            "words_kept": self.words_kept,
            "left_out": {rule: {"turns": t, "words": w} for rule, (t, w) in sorted(self.left_out.items())},
            "removed": {rule: {"times": t, "words": w} for rule, (t, w) in sorted(self.removed.items())},
            "notes": dict(sorted(self.notes.items())),
            "unknown": {kind: dict(sorted(names.items())) for kind, names in sorted(self.unknown.items())},
            "halves": {name: half.as_dict() for name, half in sorted(self.halves.items())},
        }

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> SourceCounts:
        """Return the counts that `as_dict` wrote."""
        counts = cls(*(value[name] for name in ("pages", "turns", "words", "clients", "words_kept")))
        for rule, tally in value["left_out"].items():
            counts.leave_out(rule, tally["words"], tally["turns"])
        for rule, tally in value["removed"].items():
            counts.remove(rule, tally["words"], tally["times"])
        counts.notes.update(value["notes"])
        counts.unknown = {kind: Counter(names) for kind, names in value["unknown"].items()}
        counts.halves = {name: Half.from_dict(half) for name, half in value["halves"].items()}
        return counts

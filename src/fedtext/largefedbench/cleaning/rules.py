"""Cleaning rules, and how the rules of one source are compiled into one pattern per stage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

CONGRESS = ("ca", "uk", "us")
# For a set in a pattern: the capitals of languages in Latin letters, so those of "Élan" and "Ŵyn" too.
CAPITALS = "A-Z" + "".join(letter for letter in map(chr, range(0xC0, 0x250)) if letter.isupper())
# Frequent words that no other language is full of: "in", "is", "was", "we" and "of" are Dutch too, "for" and "to"
# Norwegian, "are" Romanian.
ONLY_ENGLISH = (
    "the|and|with|that|this|were|from|which|these|those|their|they|been|between|after|when|into|such|both|than|our"
    "|each|would|could|should|there"
)


class Rule(NamedTuple):
    """A removal: its name in every count, the sources it applies to, and its patterns (any of them)."""

    name: str
    sources: tuple[str, ...]
    patterns: tuple[str, ...]


def rule(name: str, sources: str, *patterns: str) -> Rule:
    """Return a rule for the space-separated `sources`; an empty string stands for the three parliaments."""
    return Rule(name, tuple(sources.split()) or CONGRESS, patterns)


class RuleSet:
    """The rules of one stage for one source, in one compiled alternation: one pass, whatever their number."""

    def __init__(self, rules: Iterable[Rule], source: str, *, starts: str = "") -> None:
        """Compile the rules of `source`; `starts` must match wherever a rule does, and rules are tried only there."""
        chosen = [one for one in rules if source in one.sources]
        self.names = [one.name for one in chosen]
        groups = [f"(?P<r{number}>{'|'.join(one.patterns)})" for number, one in enumerate(chosen)]
        self.pattern = re.compile("|".join(groups) or r"(?!)")
        self.starts = re.compile(starts) if starts else None

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches of the rules in `text`, left to right, without overlap."""
        return matches_at(self.starts, self.pattern, text) if self.starts else self.pattern.finditer(text)

    def name(self, match: re.Match[str]) -> str:
        """Return the name of the rule that matched."""
        assert match.lastgroup is not None
        return self.names[int(match.lastgroup[1:])]


def matches_at(starts: re.Pattern[str], pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield `pattern.finditer(text)`, tried only where `starts` matches, as a literal first letter is found faster."""
    end = 0
    for start in starts.finditer(text):
        match = pattern.match(text, start.start()) if start.start() >= end else None
        if match:
            yield match
            end = match.end()

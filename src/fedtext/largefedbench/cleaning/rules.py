"""What a cleaning rule is, and how the rules of one source become one compiled pattern per stage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

CONGRESS = ("ca", "uk", "us")


class Rule(NamedTuple):
    """A removal: its name in every count, the sources it applies to, and its patterns (any of them)."""

    name: str
    sources: tuple[str, ...]
    patterns: tuple[str, ...]


def rule(name: str, sources: str, *patterns: str) -> Rule:
    """A rule for the space-separated `sources`; an empty string stands for the three parliaments."""
    return Rule(name, tuple(sources.split()) or CONGRESS, patterns)


class RuleSet:
    """The rules of one stage that apply to one source, in one compiled alternation: one pass, whatever their number."""

    def __init__(self, rules: Iterable[Rule], source: str, *, starts: str = "") -> None:
        """`starts` is a pattern that matches wherever a rule does: the rules are then tried nowhere else."""
        chosen = [one for one in rules if source in one.sources]
        self.names = [one.name for one in chosen]
        groups = [f"(?P<r{number}>{'|'.join(one.patterns)})" for number, one in enumerate(chosen)]
        self.pattern = re.compile("|".join(groups) or r"(?!)")
        self.starts = re.compile(starts) if starts else None

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """What the rules take out of `text`, left to right, without overlap."""
        return matches_at(self.starts, self.pattern, text) if self.starts else self.pattern.finditer(text)

    def name(self, match: re.Match[str]) -> str:
        """The name of the rule that matched."""
        assert match.lastgroup is not None
        return self.names[int(match.lastgroup[1:])]


def matches_at(starts: re.Pattern[str], pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """`pattern.finditer(text)`, tried only where `starts` matches: a literal first letter is found much faster."""
    end = 0
    for start in starts.finditer(text):
        match = pattern.match(text, start.start()) if start.start() >= end else None
        if match:
            yield match
            end = match.end()

"""What a cleaning rule is, and how the rules of one source become one compiled pattern per stage."""

from __future__ import annotations

import re
from collections.abc import Iterable
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

    def __init__(self, rules: Iterable[Rule], source: str, *, first: str = "") -> None:
        """`first` is a set of characters that every match starts with: most positions are then passed at a glance."""
        chosen = [one for one in rules if source in one.sources]
        self.names = [one.name for one in chosen]
        groups = [f"(?P<r{number}>{'|'.join(one.patterns)})" for number, one in enumerate(chosen)]
        glance = f"(?=[{first}])" if first else ""
        self.pattern = re.compile(f"{glance}(?:{'|'.join(groups)})" if groups else r"(?!)")

    def name(self, match: re.Match[str]) -> str:
        """The name of the rule that matched."""
        assert match.lastgroup is not None
        return self.names[int(match.lastgroup[1:])]

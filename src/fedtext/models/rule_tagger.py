"""A rule-based tagger, for machines without a model: it finds what the form of a text shows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fedtext.models.tagger import Entity

_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    "|Nov(?:ember)?|Dec(?:ember)?)"
)
_DAY = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
# In order of precedence: a span that one has found is not found by a later one.
RULES = {
    "address": re.compile(r"(?:https?://|www\.)[^\s<>\"')]*[\w/]|\b[\w.+-]+@[\w-]+\.[\w.-]*\w"),
    "date": re.compile(
        rf"\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}/\d{{1,2}}/\d{{2,4}}\b|\b\d{{1,2}} {_MONTH}\b(?: \d{{4}})?"
        rf"|\b{_MONTH} \d{{1,2}}\b(?:, \d{{4}})?|\b{_DAY}\b"
    ),
    "money": re.compile(r"[$£€]\s?\d[\d,.]*\d|[$£€]\s?\d|\b\d[\d,.]*\s?(?:dollars?|pounds?|euros?|USD|GBP|EUR)\b"),
    "identifier": re.compile(r"\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\(\)|\b[A-Za-z]\w*_\w+\b|\b[a-z]\w*(?:\.[a-z_]\w*)+\b"),
    "number": re.compile(r"\b\d[\d,.]*\d\b%?|\b\d\b%?"),
    "name": re.compile(r"(?<=[a-z,;] )[A-Z][A-Za-z]+(?: [A-Z][A-Za-z]+)*"),  # not where a sentence begins
}


class RuleTagger:
    """Addresses, dates, sums of money, identifiers of programs, numbers and names, each by a pattern."""

    kinds = tuple(RULES)

    def entities(self, texts: Sequence[str]) -> list[list[Entity]]:
        """Return the entities of every text, as `Tagger.entities` does; each text's depend on that text alone."""
        return [_found(text) for text in texts]


def _found(text: str) -> list[Entity]:
    taken: list[Entity] = []
    for kind, rule in RULES.items():
        for match in rule.finditer(text):
            start, end = match.span()
            if all(end <= one.start or one.end <= start for one in taken):
                taken.append(Entity(start, end, kind))
    return sorted(taken)

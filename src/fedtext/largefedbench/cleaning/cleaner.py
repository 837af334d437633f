"""From a turn's spoken paragraphs to its benchmark text: notation, vocatives, formulas, sentences that are not prose.

Rules are compiled once per source and each stage is one pass over the text, whatever the number of rules. Whatever is
taken out is returned by rule name, so that it can be counted and read.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

from fedtext.largefedbench.cleaning.clerk import CLERK
from fedtext.largefedbench.cleaning.languages import is_another_language
from fedtext.largefedbench.cleaning.notation import MEMBER_NAMES, MEMBER_STARTS, NOTATION, NOTATION_STARTS
from fedtext.largefedbench.cleaning.procedure import PROCEDURE
from fedtext.largefedbench.cleaning.rules import RuleSet
from fedtext.largefedbench.cleaning.sentences import is_prose, split_sentences
from fedtext.largefedbench.cleaning.vocatives import strip_vocatives
from fedtext.largefedbench.turns import n_words

MIN_LETTER_SHARE = 0.70  # POPri, appendix F: sentences with more than 30% of characters not letters go

# One spelling for what the sources set differently; nothing is removed here. Two plain quotes are the US record's.
_CHARACTERS = {
    "\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2011": "-", "\u2010": "-", "\u00ad": "", "\u200b": "",
    "\u200d": "", "\ufeff": "", "\u2028": "\n", "\u2029": "\n",
}  # fmt: skip
_RARE = re.compile(f"[{''.join(_CHARACTERS)}]")
_FRACTION = re.compile(r"(?:(?<=(\d))|(?<!\d))\\(\d+)/(\d+)\\")


class Removal(NamedTuple):
    """What one rule took out of one text."""

    rule: str
    text: str


class Cleaned(NamedTuple):
    """The text that stays, on one line; what was taken out, in no particular order; words before any rule."""

    text: str
    removed: list[Removal]
    words_read: int = 0


class _Stages(NamedTuple):
    notation: RuleSet
    member_names: RuleSet
    clerk: RuleSet
    procedure: RuleSet
    other_languages: bool  # whether the record prints words in a language other than its own


@functools.cache
def _stages(source: str) -> _Stages:
    return _Stages(
        RuleSet(NOTATION, source, starts=NOTATION_STARTS[source]),
        RuleSet(MEMBER_NAMES, source, starts=MEMBER_STARTS[source]),
        RuleSet(CLERK, source),
        RuleSet(PROCEDURE, source),
        source == "ca",
    )


def clean_speech(paragraphs: Sequence[str], source: str, min_letter_share: float = MIN_LETTER_SHARE) -> Cleaned:
    """The spoken words of `paragraphs` under the rules of parliament `source` (`ca`, `uk`, `us`)."""
    stages = _stages(source)
    removed: list[Removal] = []
    text = normalise("\n".join(paragraphs), source)
    words_read = n_words(text)
    text = _take_out(text, stages.notation, removed)
    text = _take_out(text, stages.member_names, removed)
    text, vocatives = strip_vocatives(text)
    removed += [Removal("vocative", vocative) for vocative in vocatives]
    kept = [s for line in text.split("\n") for s in _kept_sentences(line, stages, min_letter_share, removed)]
    return Cleaned(" ".join(kept), removed, words_read)


def normalise(text: str, source: str) -> str:
    """One spelling of spaces, hyphens, quotes and fractions; no word is added or taken out."""
    if not text.isascii():
        text = _RARE.sub(lambda m: _CHARACTERS[m.group()], text)
    if source == "us":
        text = text.replace("``", "“").replace("''", "”").replace("--", "—")
        if "\\" in text:
            text = _FRACTION.sub(lambda m: f"{' ' if m[1] else ''}{m[2]}/{m[3]}", text)
    return text


def _take_out(text: str, rules: RuleSet, removed: list[Removal]) -> str:
    """`text` without what `rules` match (a group named `keep` stays), spaces closed up around the gap."""
    pieces, end = list[str](), 0
    for match in rules.matches(text):
        keep = match.groupdict().get("keep") or ""
        removed.append(Removal(rules.name(match), match.group()[len(keep) :].strip()))
        before = text[end : match.start()] + keep
        if match.end() == len(text) or text[match.end()] in " \n,.;:!?":
            before = before.rstrip(" ")
        pieces.append(before)
        end = match.end()
    return "".join(pieces) + text[end:] if pieces else text


def _kept_sentences(line: str, stages: _Stages, min_letter_share: float, removed: list[Removal]) -> list[str]:
    line = " ".join(line.split())
    if not line:
        return []
    clerk = stages.clerk.pattern.fullmatch(line)
    if clerk:
        removed.append(Removal(stages.clerk.name(clerk), line))
        return []
    kept = []
    for sentence in split_sentences(line):
        formula = stages.procedure.pattern.fullmatch(sentence.strip(" .!?,;—–-"))
        if formula:
            removed.append(Removal(stages.procedure.name(formula), sentence))
        elif stages.other_languages and is_another_language(sentence):
            removed.append(Removal("spoken_in_another_language", sentence))
        elif not is_prose(sentence, min_letter_share):
            removed.append(Removal("not_letters", sentence))
        else:
            kept.append(sentence)
    return kept

"""From a turn's spoken paragraphs to its benchmark text: notation, vocatives, formulas, sentences that are not prose.

Rules are compiled once per source and each stage is one pass over the text, whatever the number of rules. Every removed
piece is returned with its rule's name, so that it can be counted and read.

The sentence splitter for parliamentary English knows the chambers' abbreviations. A sentence is prose by its share of
letters.
"""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Sequence
from typing import NamedTuple

from fedtext.largefedbench.cleaning.parliament import (
    CLERK,
    MEMBER_NAMES,
    MEMBER_STARTS,
    NOTATION,
    NOTATION_STARTS,
    PROCEDURE,
    is_another_language,
    strip_vocatives,
)
from fedtext.largefedbench.cleaning.rules import CAPITALS, RuleSet
from fedtext.largefedbench.turns import n_words

_BOUNDARY = re.compile(rf"[.!?…][.!?…”\"’')\]]{{0,20}}(\s+)(?=[“\"‘'(\[]*[{CAPITALS}0-9$£])")

ABBREVIATIONS = frozenset(
    re.findall(
        r"\S+",
        """Mr. Mrs. Ms. Dr. Messrs. Mmes. Prof. Rev. Hon. hon. Rt. St. Ste. Mt. Ft. Jr. Sr. Gen. Lt. Col. Maj.
        Capt. Cmdr. Adm. Sgt. Cpl. Pvt. Gov. Sen. Rep. Reps. Sens. Amb. Sec. Pres. Supt. Insp. Const. Det.
        Fr. Br. vs. v. etc. cf. al. viz. Inc. Ltd. Co. Corp. Bros. Ave. Blvd. Rd. Jan. Feb. Mar. Apr. Jun.
        Jul. Aug. Sept. Sep. Oct. Nov. Dec. Art. Arts. Cl. cl. Cls. Cong. Con. Res. Rept. Stat. Pub. Vol.
        vol. Ch. ch. para. paras. pp. col. cols. fig. approx. dept. Dept. Ala. Ariz. Ark. Calif. Colo. Conn.
        Del. Fla. Ga. Ill. Ind. Kan. Ky. La. Md. Mass. Mich. Minn. Miss. Mo. Mont. Neb. Nev. Okla. Ore. Pa.
        Tenn. Tex. Vt. Va. Wash. Wis. Wyo. Ont. Que. Sask. Alta. Man. Supp. Cir. Ct. Dist.
        Univ. Assn. Geo. Eliz. Vict.""",
    )
)
# Abbreviations only before a number: a spoken "No. We will not." is two sentences, "Motion No. 1" is not.
BEFORE_NUMBER = frozenset(
    {"No.", "Nos.", "no.", "nos.", "p.", "c.", "s.", "ss.", "art.", "sec.", "App.", "Reg.", "Op."}
)
_LONGEST_ABBREVIATION = 16
_INITIALS = re.compile(r"(?:[A-Za-z]\.)+")

# A number that is read aloud as one: "$5,222,049,625,819.53", "9:30", "1/2", "98-2", "40%".
_NUMBER = re.compile(r"[$£€]?\d(?:[\d,.:/–-]*\d)?%?")
_NOT_A_LETTER = re.compile(r"[^\w\s]|[\d_]")
_PLAIN_LETTERS = string.ascii_letters.encode()
_EDGES = " .!?,;:…—–-\"“”‘’'()[]•"


def split_sentences(paragraph: str) -> list[str]:
    """Return the paragraph's sentences, stripped; an abbreviation's full stop ends none."""
    sentences, start = [], 0
    for match in _BOUNDARY.finditer(paragraph):
        if _is_abbreviation(paragraph, start, match):
            continue
        sentences.append(paragraph[start : match.start(1)].strip())
        start = match.end()
    last = paragraph[start:].strip()
    if last:
        sentences.append(last)
    return sentences


def _is_abbreviation(paragraph: str, start: int, match: re.Match[str]) -> bool:
    stop = match.start()
    if paragraph[stop] != "." or match.start(1) != stop + 1:
        return False
    word = paragraph[max(start, paragraph.rfind(" ", start, stop) + 1) : stop + 1]
    if len(word) > _LONGEST_ABBREVIATION:
        return False
    word = word.lstrip("“\"‘'([—–")
    word = word.rpartition("-")[2]  # "then-U.S."
    if word in ABBREVIATIONS:
        return True
    following = paragraph[match.end() : match.end() + 1]
    if word in BEFORE_NUMBER:
        return following.isdigit()
    return word != "I." and _INITIALS.fullmatch(word) is not None


def is_prose(sentence: str, min_share: float) -> bool:
    """Return whether at least `min_share` of the sentence's non-space characters are letters (see `letter_share`)."""
    core = sentence.strip(_EDGES)
    characters = len(core) - core.count(" ")
    data = core.encode()
    plain_letters = len(data) - len(data.translate(None, _PLAIN_LETTERS))  # a lower bound, found without a regex
    return characters > 0 and (plain_letters >= min_share * characters or letter_share(sentence) >= min_share)


def letter_share(sentence: str) -> float:
    """Return letters over non-space characters, without edge punctuation; 0 for an empty sentence.

    Without it a spoken "No." is all letters. A number counts as one character however many figures it has, for it is
    read aloud as words.
    """
    core = _NUMBER.sub("0", sentence.strip(_EDGES))
    characters = len(core) - core.count(" ")
    return 1 - len(_NOT_A_LETTER.findall(core)) / characters if characters else 0.0


MIN_LETTER_SHARE = 0.70  # POPri, appendix F: sentences with more than 30% of characters not letters go

# One spelling for what the sources set differently; nothing is removed here. Two plain quotes are the US record's.
_CHARACTERS = {
    "\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2011": "-", "\u2010": "-", "\u00ad": "", "\u200b": "",
    "\u200c": "", "\u200d": "", "\u2060": "", "\ufeff": "", "\u2028": "\n", "\u2029": "\n",
}  # fmt: skip
_RARE = re.compile(f"[{''.join(_CHARACTERS)}]")
_FRACTION = re.compile(r"(?:(?<=(\d))|(?<!\d))\\(\d+)/(\d+)\\")


class Removal(NamedTuple):
    """A piece of a text that one rule removed."""

    rule: str
    text: str


class Cleaned(NamedTuple):
    """The remaining text, on one line; the removed pieces, unordered; the number of words before any rule."""

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
    """Return the spoken words of `paragraphs` under the rules of parliament `source` (`ca`, `uk`, `us`)."""
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
    """Return the text with one spelling of spaces, hyphens, quotes and fractions; no word is added or removed."""
    if not text.isascii():
        text = _RARE.sub(lambda m: _CHARACTERS[m.group()], text)
    if source == "us":
        text = text.replace("``", "“").replace("''", "”").replace("--", "—")
        if "\\" in text:
            text = _FRACTION.sub(lambda m: f"{' ' if m[1] else ''}{m[2]}/{m[3]}", text)
    return text


def _take_out(text: str, rules: RuleSet, removed: list[Removal]) -> str:
    """Return `text` without the matches of `rules`, except a group named `keep`; spaces are closed up."""
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

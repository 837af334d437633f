"""Sentences of parliamentary English: a splitter that knows the chambers' abbreviations, and the share of letters."""

from __future__ import annotations

import re
import string

_BOUNDARY = re.compile(r"[.!?…][.!?…”\"’')\]]*(\s+)(?=[“\"‘'(\[]*[A-Z0-9$£])")

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
    """The paragraph's sentences, stripped; an abbreviation's full stop ends none."""
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
    """Whether at least `min_share` of the sentence's non-space characters are letters (see `letter_share`)."""
    core = sentence.strip(_EDGES)
    characters = len(core) - core.count(" ")
    data = core.encode()
    plain_letters = len(data) - len(data.translate(None, _PLAIN_LETTERS))  # a lower bound, found without a regex
    return characters > 0 and (plain_letters >= min_share * characters or letter_share(sentence) >= min_share)


def letter_share(sentence: str) -> float:
    """Letters over non-space characters, edge punctuation aside (so that a spoken "No." is all letters); 0 if empty.

    A number counts as one character however many figures it has: said aloud it is words.
    """
    core = _NUMBER.sub("0", sentence.strip(_EDGES))
    characters = len(core) - core.count(" ")
    return 1 - len(_NOT_A_LETTER.findall(core)) / characters if characters else 0.0

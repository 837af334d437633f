"""A page of a whole section ("STATEMENTS ON INTRODUCED BILLS") repeats the pages of its parts: each word is read once.

Told by the text alone. A granule is part of a longer one if nearly all that is spoken in it stands there too, in the
same order; the part keeps its words, and in the section they become `copy_of_sub_granule`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from fedtext.largefedbench.turns import COPY, SPOKEN, Paragraph, Turn

SPEAKER_LABEL = "speaker_label"
MIN_WORDS = 25  # a part with fewer spoken words may be formulas that any page holds
MIN_SHARE = 0.8  # of the part's spoken words, found in the section


class _Line(NamedTuple):
    """A spoken paragraph or a speaker's label: where it stands, its text without spaces, and its number of words."""

    turn: int
    paragraph: int
    text: str
    words: int


def without_copies(granules: Sequence[list[Turn]]) -> list[list[Turn]]:
    """The turns of one day's granules, in order, copies in longer granules marked as such."""
    lines = [_lines(turns) for turns in granules]
    words = [sum(line.words for line in one) for one in lines]
    places = _index(lines)
    copied: dict[int, set[int]] = defaultdict(set)
    for part, own in enumerate(lines):
        if words[part] < MIN_WORDS:
            continue
        for whole, runs in _runs(part, places, lines).items():
            found = sum(own[number].words for number in {number for number, _ in runs})
            if (words[whole], whole) > (words[part], part) and found >= MIN_SHARE * words[part]:
                copied[whole] |= {number for _, number in runs}
    return [_marked(turns, [lines[g][n] for n in sorted(copied[g])]) for g, turns in enumerate(granules)]


def _lines(turns: Sequence[Turn]) -> list[_Line]:
    return [
        _Line(number, place, "".join(words), len(words))
        for number, turn in enumerate(turns)
        for place, paragraph in enumerate(turn.paragraphs)
        if paragraph.kind in (SPOKEN, SPEAKER_LABEL) and (words := paragraph.text.split())
    ]


def _key(own: Sequence[_Line], number: int) -> str:
    """What a run of at least `MIN_WORDS` words that starts at this line starts with: the line, or it and the next.

    "The PRESIDING OFFICER." stands a hundred times in a day; with the line after it, it hardly ever does.
    """
    line = own[number]
    if line.words >= MIN_WORDS or number + 1 == len(own):
        return line.text
    return f"{line.text} {own[number + 1].text}"


def _index(lines: Sequence[Sequence[_Line]]) -> dict[str, list[tuple[int, int]]]:
    """Where a run may start, as (granule, line), by its key."""
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for granule, own in enumerate(lines):
        for number in range(len(own)):
            places[_key(own, number)].append((granule, number))
    return places


def _runs(
    part: int, places: dict[str, list[tuple[int, int]]], lines: Sequence[Sequence[_Line]]
) -> dict[int, list[tuple[int, int]]]:
    """By other granule: pairs of lines (here, there) that read the same, in runs of at least `MIN_WORDS` words."""
    own = lines[part]
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    ends: dict[tuple[int, int], int] = {}  # (other granule, shift) -> first line here after the run last taken
    for number in range(len(own)):
        starts = places[_key(own, number)]
        if len(starts) == 1:  # here alone, as most lines are
            continue
        for whole, there in starts:
            if whole == part or ends.get((whole, there - number), 0) > number:
                continue
            length = _length(own[number:], lines[whole][there:])
            ends[whole, there - number] = number + length
            if sum(one.words for one in own[number : number + length]) >= MIN_WORDS:
                found[whole] += [(number + step, there + step) for step in range(length)]
    return found


def _length(left: Sequence[_Line], right: Sequence[_Line]) -> int:
    """Number of lines that read the same from the start of both."""
    length = 0
    for one, other in zip(left, right, strict=False):
        if one.text != other.text:
            break
        length += 1
    return length


def _marked(turns: list[Turn], copied: Sequence[_Line]) -> list[Turn]:
    """The turns with `copied` paragraphs marked; a turn with nothing else spoken is left out whole."""
    by_turn: dict[int, set[int]] = defaultdict(set)
    for line in copied:
        by_turn[line.turn].add(line.paragraph)
    return [_marked_turn(turn, by_turn[number]) if number in by_turn else turn for number, turn in enumerate(turns)]


def _marked_turn(turn: Turn, copied: set[int]) -> Turn:
    paragraphs = tuple(
        Paragraph(p.text, COPY) if place in copied and p.kind == SPOKEN else p
        for place, p in enumerate(turn.paragraphs)
    )
    spoken = any(p.kind == SPOKEN and p.text.strip() for p in paragraphs)
    return replace(turn, paragraphs=paragraphs, kind=turn.kind if spoken else COPY)

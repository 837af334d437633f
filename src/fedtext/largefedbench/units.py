"""What a client is: a speech (the paper's), a speaker's speeches of one day, or all of a speaker's.

The texts of a client follow one another by date, a line each. Chunks never cross from one into the next. A text
nobody is named for (an abstract, a review) is a client of its own under every meaning.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from fedtext.largefedbench.personal_data import kinds_in
from fedtext.largefedbench.schema import Row
from fedtext.params.largefedbench import ClientUnit

_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}\.")
_AFFILIATIONS = frozenset({"ca"})  # sources whose speaker id is of an affiliation: one person has several
_MIXED = "mixed"


class Text(NamedTuple):
    """What decides whose client a text is."""

    client_id: str
    source: str
    date: str
    speaker: str
    speaker_id: str


def unit_of(text: Text, unit: ClientUnit) -> str:
    """The key of the client that a text belongs to; a text that stands alone has its own id."""
    if unit == "speech" or not text.speaker:
        return text.client_id
    who = text.speaker if text.source in _AFFILIATIONS else text.speaker_id or text.speaker
    person = f"{text.source}.speaker.{_slug(who)}"
    return person if unit == "speaker" else f"{text.date}.{person}"


@lru_cache(maxsize=65_536)  # a chamber's members speak thousands of times
def _slug(who: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", who.casefold()).strip("-") or who


def split_key(client_id: str, unit: ClientUnit) -> str:
    """What a client's split is drawn by: a speaker's without its date, which earlier pages added later would change."""
    return _DATE.sub("", client_id) if unit == "speaker" and ".speaker." in client_id else client_id


def combined(rows: Iterable[Row], unit: ClientUnit) -> Iterator[Row]:
    """Rows of texts as rows of clients, by client id. `speaker_day` holds one day in memory, `speaker` everything."""
    if unit == "speech":
        yield from rows
        return
    groups: dict[str, list[Row]] = defaultdict(list)
    day = ""
    for row in rows:
        if unit == "speaker_day" and row[4] != day:
            yield from _clients(groups, unit)
            groups.clear()
            day = row[4]
        groups[unit_of(Text(row[0], row[1], row[4], row[5], row[6]), unit)].append(row)
    yield from _clients(groups, unit)


def _clients(groups: dict[str, list[Row]], unit: ClientUnit) -> Iterator[Row]:
    clients = [_client(key, rows, unit) for key, rows in groups.items()]
    yield from sorted(clients, key=lambda row: str(row[0]))


def _client(key: str, rows: list[Row], unit: ClientUnit) -> Row:
    """One row of several: values that agree stay, others are empty; texts, tokens and spans follow one another."""
    if key == rows[0][0]:
        return rows[0]
    client_id = f"{rows[0][4]}.{key}" if unit == "speaker" else key
    values = [column[0] if len(set(column)) == 1 else "" for column in zip(*(row[1:12] for row in rows), strict=True)]
    values[3] = rows[0][4]  # the first text's date
    values[9] = values[9] or _MIXED  # floor_language
    starts, ends, lengths, offset = list[int](), list[int](), list[int](), 0
    for *_, text, _n, _kinds, own_starts, own_ends, own_lengths, _signature in rows:
        starts += [offset + start for start in own_starts]
        ends += [offset + end for end in own_ends]
        lengths += own_lengths
        offset += len(text) + 1
    text = "\n".join(row[12] for row in rows)
    return (client_id, *values, text, sum(row[13] for row in rows), kinds_in(text), starts, ends, lengths, None)

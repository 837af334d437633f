"""The takedown list: clients and speakers who asked to be left out, of this snapshot and of every later one.

It has one entry a line: `id: 2024-05-09.ca.100` or `speaker: us/K000001`, a source and the speaker's id or name as the
tables have it; `#` starts a comment. The id of a client that is a speaker, or a speaker's day, leaves out the speaker.
Snapshots report how many were left out, never who; a build says which lines match nobody, for a slip of the pen in a
request must not pass in silence. What no rule knows in a page is counted by its name; a name that has a word of theirs
is not shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from fedtext.largefedbench.clients import Client, Text, slug, split_key, unit_of, untitled
from fedtext.largefedbench.counts import SourceCounts, name_words
from fedtext.largefedbench.turns import Turn, n_words
from fedtext.system.errors import InputError
from fedtext.system.missing import as_read

RULE = "taken_down"
LONGEST_SHOWN = 80  # characters of a line that a refusal shows


@dataclass(frozen=True)
class Takedown:
    """Client ids, undated for those of speakers, and (source, speaker's id or name) to leave out, with their lines."""

    ids: Mapping[str, int] = field(default_factory=dict)
    speakers: Mapping[tuple[str, str], int] = field(default_factory=dict)
    matched: set[int] = field(default_factory=set)  # the lines that turns or clients were found for
    words: set[str] = field(default_factory=set)  # of the names and ids of those on the list, as far as they are met

    def has(self, one: Turn | Client) -> bool:
        """Return whether a turn or a client is on the list."""
        if not self.ids and not self.speakers:
            return False
        said_by = (_speaker(one.source, one.speaker_id), _speaker(one.source, one.speaker))
        lines = [*map(self.ids.get, (one.client_id, *speaker_keys(one))), *map(self.speakers.get, said_by)]
        found = {line for line in lines if line is not None}
        self.matched.update(found)
        if found:
            self.words.update(name_words(one.speaker), name_words(one.speaker_id))
        return bool(found)

    def unmatched(self, matched: Iterable[int]) -> list[int]:
        """Return the lines of the list, by number, that are not among `matched`."""
        return sorted({*self.ids.values(), *self.speakers.values()} - set(matched))

    def without_turns(self, turns: Iterable[Turn], counts: SourceCounts) -> Iterator[Turn]:
        """Yield the turns that stay; the others are counted."""
        for turn in turns:
            if self.has(turn):
                words = sum(n_words(paragraph.text) for paragraph in turn.paragraphs)
                counts.turns += 1
                counts.words += words
                counts.leave_out(RULE, words)
            else:
                yield turn

    def without(self, clients: Iterable[Client], counts: SourceCounts) -> Iterator[Client]:
        """Yield the clients that stay, if a client is more than one turn and has an id of its own."""
        for client in clients:
            if self.has(client):
                words = n_words(client.text)
                counts.clients -= 1
                counts.words_kept -= words
                counts.leave_out(RULE, words)
            else:
                yield client


_plain = lru_cache(maxsize=65_536)(as_read)  # a chamber's members speak thousands of times


def speaker_keys(one: Turn | Client) -> Iterator[str]:
    """Yield the undated ids of the client that would hold all of its speaker's texts: today's, and one with a title.

    Ids had titles once, and a list may hold those.
    """
    yield unit_of(Text(one.client_id, one.source, one.date, one.speaker, one.speaker_id), "speaker")
    if untitled(one.speaker, one.source) != one.speaker:
        yield f"{one.source}.speaker.{slug(one.speaker)}"


def _speaker(source: str, name: str) -> tuple[str, str]:
    """Return a source with a speaker's id or name as they are compared: who gets a new title stays on the list."""
    return source, untitled(_plain(name), source)


def read_takedown(path: Path | None) -> Takedown:
    """Return the list in a file; an empty one without a file. Of equal entries the first line counts.

    Case and spaces of words and names do not matter, nor does the title before a whole Canadian name; an id is taken by
    the letter.

    Raises:
        InputError: the file is no list, or a line is neither a client nor a speaker.
    """
    ids, speakers = dict[str, int](), dict[tuple[str, str], int]()
    for number, line in enumerate(_lines(path) if path else (), start=1):
        text = line.partition("#")[0].strip()
        kind, _, name = (part.strip() for part in text.replace("：", ":").partition(":"))
        source, _, speaker = (_plain(part) for part in name.partition("/"))
        if kind.casefold() == "id" and name:
            ids.setdefault(split_key(name, "speaker"), number)
        elif kind.casefold() == "speaker" and source and speaker:
            speakers.setdefault(_speaker(source, speaker), number)
        elif text:
            raise InputError(
                f"{path}, line {number}: {text[:LONGEST_SHOWN]!r} is neither `id: <client id>` nor "
                "`speaker: <source>/<name or id>`",
                code="takedown-line-unusable",
                parameter="largefedbench.takedown",
                value=number,
            )
    return Takedown(ids, speakers, words={word for _, speaker in speakers for word in name_words(speaker)})


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(
            f"{path} is not UTF-8 text: write the list again, an entry a line",
            code="takedown-not-text",
            parameter="largefedbench.takedown",
            value=str(path),
        ) from None

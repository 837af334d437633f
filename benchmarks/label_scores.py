"""Precision and recall of the words that cleaning keeps, on passages labelled by reading.

A label names a passage of a raw page and the runs of its words that are not an ordinary speaker's own. It holds
positions and a digest, no text: the words are read from the page. What the build keeps is laid beside the passage and
compared word by word (letters and digits, case aside).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from fedtext.largefedbench.cleaning.abstracts import clean_abstract, normalise_abstract
from fedtext.largefedbench.clients import Client, clients_of
from fedtext.largefedbench.counts import SourceCounts
from fedtext.largefedbench.raw_pages import RawPage, parse_xml, read_bytes
from fedtext.largefedbench.sources import SOURCES
from fedtext.largefedbench.sources.notices import is_no_abstract, notice
from fedtext.largefedbench.sources.us import preformatted
from fedtext.largefedbench.turns import Turn
from fedtext.params.largefedbench import LargeFedBench
from fedtext.system.errors import InputError

ANCHOR = 5  # words in a row that place a passage in a long text
CONTEXT = 300  # words of a US page read on either side of a passage


class Words(NamedTuple):
    """The words of a passage and, of a US page, some of those before and after it, by which it is placed."""

    words: list[str]
    before: list[str]
    after: list[str]


class Passage(NamedTuple):
    """One label. `part` is an element's id, or `granule first-last` in lines of a US page.

    `left_out` are runs (first word, word after the last) that should not be kept; `speakers` say who speaks from a word
    on, by name as printed (US: the surname); `sha256` is of the passage's words.
    """

    page: str
    part: str
    words: int
    sha256: str
    left_out: tuple[tuple[int, int], ...]
    speakers: tuple[tuple[int, str], ...]


@dataclass
class Score:
    """Words that should be kept, words that are, both, and of those how many under the right speaker's name."""

    passages: int = 0
    speeches: int = 0
    expected: int = 0
    kept: int = 0
    right: int = 0
    named: int = 0
    rightly_named: int = 0

    def precision(self) -> float:
        """Return the share of the kept words that should be kept."""
        return self.right / self.kept

    def recall(self) -> float:
        """Return the share of the words to keep that are kept."""
        return self.right / self.expected


def words_of(text: str) -> list[str]:
    """Return runs of letters and digits, in lower case."""
    return re.findall(r"[^\W_]+", text.lower())


def digest(words: Sequence[str]) -> str:
    """Return the digest that a label keeps of its passage's words."""
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:16]


def read_labels(path: Path) -> list[Passage]:
    """Return the labels of one country's file."""
    runs = [(one.pop("left_out"), one.pop("speakers"), one) for one in json.loads(path.read_text("utf-8"))]
    return [
        Passage(**rest, left_out=tuple((a, b) for a, b in left_out), speakers=tuple((a, b) for a, b in speakers))
        for left_out, speakers, rest in runs
    ]


def score(labels: Iterable[Passage], data: Path, source: str, params: LargeFedBench) -> Score:
    """Compare what the build keeps of `source` with the labels; pages are named from `data`.

    Raises:
        InputError: a page's words are not those that were labelled.
    """
    by_page: dict[str, list[Passage]] = defaultdict(list)
    for label in labels:
        by_page[label.page].append(label)
    total = Score()
    for name, passages in by_page.items():
        page = RawPage(name, data / name)
        turns = [item for item in SOURCES[source].parse(page) if isinstance(item, Turn)]
        kept = _Kept(clients_of(turns, params, SourceCounts()))
        for passage in passages:
            read = raw_words(page, passage.part, source)
            if digest(read.words) != passage.sha256:
                raise InputError(
                    f"the words of {name} {passage.part} are not those that were labelled: label them anew",
                    code="labelled-words-changed",
                )
            _add(total, passage, read, kept.near(read, passage.part, source))
    return total


def raw_words(page: RawPage, part: str, source: str) -> Words:
    """Return the words of a passage as the raw page has them."""
    if source == "us":
        granule, _, lines = part.partition(" ")
        first, last = map(int, lines.split("-"))
        lines_read = preformatted(granule, read_bytes(page.path / "html" / f"{granule}.htm")).expandtabs().splitlines()
        before, words, after = (
            words_of("\n".join(some)) for some in (lines_read[:first], lines_read[first:last], lines_read[last:])
        )
        return Words(words, before[-CONTEXT:], after[:CONTEXT])
    root = parse_xml(page.name, page.read(), root={"ca": "Hansard", "uk": "publicwhip"}[source])
    (element,) = root.xpath("//*[@id=$part and (self::Intervention or self::speech)]", part=part)
    pieces = element.xpath("Content/*") if source == "ca" else element
    return Words([word for piece in pieces for word in words_of(" ".join(piece.itertext()))], [], [])


class LabelledAbstract(NamedTuple):
    """A label of a preprint: its DOI with its version, and the runs of its characters that should not be kept."""

    page: str
    part: str
    characters: int
    sha256: str
    left_out: tuple[tuple[int, int], ...]


def read_abstract_labels(path: Path) -> list[LabelledAbstract]:
    """Return the labels of abstracts in a file."""
    return [
        LabelledAbstract(**one | {"left_out": tuple((a, b) for a, b in one["left_out"])})
        for one in json.loads(path.read_text("utf-8"))
    ]


def score_abstracts(labels: Iterable[LabelledAbstract], data: Path) -> Score:
    """Compare what the cleaning keeps of preprints' abstracts with the labels, whatever their version.

    Raises:
        InputError: an abstract is not the one that was labelled.
    """
    rows = dict[str, dict[str, str]]()
    total = Score()
    for label in labels:
        if label.page not in rows:
            page = json.loads((data / label.page).read_text("utf-8"))
            rows[label.page] = {f"{row['doi']}v{row['version']}": row for row in page["collection"]}
        row: Any = rows[label.page][label.part]
        text = row["abstract"]
        if hashlib.sha256(text.encode()).hexdigest()[:16] != label.sha256:
            raise InputError(f"{label.part} is not the abstract that was labelled", code="labelled-abstract-changed")
        expected, first = list[str](), 0
        for start, end in [*label.left_out, (len(text), len(text))]:
            expected += words_of(normalise_abstract(text[first:start], "biorxiv"))
            first = end
        left_out = notice(row["title"], text, row["type"]) or is_no_abstract(text)
        kept = [] if left_out else words_of(clean_abstract([text], "biorxiv").text)
        matcher = SequenceMatcher(None, expected, kept, autojunk=False)
        total.passages += 1
        total.speeches += bool(expected)
        total.expected += len(expected)
        total.kept += len(kept)
        total.right += sum(size for _, _, size in matcher.get_matching_blocks())
    return total


class _Kept:
    """The words of a page's clients with their speakers, by granule or element."""

    def __init__(self, clients: Iterable[Client]) -> None:
        self._clients = sorted(clients, key=lambda client: client.client_id)

    def near(self, read: Words, part: str, source: str) -> list[tuple[str, str]]:
        """Return (word, speaker) of what was kept of the passage, with some words around it for a US page."""
        if source == "us":
            prefix = part.split()[0].split("-", 4)[4] + "."
        else:
            prefix = part.rpartition("/")[2]
            prefix = prefix[10:].lstrip("abcdefghijklmnopqrstuvwxyz").lstrip(".") if source == "uk" else prefix
        kept = [
            (word, client.speaker)
            for client in self._clients
            if _belongs(client.client_id, prefix, source)
            for word in words_of(client.text)
        ]
        return _around([*read.before, *read.words, *read.after], kept) if source == "us" else kept


def _belongs(client_id: str, prefix: str, source: str) -> bool:
    name = client_id.split(f".{source}.", 1)[1]
    return name.startswith(prefix) if source == "us" else name.partition(".")[2 if source == "uk" else 0] == prefix


def _around(words: Sequence[str], kept: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the part of the granule's kept words that shares the most runs of `ANCHOR` words with the passage."""
    runs = {tuple(words[start : start + ANCHOR]) for start in range(len(words) - ANCHOR + 1)}
    plain = [word for word, _ in kept]
    hits = [at for at in range(len(plain) - ANCHOR + 1) if tuple(plain[at : at + ANCHOR]) in runs]
    if not hits:
        return []
    best = max(hits, key=lambda first: sum(first <= hit < first + len(words) for hit in hits))
    return kept[max(0, best - ANCHOR) : best + len(words)]


def _add(total: Score, passage: Passage, read: Words, kept: list[tuple[str, str]]) -> None:
    """Add one passage's words to the score."""
    words, offset = read.words, len(read.before)
    out = {at for first, last in passage.left_out for at in range(first, last)}
    expected = set(range(len(words))) - out
    matcher = SequenceMatcher(None, [*read.before, *words, *read.after], [word for word, _ in kept], autojunk=False)
    pairs = ((a - offset + step, b + step) for a, b, size in matcher.get_matching_blocks() for step in range(size))
    found = {at: there for at, there in pairs if 0 <= at < len(words)}
    whole = bool(kept) and not passage.part.partition(" ")[2]  # of an element all kept words are its own
    total.passages += 1
    total.expected += len(expected)
    total.kept += len(kept) if whole else len(found)
    total.right += len(expected & set(found))
    starts = [*passage.speakers, (len(words), "")]
    opening = bool(expected & set(range(starts[0][0])))  # a speech that began before the passage
    total.speeches += opening + sum(
        bool(expected & set(range(first, following))) for (first, _), (following, _) in pairwise(starts)
    )
    for (first, name), (following, _) in pairwise(starts):
        said = [found[at] for at in range(first, following) if at in found and at in expected]
        total.named += len(said)
        total.rightly_named += sum(set(words_of(name)) <= set(words_of(kept[at][1])) for at in said)

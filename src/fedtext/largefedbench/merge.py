"""The second half of a build: sorted shards, merged by client id (so by date) into the tables of a config.

The shards are read twice. The first reading takes ids and signatures. It decides which texts are kept (a text may come
twice, or resemble an earlier one) and which share a split. The second writes the tables, and counts how many clients
there would be under each meaning of the word. Both pass over a text that any page retracts. Of a million texts nothing
is held but 256 bytes each.

Rows of sorted shards come in one order: by client id, so by date, equal ids in page order. A shard is opened only when
the merge reaches its first client, so memory does not grow with their number.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import get_args

import pyarrow as pa
import pyarrow.parquet as pq

from fedtext.corpora.splits import split_of
from fedtext.largefedbench.clients import Text, combined, split_key, unit_of
from fedtext.largefedbench.counts import SourceCounts
from fedtext.largefedbench.near_duplicates import Duplicate, firsts_of_clusters, near_duplicates, unpacked
from fedtext.largefedbench.shards import FACTS, ROW_GROUP, ShardFacts
from fedtext.largefedbench.snapshot import CHUNKS, CLIENTS, Row, TableWriter
from fedtext.largefedbench.tokens import words_of
from fedtext.largefedbench.turns import n_words
from fedtext.params.largefedbench import ClientUnit, LargeFedBench, Splitting


def merged_rows(shards: Sequence[tuple[str, Path]], columns: Sequence[str] | None = None) -> Iterator[Row]:
    """Yield the rows of all shards by client id, which must be the first of `columns`.

    The shards are given as (first client id, path).
    """
    front: list[tuple[str, int, Iterator[Row] | None, Row]] = [
        (first_id, number, None, ()) for number, (first_id, _) in enumerate(shards)
    ]
    heapq.heapify(front)
    while front:
        _, number, rows, row = front[0]
        if rows is None:
            rows = _rows(shards[number][1], columns)
        else:
            yield row
        following = next(rows, None)
        if following is None:
            heapq.heappop(front)
        else:
            heapq.heapreplace(front, (following[0], number, rows, following))


def _rows(path: Path, columns: Sequence[str] | None) -> Iterator[Row]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(ROW_GROUP, columns=list(columns) if columns else None):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


REPEATED_ID, NEAR_DUPLICATE = "duplicate_client_id", "near_duplicate"  # rules that the merge leaves texts out by
COLUMNS = ("client_id", "url", "signature")


def rule_of(url: str, retracted: Mapping[str, str]) -> str | None:
    """Return the rule that leaves a text out because a page retracts it, or the submission that it is a reply to."""
    return retracted.get(url) or retracted.get(url.partition("&")[0])


@dataclass
class Plan:
    """The number of distinct `texts`; the near-duplicates `found` among them, by number.

    Which of those are `dropped`; and `firsts`, the first text of a cluster whose members all stay, by member.
    """

    texts: int = 0
    found: list[Duplicate] = field(default_factory=list)
    dropped: frozenset[int] = frozenset()
    firsts: dict[int, int] = field(default_factory=dict)


def plan_merge(
    shards: Sequence[tuple[str, Path]], params: LargeFedBench, retracted: Mapping[str, str] = MappingProxyType({})
) -> Plan:
    """Read the shards' ids and signatures, and plan the merge of the texts that are not retracted."""
    plan, signatures, last_id = Plan(), bytearray(), ""
    for client_id, url, signature in merged_rows(shards, COLUMNS):
        if client_id != last_id and not rule_of(url, retracted):
            last_id = client_id
            plan.texts += 1
            signatures += signature or b""
    if params.near_duplicates != "ignore":
        plan.found = near_duplicates(unpacked(signatures), params.near_duplicate_similarity)
        firsts = firsts_of_clusters(plan.found)
        if params.near_duplicates == "drop":
            plan.dropped = frozenset(firsts)
        elif params.near_duplicates == "group":
            plan.firsts = firsts
    return plan


class _Units:
    """How many clients the texts would be under each meaning of the word; they come by date."""

    def __init__(self) -> None:
        self.numbers = dict.fromkeys(get_args(ClientUnit), 0)
        self._seen: dict[str, set[str]] = {unit: set() for unit in self.numbers}
        self._day = ""

    def add(self, text: Text) -> None:
        """Count a text."""
        if text.date != self._day:
            self._day = text.date
            self._seen["speaker_day"].clear()
        for unit in self.numbers:
            key = unit_of(text, unit)
            if key == text.client_id:
                self.numbers[unit] += 1
            elif key not in self._seen[unit]:
                self._seen[unit].add(key)
                self.numbers[unit] += 1


CLIENTS_PER_FILE = 50_000
NEAR_DUPLICATES = pa.schema([("client_id", pa.string()), ("resembles", pa.string()), ("similarity", pa.float32())])


def shard_facts(path: Path) -> ShardFacts:
    """Return the facts that the shard in `path` holds about itself."""
    counts, bad_pages, *rest = json.loads(pq.read_metadata(path).metadata[FACTS])
    return ShardFacts(SourceCounts.from_dict(counts), [tuple(bad) for bad in bad_pages], *rest)


def split_for(client_id: str, date: str, split: Splitting) -> str:
    """Return the split of a client: by its id, or by its date (undated clients train)."""
    if split.method == "hash":
        return split_of(
            client_id, validation_share=split.validation_share, test_share=split.test_share, seed=split.seed
        )
    if date and split.test_from and date >= split.test_from.isoformat():
        return "test"
    return "validation" if date and split.validation_from and date >= split.validation_from.isoformat() else "train"


@dataclass(frozen=True)
class MergeTask:
    """Everything a worker needs to merge one config: its shards, as (first client id, path), in page order.

    `retracted` has the rule to leave a text out under, by its address.
    """

    config: str
    shards: tuple[tuple[str, Path], ...]
    root: Path
    params: LargeFedBench
    retracted: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Merged:
    """What the merge of one config found.

    `sizes` are clients, chunks and tokens by split; `dates` the first and the last, if any; `left_out` texts and words,
    by source and rule, of what is retracted, came twice or resembles an earlier text; `units` how many clients there
    would be under each meaning of the word; `duplicates` sums up the near-duplicates, if they were looked for.
    """

    config: str
    sizes: dict[str, dict[str, int]] = field(default_factory=dict)
    dates: list[str] = field(default_factory=list)
    licenses: Counter[str] = field(default_factory=Counter)
    left_out: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    units: dict[str, int] = field(default_factory=dict)
    duplicates: dict[str, int] | None = None


def merge_config(task: MergeTask) -> Merged:
    """Merge the shards of one config into its tables."""
    words_of.cache_clear()  # of the shards that this process wrote: the merge of a million texts needs its room
    return _Merge(task).run(task.shards)


class _Merge:
    """Writes the tables of one config."""

    def __init__(self, task: MergeTask) -> None:
        self.root = task.root / task.config
        self.params = task.params
        self.retracted = task.retracted
        self.merged = Merged(task.config)
        self._writers: dict[str, tuple[TableWriter, TableWriter]] = {}
        self._units = _Units()
        self._split_by: dict[str, Text] = {}  # by client id: the text that it shares a split with

    def run(self, shards: Sequence[tuple[str, Path]]) -> Merged:
        plan = plan_merge(shards, self.params, self.retracted)
        for row in combined(self._kept(shards, plan), self.params.client):
            self._add(row)
        self.merged.units = self._units.numbers
        for writers in self._writers.values():
            for writer in writers:
                writer.close()
        if self.params.near_duplicates != "ignore":
            self.merged.duplicates = _summary(plan.found, plan.texts)
        return self.merged

    def _kept(self, shards: Sequence[tuple[str, Path]], plan: Plan) -> Iterator[Row]:
        """Yield the rows that stay; the others are counted."""
        last_id, number = "", -1
        report = _Report(self.root, plan.found) if self.params.near_duplicates != "ignore" and plan.texts else None
        heads = dict.fromkeys(plan.firsts.values(), Text("", "", "", "", ""))
        for row in merged_rows(shards):
            client_id, source, text = row[0], row[1], row[12]
            rule = rule_of(row[8], self.retracted) or (REPEATED_ID if client_id == last_id else None)
            if rule is None:
                last_id, number = client_id, number + 1
                facts = Text(client_id, source, row[4], row[5], row[6])
                if report:
                    report.pass_by(number, client_id)
                if number in heads:
                    heads[number] = facts
                if number in plan.firsts:
                    self._split_by[client_id] = heads[plan.firsts[number]]
                if number not in plan.dropped:
                    self._units.add(facts)
                    yield row
                    continue
            tally = self.merged.left_out.setdefault((source, rule or NEAR_DUPLICATE), [0, 0])
            tally[0] += 1
            tally[1] += n_words(text)
        if report:
            report.writer.close()

    def _add(self, row: Row) -> None:
        *values, text, n_tokens, personal_data, starts, ends, lengths, _ = row
        client_id, date, license_id = values[0], values[4], values[9]
        first = self._split_by.get(client_id)
        key, day = (first.client_id, first.date) if first else (split_key(client_id, self.params.client), date)
        split = split_for(key, day, self.params.split)
        sizes = self.merged.sizes.setdefault(split, {"clients": 0, "chunks": 0, "tokens": 0})
        clients, chunks = self._tables(split, sizes["clients"])
        clients.add((*values, text, n_tokens, personal_data, split))
        for index, (start, end, length) in enumerate(zip(starts, ends, lengths, strict=True)):
            chunks.add((client_id, index, text[start:end], start, end, length, split))
        sizes["clients"] += 1
        sizes["chunks"] += len(starts)
        sizes["tokens"] += n_tokens
        self.merged.licenses[license_id] += 1
        if date:
            first_date, last_date = self.merged.dates or (date, date)
            self.merged.dates = [min(first_date, date), max(last_date, date)]

    def _tables(self, split: str, written: int) -> tuple[TableWriter, TableWriter]:
        """Return the open files of a split; a new pair every `CLIENTS_PER_FILE` clients."""
        if written % CLIENTS_PER_FILE == 0:
            for writer in self._writers.pop(split, ()):
                writer.close()
            name = f"{split}-{written // CLIENTS_PER_FILE:05d}.parquet"
            self._writers[split] = (
                TableWriter(self.root / "clients" / name, CLIENTS),
                TableWriter(self.root / "chunks" / name, CHUNKS),
            )
        return self._writers[split]


class _Report:
    """The file of near-duplicates, written while the texts pass by in order: an original comes before its copies."""

    def __init__(self, root: Path, found: Sequence[Duplicate]) -> None:
        self.writer = TableWriter(root / "near_duplicates.parquet", NEAR_DUPLICATES)
        self._due = iter(found)  # in the order of the copies
        self._next = next(self._due, None)
        self._originals = dict.fromkeys((one.original for one in found), "")

    def pass_by(self, number: int, client_id: str) -> None:
        """Note a text's id if others resemble it, and write its line if it resembles another."""
        if number in self._originals:
            self._originals[number] = client_id
        if self._next and self._next.client == number:
            self.writer.add((client_id, self._originals[self._next.original], self._next.similarity))
            self._next = next(self._due, None)


def _summary(found: Sequence[Duplicate], texts: int) -> dict[str, int]:
    """Return how many texts resemble an earlier one, how many of those in every compared place, and out of how many."""
    return {
        "texts": texts,
        "near_duplicates": len(found),
        "identical_signatures": sum(one.similarity == 1 for one in found),
        "groups": len({one.original for one in found}),
    }

"""The second half of a build: sorted shards, merged by client id (so by date) into the tables of a config.

Shards are opened only when the merge reaches their first client, so memory does not grow with their number. A client id
that comes twice is kept once, in page order, and counted.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fedtext.corpora.splits import split_of
from fedtext.largefedbench.counts import SourceCounts
from fedtext.largefedbench.near_duplicates import Duplicate, near_duplicates, unpacked
from fedtext.largefedbench.schema import CHUNKS, CLIENTS, TableWriter
from fedtext.largefedbench.shards import FACTS, ROW_GROUP, ShardFacts
from fedtext.largefedbench.turns import n_words
from fedtext.params.largefedbench import LargeFedBench, Splitting

CLIENTS_PER_FILE = 50_000
NEAR_DUPLICATES = pa.schema([("client_id", pa.string()), ("resembles", pa.string()), ("similarity", pa.float32())])


def shard_facts(path: Path) -> ShardFacts:
    """What the shard in `path` says of itself."""
    counts, bad_pages, first_id = json.loads(pq.read_metadata(path).metadata[FACTS])
    return ShardFacts(SourceCounts.from_dict(counts), [tuple(bad) for bad in bad_pages], first_id)


def merged_rows(shards: Sequence[tuple[str, Path]]) -> Iterator[tuple[Any, ...]]:
    """Rows of all shards (given as (first client id, path)) by client id; equal ids in shard order."""
    front: list[tuple[str, int, Iterator[tuple[Any, ...]] | None, tuple[Any, ...]]] = [
        (first_id, number, None, ()) for number, (first_id, _) in enumerate(shards)
    ]
    heapq.heapify(front)
    while front:
        _, number, rows, row = heapq.heappop(front)
        if rows is None:
            rows = _rows(shards[number][1])
        else:
            yield row
        following = next(rows, None)
        if following is not None:
            heapq.heappush(front, (following[0], number, rows, following))


def _rows(path: Path) -> Iterator[tuple[Any, ...]]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(ROW_GROUP):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def split_for(client_id: str, date: str, split: Splitting) -> str:
    """The split of a client: by its id, or by its date (undated clients train)."""
    if split.method == "hash":
        return split_of(
            client_id, validation_share=split.validation_share, test_share=split.test_share, seed=split.seed
        )
    if date and split.test_from and date >= split.test_from.isoformat():
        return "test"
    return "validation" if date and split.validation_from and date >= split.validation_from.isoformat() else "train"


@dataclass(frozen=True)
class MergeTask:
    """Everything a worker needs to merge one config: its shards, as (first client id, path), in page order."""

    config: str
    shards: tuple[tuple[str, Path], ...]
    root: Path
    params: LargeFedBench


@dataclass
class Merged:
    """What the merge of one config found.

    `sizes` are clients, chunks and tokens by split; `dates` the first and the last, if any; `repeated` the clients and
    words, by source, of ids that came twice; `duplicates` sums up the near-duplicates, if they were looked for.
    """

    config: str
    sizes: dict[str, dict[str, int]] = field(default_factory=dict)
    dates: list[str] = field(default_factory=list)
    licenses: Counter[str] = field(default_factory=Counter)
    repeated: dict[str, list[int]] = field(default_factory=dict)
    duplicates: dict[str, int] | None = None


def merge_config(task: MergeTask) -> Merged:
    """Merge the shards of one config into its tables."""
    return _Merge(task).run(task.shards)


class _Merge:
    """Writes the tables of one config."""

    def __init__(self, task: MergeTask) -> None:
        self.root = task.root / task.config
        self.params = task.params
        self.merged = Merged(task.config)
        self._writers: dict[str, tuple[TableWriter, TableWriter]] = {}
        self._signatures = bytearray()
        self._ids: list[str] = []

    def run(self, shards: Sequence[tuple[str, Path]]) -> Merged:
        last_id = ""
        for row in merged_rows(shards):
            client_id, source, text = row[0], row[1], row[12]
            if client_id == last_id:
                repeated = self.merged.repeated.setdefault(source, [0, 0])
                repeated[0] += 1
                repeated[1] += n_words(text)
                continue
            last_id = client_id
            self._add(row)
        for writers in self._writers.values():
            for writer in writers:
                writer.close()
        if self.params.near_duplicates:
            self._report_near_duplicates()
        return self.merged

    def _add(self, row: tuple[Any, ...]) -> None:
        *values, text, n_tokens, personal_data, starts, ends, lengths, signature = row
        client_id, date, license_id = values[0], values[4], values[9]
        split = split_for(client_id, date, self.params.split)
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
            first, last = self.merged.dates or (date, date)
            self.merged.dates = [min(first, date), max(last, date)]
        if self.params.near_duplicates:
            self._signatures += signature
            self._ids.append(client_id)

    def _tables(self, split: str, written: int) -> tuple[TableWriter, TableWriter]:
        """The open files of a split; a new pair every `CLIENTS_PER_FILE` clients."""
        if written % CLIENTS_PER_FILE == 0:
            for writer in self._writers.pop(split, ()):
                writer.close()
            name = f"{split}-{written // CLIENTS_PER_FILE:05d}.parquet"
            self._writers[split] = (
                TableWriter(self.root / "clients" / name, CLIENTS),
                TableWriter(self.root / "chunks" / name, CHUNKS),
            )
        return self._writers[split]

    def _report_near_duplicates(self) -> None:
        found = near_duplicates(unpacked(self._signatures), self.params.near_duplicate_similarity)
        writer = TableWriter(self.root / "near_duplicates.parquet", NEAR_DUPLICATES)
        for duplicate in found:
            writer.add((self._ids[duplicate.client], self._ids[duplicate.original], duplicate.similarity))
        writer.close()
        self.merged.duplicates = _summary(found, len(self._ids))


def _summary(found: list[Duplicate], clients: int) -> dict[str, int]:
    """How many clients resemble an earlier one, how many of those in every compared place, and out of how many."""
    return {
        "clients": clients,
        "near_duplicates": len(found),
        "identical_signatures": sum(one.similarity == 1 for one in found),
        "groups": len({one.original for one in found}),
    }

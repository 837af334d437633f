"""The second half of a build: sorted shards, merged by client id (so by date) into the tables of each config and split.

Shards are opened only when the merge reaches their first client, so memory does not grow with their number. A client id
that comes twice is kept once, in page order, and counted.
"""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fedtext.corpora.largefedbench.counts import SourceCounts
from fedtext.corpora.largefedbench.near_duplicates import Duplicate, near_duplicates, unpacked
from fedtext.corpora.largefedbench.schema import CHUNKS, CLIENTS, TableWriter
from fedtext.corpora.largefedbench.shards import FACTS, ROW_GROUP, ShardFacts
from fedtext.corpora.largefedbench.sources import SOURCES
from fedtext.corpora.largefedbench.turns import n_words
from fedtext.corpora.splits import split_of
from fedtext.params.largefedbench import LargeFedBench, Splitting

CLIENTS_PER_FILE = 50_000
NEAR_DUPLICATES = pa.schema([("client_id", pa.string()), ("resembles", pa.string()), ("similarity", pa.float32())])


def shard_facts(path: Path) -> ShardFacts:
    """What the shard in `path` says of itself."""
    counts, bad_pages, first_id = json.loads(pq.read_metadata(path).metadata[FACTS])
    return ShardFacts(SourceCounts.from_dict(counts), [tuple(bad) for bad in bad_pages], first_id)


def merged_rows(shards: list[tuple[str, Path]]) -> Iterator[tuple[Any, ...]]:
    """Rows of all shards (given as (first client id, path)) by client id; equal ids in shard order."""
    front: list[tuple[str, int, Iterator[tuple[Any, ...]] | None, tuple[Any, ...]]] = [
        (first_id, number, None, ()) for number, (first_id, _) in enumerate(shards) if first_id
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


class Merge:
    """Writes the tables under `root` and keeps the sums that the card and the provenance give."""

    def __init__(self, root: Path, params: LargeFedBench) -> None:
        self.root = root
        self.params = params
        self.sizes: dict[str, dict[str, dict[str, int]]] = {}
        self.dates: dict[str, list[str]] = {}
        self.licenses: dict[str, int] = defaultdict(int)
        self.duplicates: dict[str, dict[str, int]] = {}
        self._writers: dict[tuple[str, str], tuple[TableWriter, TableWriter]] = {}
        self._signatures: dict[str, bytearray] = defaultdict(bytearray)
        self._ids: dict[str, list[str]] = defaultdict(list)

    def run(self, shards: list[tuple[str, Path]], counts: dict[str, SourceCounts]) -> None:
        """Merge `shards` into the tables; ids that come twice are taken back out of `counts`."""
        last_id = ""
        for row in merged_rows(shards):
            client_id, source, text = row[0], row[1], row[12]
            if client_id == last_id:
                words = n_words(text)
                counts[source].clients -= 1
                counts[source].words_kept -= words
                counts[source].leave_out("duplicate_client_id", words)
                continue
            last_id = client_id
            self._add(row, SOURCES[source].config)
        for writers in self._writers.values():
            for writer in writers:
                writer.close()
        if self.params.near_duplicates:
            self._report_near_duplicates()

    def _add(self, row: tuple[Any, ...], config: str) -> None:
        *values, text, n_tokens, starts, ends, lengths, signature = row
        client_id, date, license_id = values[0], values[4], values[9]
        split = split_for(client_id, date, self.params.split)
        sizes = self.sizes.setdefault(config, {}).setdefault(split, {"clients": 0, "chunks": 0, "tokens": 0})
        clients, chunks = self._tables(config, split, sizes["clients"])
        clients.add((*values, text, n_tokens, split))
        for index, (start, end, length) in enumerate(zip(starts, ends, lengths, strict=True)):
            chunks.add((client_id, index, text[start:end], start, end, length, split))
        sizes["clients"] += 1
        sizes["chunks"] += len(starts)
        sizes["tokens"] += n_tokens
        self.licenses[license_id] += 1
        if date:
            first, last = self.dates.get(config, [date, date])
            self.dates[config] = [min(first, date), max(last, date)]
        if self.params.near_duplicates:
            self._signatures[config] += signature
            self._ids[config].append(client_id)

    def _tables(self, config: str, split: str, written: int) -> tuple[TableWriter, TableWriter]:
        """The open files of a config and split; a new pair every `CLIENTS_PER_FILE` clients."""
        key = (config, split)
        if written % CLIENTS_PER_FILE == 0:
            for writer in self._writers.pop(key, ()):
                writer.close()
            name = f"{split}-{written // CLIENTS_PER_FILE:05d}.parquet"
            self._writers[key] = (
                TableWriter(self.root / config / "clients" / name, CLIENTS),
                TableWriter(self.root / config / "chunks" / name, CHUNKS),
            )
        return self._writers[key]

    def _report_near_duplicates(self) -> None:
        for config in sorted(self._ids):
            ids = self._ids[config]
            found = near_duplicates(unpacked(self._signatures.pop(config)), self.params.near_duplicate_similarity)
            writer = TableWriter(self.root / config / "near_duplicates.parquet", NEAR_DUPLICATES)
            for duplicate in found:
                writer.add((ids[duplicate.client], ids[duplicate.original], duplicate.similarity))
            writer.close()
            self.duplicates[config] = _summary(found, len(ids))


def _summary(found: list[Duplicate], clients: int) -> dict[str, int]:
    """How many clients resemble an earlier one, how many of those in every compared place, and out of how many."""
    return {
        "clients": clients,
        "near_duplicates": len(found),
        "identical_signatures": sum(one.similarity == 1 for one in found),
        "groups": len({one.original for one in found}),
    }

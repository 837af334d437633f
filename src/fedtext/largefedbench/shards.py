"""The first half of a build: raw pages, a few megabytes at a time, into sorted shards that survive a kill.

A shard is one parquet file, renamed into place when it is whole; its name holds a fingerprint of its pages' bytes, the
parameters, the tokenizer, the code and the libraries, so a repeated build skips exactly the shards that would come out
the same.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fedtext.largefedbench.clients import Client, clients_of, keeps_kind, kinds_in, without_personal_data
from fedtext.largefedbench.counts import SourceCounts
from fedtext.largefedbench.near_duplicates import MinHash
from fedtext.largefedbench.raw_pages import Completeness, RawPage, RawPageError, SkippedPageError, regular
from fedtext.largefedbench.snapshot import SHARD, TableWriter
from fedtext.largefedbench.sources import SOURCES, Source, raw_pages
from fedtext.largefedbench.takedown import Takedown, read_takedown
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.largefedbench.turns import Retraction, Turn
from fedtext.params.largefedbench import LargeFedBench
from fedtext.system.engine import Engine
from fedtext.system.errors import InputError

BATCH = 512  # texts encoded at once
ROW_GROUP = 256  # rows of a shard read at once in the merge
UNREADABLE = "0" * 64  # in place of the digest of a file that cannot be opened
FACTS = b"fedtext"  # the key of a shard's own facts in its parquet metadata


class PageDigest(NamedTuple):
    """A page and the sha256 of its bytes (of its files' names and bytes, for a directory), and its size."""

    page: RawPage
    sha256: str
    size: int


@dataclass(frozen=True)
class ShardTask:
    """The inputs of a worker that writes one shard, whose pages are of one source and one config."""

    source: str
    config: str
    pages: tuple[RawPage, ...]
    path: Path
    params: LargeFedBench
    tokenizer: ChunkTokenizer


class ShardFacts(NamedTuple):
    """The facts a shard holds about itself.

    Counts, bad pages as (name, reason), its first client id, the lines of the takedown list that it matched, the words
    by which those people are named, which no file of the snapshot shows, and what its pages say of texts of any page:
    the rule to leave one out under, by its address.
    """

    counts: SourceCounts
    bad_pages: list[tuple[str, str]]
    first_id: str
    taken_down: list[int]
    taken_down_words: list[str]
    retracted: dict[str, str]


def digest_pages(raw_dir: Path, params: LargeFedBench, engine: Engine) -> dict[str, list[PageDigest]]:
    """Return the pages of every requested source that has any, with their digests, in name order."""
    found = {name: raw_pages(raw_dir, SOURCES[name]) for name in params.sources}
    return {name: list(engine.map(_digest, pages)) for name, pages in found.items() if pages}


def _digest(page: RawPage) -> PageDigest:
    if not page.path.is_dir():
        return PageDigest(page, *_file_digest(page.path))
    total, size = hashlib.sha256(), 0
    for path in sorted(p for p in page.path.rglob("*") if p.is_file()):
        digest, bytes_read = _file_digest(path)
        total.update(os.fsencode(path.relative_to(page.path).as_posix()) + f"\0{digest}\n".encode())
        size += bytes_read
    return PageDigest(page, total.hexdigest(), size)


def _file_digest(path: Path) -> tuple[str, int]:
    """Return SHA-256 and size; for a file that cannot be opened a mark and 0, for reading it gives the error."""
    try:
        with regular(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size
    except (OSError, InputError):
        return UNREADABLE, 0


def plan_shards(
    source: str,
    pages: list[PageDigest],
    params: LargeFedBench,
    tokenizer: ChunkTokenizer,
    made_by: str,
    directory: Path,
) -> list[ShardTask]:
    """Return tasks of successive pages of about `params.shard_bytes` each, with the path of each result.

    `made_by` names the code and the libraries that write the shards.
    """
    tasks = []
    for number, (config, group) in enumerate(_groups(source, pages, params.shard_bytes)):
        facts = [
            made_by,
            tokenizer.sha256,
            params.content_parameters(),
            [(p.page.name, p.page.superseded, p.sha256) for p in group],
        ]
        fingerprint = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:24]
        path = directory / source / f"{number:05d}-{fingerprint}.parquet"
        tasks.append(ShardTask(source, config, tuple(p.page for p in group), path, params, tokenizer))
    return tasks


def _groups(source: str, pages: list[PageDigest], shard_bytes: int) -> Iterator[tuple[str, list[PageDigest]]]:
    """Yield the pages of a config, in order, until they have `shard_bytes` together; configs one after the other."""
    by_config: dict[str, list[PageDigest]] = defaultdict(list)
    for page in pages:
        by_config[SOURCES[source].config_of(page.page)].append(page)
    for config, members in sorted(by_config.items()):
        group, size = list[PageDigest](), 0
        for page in members:
            if group and size >= shard_bytes:
                yield config, group
                group, size = [], 0
            group.append(page)
            size += page.size
        yield config, group


def write_shard(task: ShardTask) -> Path:
    """Parse, clean and chunk the task's pages into its file, all or nothing, unless it is there.

    Raises:
        RawPageError: a page cannot be read and `on_bad_page` is `stop`.
    """
    if task.path.exists():
        return task.path
    counts, bad_pages, retracted = SourceCounts(), list[tuple[str, str]](), dict[str, str]()
    turns = _turns(SOURCES[task.source], task, counts, bad_pages, retracted)
    taken_down = read_takedown(task.params.takedown_file())
    clients = sorted(_clients(turns, task.params, counts, taken_down), key=lambda client: client.client_id)
    partial = task.path.with_suffix(f".{os.getpid()}.partial")
    writer = TableWriter(partial, SHARD, row_group=ROW_GROUP)
    minhash = MinHash() if task.params.near_duplicates != "ignore" else None
    for first in range(0, len(clients), BATCH):
        _write_batch(writer, clients[first : first + BATCH], task, minhash)
    first_id = clients[0].client_id if clients else ""
    facts = [counts.as_dict(), bad_pages, first_id, sorted(taken_down.matched), sorted(taken_down.words), retracted]
    writer.close({FACTS: json.dumps(facts)})
    os.replace(partial, task.path)
    return task.path


def _clients(
    turns: Iterable[Turn], params: LargeFedBench, counts: SourceCounts, taken_down: Takedown
) -> Iterator[Client]:
    """Yield the clients of these turns without those of the takedown list and, if required, without personal data."""
    for client in taken_down.without(clients_of(taken_down.without_turns(turns, counts), params, counts), counts):
        yield without_personal_data(client, counts) if params.personal_data == "remove" else client


def _turns(
    source: Source,
    task: ShardTask,
    counts: SourceCounts,
    bad_pages: list[tuple[str, str]],
    retracted: dict[str, str],
) -> Iterator[Turn]:
    """Yield the turns of the task's pages; what else these hold is added to the last three."""
    for page in task.pages:
        counts.pages += 1
        found, date = False, ""
        try:
            for item in source.parse(page):
                found = True
                if isinstance(item, Turn):
                    date = item.date or date
                    yield item
                elif isinstance(item, Retraction):
                    if not keeps_kind(item.rule, source.name, task.params):
                        retracted.setdefault(item.address, item.rule)
                elif error := _loss(item, counts):
                    _note_bad(error, task.params, counts, bad_pages)
            if not found:
                raise RawPageError(
                    page.name, "holds nothing that its source publishes: no text, no row", code="page-holds-nothing"
                )
        except RawPageError as error:
            _note_bad(error, task.params, counts, bad_pages)
        counts.end_page(date)


def _loss(item: RawPageError | Completeness, counts: SourceCounts) -> RawPageError | None:
    """Return the item's loss, if any, and count how complete the page is."""
    if isinstance(item, RawPageError):
        return item
    counts.note("granules_expected", item.expected)
    counts.note("granules_missing", len(item.missing))
    return item.error()


def _note_bad(
    error: RawPageError, params: LargeFedBench, counts: SourceCounts, bad_pages: list[tuple[str, str]]
) -> None:
    if params.on_bad_page == "stop" and not isinstance(error, SkippedPageError):
        raise error
    counts.note("bad_pages")
    bad_pages.append((error.name, error.reason))


def _write_batch(writer: TableWriter, clients: list[Client], task: ShardTask, minhash: MinHash | None) -> None:
    chunked = task.tokenizer.chunks([client.text for client in clients], task.params.chunking)
    for client, (n_tokens, chunks) in zip(clients, chunked, strict=True):
        starts, ends, lengths = zip(*chunks, strict=True) if chunks else ((), (), ())
        signature = minhash.packed(client.text) if minhash else None
        writer.add((*client, n_tokens, kinds_in(client.text), starts, ends, lengths, signature))

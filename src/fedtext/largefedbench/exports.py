"""Exports of a snapshot: POPri's clients of chunks, and the published scraper's seven-field JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from fedtext.corpora.records import SPLITS
from fedtext.largefedbench.snapshot import SnapshotError, iterate_rows, provenance, verify
from fedtext.system.atomic import write_members

# Field of the published JSON files -> column of the clients table.
SEVEN_FIELDS = {
    "url": "url",
    "date_str": "date",
    "title": "title",
    "speaker": "speaker",
    "data": "text",
    "chamber": "chamber",
    "country": "country",
}
COUNTRIES = {"US": "USA", "GB": "GBR", "CA": "CA"}  # as the published files spell them


@dataclass(frozen=True)
class SevenFields:
    """The clients of one split, or of all (None), as the published scraper's objects, read during iteration."""

    snapshot: Path
    config: str
    split: str | None

    def __iter__(self) -> Iterator[dict[str, str]]:
        for row in iterate_rows(self.snapshot, self.config, "clients", self.split):
            fields = {field: row[column] for field, column in SEVEN_FIELDS.items()}
            yield fields | {"country": COUNTRIES.get(fields["country"], fields["country"])}


def seven_fields_by_split(snapshot: Path, config: str) -> tuple[Iterable[dict[str, str]], ...]:
    """Return `SevenFields` of train, validation and test clients after verification; an empty one for an empty split.

    Raises:
        SnapshotError: It does not exist, is altered, or has no such config.
    """
    verify(snapshot)
    known = provenance(snapshot)["configs"]
    if config not in known:
        raise SnapshotError(
            f"snapshot {snapshot} has no config {config!r}: choose one of {', '.join(known)}",
            code="unknown-config",
            parameter="export.config",
            value=config,
        )
    return tuple(SevenFields(snapshot, config, split) if split in known[config] else () for split in SPLITS)


def export_popri(snapshot: Path, config: str, split: str | None, path: Path) -> int:
    """Write `{client_id: [chunk, ...]}` (POPri's input) and return the number of clients."""
    verify(snapshot)
    by_client = groupby(iterate_rows(snapshot, config, "chunks", split), key=itemgetter("client_id"))
    members = (f"{_json(client)}: {_json([row['text'] for row in rows])}" for client, rows in by_client)
    return write_members(path, "{}", members)


def export_seven_fields(snapshot: Path, config: str, split: str | None, path: Path) -> int:
    """Write a list of the published scraper's objects and return the number of clients."""
    verify(snapshot)
    return write_members(path, "[]", map(_json, SevenFields(snapshot, config, split)))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

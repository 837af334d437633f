"""A snapshot in the forms that others read: POPri's clients of chunks, and the published scraper's seven-field JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from fedtext.largefedbench.manifest import verify
from fedtext.largefedbench.snapshot import iterate_rows

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


def export_popri(snapshot: Path, config: str, split: str | None, path: Path) -> int:
    """Write `{client_id: [chunk, ...]}` (POPri's input) and return the number of clients."""
    verify(snapshot)
    by_client = groupby(iterate_rows(snapshot, config, "chunks", split), key=itemgetter("client_id"))
    members = (f"{_json(client)}: {_json([row['text'] for row in rows])}" for client, rows in by_client)
    return _write(path, "{\n", members, "\n}\n")


def export_seven_fields(snapshot: Path, config: str, split: str | None, path: Path) -> int:
    """Write a list of the published scraper's objects and return the number of clients."""
    verify(snapshot)
    return _write(path, "[\n", map(_json, _seven_fields(iterate_rows(snapshot, config, "clients", split))), "\n]\n")


def _seven_fields(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, str]]:
    for row in rows:
        fields = {field: row[column] for field, column in SEVEN_FIELDS.items()}
        yield fields | {"country": COUNTRIES.get(fields["country"], fields["country"])}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write(path: Path, opening: str, members: Iterable[str], closing: str) -> int:
    """Stream the members into `path`, which appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    number = 0
    with partial.open("w", encoding="utf-8") as file:
        file.write(opening)
        for number, member in enumerate(members, start=1):
            file.write(member if number == 1 else f",\n{member}")
        file.write(closing)
    os.replace(partial, path)
    return number

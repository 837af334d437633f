"""What lies beside a snapshot's tables: provenance, raw page hashes, licences, data card, Croissant description."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from fedtext.largefedbench.card import render_card
from fedtext.largefedbench.counts import SourceCounts
from fedtext.largefedbench.croissant import describe
from fedtext.largefedbench.licenses import license_text
from fedtext.largefedbench.merge import Merged
from fedtext.largefedbench.raw_pages import RawPage
from fedtext.largefedbench.shards import PageDigest
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.largefedbench import LargeFedBench

FORMAT = 1


def write_papers(
    root: Path,
    params: LargeFedBench,
    tokenizer: ChunkTokenizer,
    identity: dict[str, str],
    digests: dict[str, list[PageDigest]],
    merged: list[Merged],
    counts: dict[str, SourceCounts],
    bad_pages: list[tuple[str, str]],
) -> None:
    """Write everything but the tables and the manifest into `root`; `merged` are its configs."""
    licenses = _licenses(merged)
    dates = {one.config: one.dates for one in merged if one.dates}
    provenance = {
        "snapshot": params.snapshot,
        "format": FORMAT,
        **identity,
        "parameters": params.bytes_matter(),
        "tokenizer": {"name": tokenizer.name, "sha256": tokenizer.sha256},
        "queries": _queries(digests),
        "date_published": _date_published(params, dates),
        "dates": dates,
        "configs": {one.config: dict(sorted(one.sizes.items())) for one in merged},
        "clients_by_unit": {one.config: one.units for one in merged},
        "licenses": licenses,
        "near_duplicates": {one.config: one.duplicates for one in merged if one.duplicates is not None},
        "sources": {name: one.as_dict() for name, one in sorted(counts.items())},
        "bad_pages": [{"page": page, "reason": reason} for page, reason in sorted(bad_pages)],
    }
    _write_json(root / "provenance.json", provenance)
    lines = [f"{digest}  {page.name}\n" for pages in digests.values() for page, digest, _ in pages]
    (root / "raw_pages.sha256").write_text("".join(sorted(lines, key=lambda line: line[66:])), "utf-8")
    (root / "licenses").mkdir()
    for license_id in licenses:
        (root / "licenses" / f"{license_id}.txt").write_text(license_text(license_id), "utf-8")
    (root / "README.md").write_text(render_card(provenance), "utf-8")
    _write_json(root / "croissant.json", describe(root, provenance))


def _date_published(params: LargeFedBench, dates: dict[str, list[str]]) -> str:
    """The date asked for, else that of the newest text: a snapshot knows no clock. Empty if nothing is dated."""
    if params.date_published:
        return params.date_published.isoformat()
    return max((last for _, last in dates.values()), default="")


def _licenses(merged: list[Merged]) -> dict[str, int]:
    """Clients of all configs by licence, in alphabetical order."""
    total = sum((one.licenses for one in merged), Counter[str]())
    return dict(sorted(total.items()))


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _queries(digests: dict[str, list[PageDigest]]) -> list[Any]:
    """What the ingest asked for, from the `query` of the `_done.json` notes beside the pages, where there are any."""
    queries = []
    for directory, page in sorted(
        {(page.path.parent, page.name) for pages in digests.values() for page, _, _ in pages}
    ):
        queries += _noted(directory, page)
    return [json.loads(text) for text in sorted(set(queries))]


def _noted(directory: Path, page: str) -> list[str]:
    note = directory / "_done.json"
    if not note.is_file():
        return []
    try:
        query = json.loads(note.read_text("utf-8")).get("query")
    except (ValueError, AttributeError):
        return []
    window = RawPage(page, note).name.rpartition("/")[0]
    return [json.dumps({"window": window, "query": query}, sort_keys=True)] if query is not None else []

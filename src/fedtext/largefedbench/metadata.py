"""Metadata of a snapshot: provenance, hashes, licences, and its Croissant description.

- Files beside a snapshot's tables: provenance, raw page hashes, licences, data card, Croissant description.
- The Croissant description (JSON-LD, version 1.0) of a snapshot: files and hashes, tables and columns.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from fedtext.largefedbench.card import config_tables, render_card
from fedtext.largefedbench.counts import SourceCounts
from fedtext.largefedbench.licenses import LICENSES, license_text
from fedtext.largefedbench.merge import Merged
from fedtext.largefedbench.raw_pages import RawPageError, parse_json, read_bytes, reading
from fedtext.largefedbench.shards import PageDigest
from fedtext.largefedbench.snapshot import DESCRIPTIONS, TABLES, file_sha256
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.largefedbench import LargeFedBench

CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
DATA_TYPES = {"string": "sc:Text", "int32": "sc:Integer", "float": "sc:Float"}


def describe(root: Path, provenance: dict[str, Any]) -> dict[str, Any]:
    """Return the description of the snapshot whose tables lie below `root`."""
    licenses = [LICENSES[name].url for name in provenance["licenses"]]
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": f"LargeFedBench-{provenance['snapshot']}",
        "description": "Parliamentary speeches and scientific abstracts, one client each, after POPri's appendix F.",
        "license": licenses,
        "url": "https://arxiv.org/abs/2504.16438",
        "version": provenance["snapshot"],
        "datePublished": provenance["date_published"],
        "citeAs": "Hou et al., Private Federated Learning using Preference-Optimized Synthetic Data, ICML 2025",
        "isLiveDataset": False,
        "distribution": [_file(root, path) for path in sorted(root.glob("*/*/*.parquet"))] + _file_sets(provenance),
        "recordSet": [_record_set(name, table) for name, _, table, _ in config_tables(provenance)],
    }


def _file(root: Path, path: Path) -> dict[str, Any]:
    name = path.relative_to(root).as_posix()
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file_sha256(path),
    }


def _file_sets(provenance: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "@type": "cr:FileSet",
            "@id": f"{name}-files",
            "name": f"{name}-files",
            "encodingFormat": "application/x-parquet",
            "includes": f"{config}/{table}/*.parquet",
        }
        for name, config, table, _ in config_tables(provenance)
    ]


def _record_set(name: str, table: str) -> dict[str, Any]:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{field.name}",
            "name": f"{name}/{field.name}",
            "description": DESCRIPTIONS[field.name],
            "dataType": DATA_TYPES[str(field.type)],
            "source": {"fileSet": {"@id": f"{name}-files"}, "extract": {"column": field.name}},
        }
        for field in TABLES[table]
    ]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields}


FORMAT = 1
NOTE = "_done.json"  # of the ingest, beside the pages of a window


def write_papers(
    root: Path,
    params: LargeFedBench,
    tokenizer: ChunkTokenizer,
    identity: dict[str, str],
    digests: dict[str, list[PageDigest]],
    merged: list[Merged],
    counts: dict[str, SourceCounts],
    bad_pages: list[tuple[str, str]],
    unmatched: int,
) -> None:
    """Write everything but the tables and the manifest into `root`; `merged` are its configs."""
    licenses = _licenses(merged)
    dates = {one.config: one.dates for one in merged if one.dates}
    queries, unreadable = _queries(digests)
    provenance = {
        "snapshot": params.snapshot,
        "format": FORMAT,
        **identity,
        "parameters": params.content_parameters(),
        "tokenizer": {"name": tokenizer.name, "sha256": tokenizer.sha256},
        "queries": queries,
        "date_published": _date_published(params, dates),
        "dates": dates,
        "configs": {one.config: dict(sorted(one.sizes.items())) for one in merged},
        "clients_by_unit": {one.config: one.units for one in merged},
        "licenses": licenses,
        "near_duplicates": {one.config: one.duplicates for one in merged if one.duplicates is not None},
        "takedown_lines_that_match_nobody": unmatched,
        "sources": {name: one.as_dict() for name, one in sorted(counts.items())},
        "bad_pages": [{"page": page, "reason": reason} for page, reason in sorted([*bad_pages, *unreadable])],
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
    """Return the requested date, else that of the newest text; empty if all texts are undated.

    A snapshot uses no clock.
    """
    if params.date_published:
        return params.date_published.isoformat()
    return max((last for _, last in dates.values()), default="")


def _licenses(merged: list[Merged]) -> dict[str, int]:
    """Return clients of all configs by licence, in alphabetical order."""
    total = sum((one.licenses for one in merged), Counter[str]())
    return dict(sorted(total.items()))


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _queries(digests: dict[str, list[PageDigest]]) -> tuple[list[Any], list[tuple[str, str]]]:
    """Return the queries of the ingest, from the `_done.json` notes beside the pages, and notes that cannot be read."""
    queries, unreadable = set[str](), dict[str, str]()
    windows = {page.name.rpartition("/")[0]: page.path.parent for pages in digests.values() for page, _, _ in pages}
    for window, directory in sorted(windows.items()):
        name = f"{window}/{NOTE}"
        if not os.path.lexists(directory / NOTE):
            continue
        try:
            with reading(name):
                query = parse_json(name, read_bytes(directory / NOTE)).get("query")
        except RawPageError as error:
            unreadable[name] = f"a note of the ingest that cannot be read: {error.reason}"
            continue
        if query is not None:
            queries.add(json.dumps({"window": window, "query": query}, sort_keys=True))
    return [json.loads(text) for text in sorted(queries)], sorted(unreadable.items())

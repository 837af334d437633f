"""The Croissant description (JSON-LD, version 1.0) of a snapshot: files and hashes, tables and columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fedtext.largefedbench.card import config_tables
from fedtext.largefedbench.licenses import LICENSES
from fedtext.largefedbench.manifest import file_sha256
from fedtext.largefedbench.schema import DESCRIPTIONS, TABLES

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
    """The description of the snapshot whose tables lie below `root`."""
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

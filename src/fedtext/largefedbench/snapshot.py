"""Snapshots: tables, manifest, and how they are read.

- Reading a snapshot: verified first, then as records for the algorithms, as client rows, or row by row.
- The tables of a snapshot: columns, types, and a writer that gives the same bytes every time.
- A finished snapshot gets its name by one rename.
- `MANIFEST.sha256`: the hash of every file of a snapshot, for `sha256sum -c`; written last, checked on load.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from fedtext.corpora.records import RECORD_COLUMNS, SPLIT_COLUMN, SPLITS
from fedtext.largefedbench.near_duplicates import SIGNATURE_BYTES
from fedtext.system.errors import FedtextError

if TYPE_CHECKING:
    import pandas as pd


Row = tuple[Any, ...]  # of a table, in the order of its columns

_TEXT_COLUMNS = (
    "client_id", "source", "country", "chamber", "date", "speaker", "speaker_id", "title", "url", "license",
    "floor_language", "label", "text",
)  # fmt: skip

CLIENTS = pa.schema(
    [
        *((name, pa.string()) for name in _TEXT_COLUMNS),
        ("n_tokens", pa.int32()),
        ("personal_data", pa.string()),
        ("split", pa.string()),
    ]
)
CHUNKS = pa.schema(
    [
        ("client_id", pa.string()),
        ("index", pa.int32()),
        ("text", pa.string()),
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("n_tokens", pa.int32()),
        ("split", pa.string()),
    ]
)
# A shard between parsing and merging: a client, its tokens, the chunks' spans, its MinHash signature if duplicates are
# looked for; no split yet, no chunk text twice.
SHARD = pa.schema(
    [
        *((name, pa.string()) for name in _TEXT_COLUMNS),
        ("n_tokens", pa.int32()),
        ("personal_data", pa.string()),
        ("starts", pa.list_(pa.int32())),
        ("ends", pa.list_(pa.int32())),
        ("lengths", pa.list_(pa.int32())),
        ("signature", pa.binary(SIGNATURE_BYTES)),
    ]
)
TABLES = {"clients": CLIENTS, "chunks": CHUNKS}
DESCRIPTIONS = {
    "client_id": "date, source and the source's own id, or the speaker; the unit of privacy",
    "source": "ca, uk, us, biorxiv, medrxiv, pubmed, openreview or scitldr",
    "country": "CA, GB or US; empty for abstracts",
    "chamber": "the chamber that sat",
    "date": "ISO date of the sitting or posting, a speaker's first; empty where the source gives none",
    "speaker": "as the source names them",
    "speaker_id": "the source's id of the speaker, where it gives one",
    "title": "subject of business, granule or abstract title",
    "url": "where the raw page was published",
    "license": "licence id, explained in licenses/",
    "floor_language": "en, fr (the text is the official translation) or mixed",
    "label": "country, preprint category, or area and recommendation of a review",
    "text": "the cleaned text, a line each speech",
    "n_tokens": "tokens of the chunking tokenizer",
    "personal_data": "what the text holds of e-mail and telephone, by pattern; empty for neither",
    "split": "train, validation or test",
    "index": "position of the chunk in its client's text",
    "start": "first character of the chunk in the client's text",
    "end": "character after the chunk's last",
}

ROW_GROUP = 4096


class TableWriter:
    """Writer of rows into one Parquet file: fixed row groups, fixed encoding, no time and no path in the file."""

    def __init__(self, path: Path, schema: pa.Schema, *, row_group: int = ROW_GROUP) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.schema = schema
        self.row_group = row_group
        self.rows: list[tuple[Any, ...]] = []
        self._writer = pq.ParquetWriter(
            path, schema, compression="zstd", compression_level=3, version="2.6", write_statistics=True
        )

    def add(self, row: tuple[Any, ...]) -> None:
        """Append one row, its values in the order of the schema."""
        self.rows.append(row)
        if len(self.rows) == self.row_group:
            self._flush()

    def _flush(self) -> None:
        columns = zip(*self.rows, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self.schema, strict=True)]
        self._writer.write_batch(pa.record_batch(arrays, schema=self.schema), row_group_size=self.row_group)
        self.rows.clear()

    def close(self, metadata: Mapping[bytes, str] | None = None) -> None:
        """Write the remaining rows and the file's own `metadata`, and finish the file."""
        if self.rows:
            self._flush()
        if metadata:
            self._writer.add_key_value_metadata(dict(metadata))
        self._writer.close()


MANIFEST = "MANIFEST.sha256"
# What a hub leaves beside the files that were fetched from it: no part of a snapshot, and no harm to one.
HUB_LEFTOVERS = (".cache/huggingface/", ".git/", ".gitattributes")


class SnapshotError(FedtextError):
    """A snapshot that does not match its manifest, or does not exist."""


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(root: Path) -> list[str]:
    """Return the names of everything below `root` that is no folder: files, and what should not be there."""
    names = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(name for name in names if name != MANIFEST and not name.startswith(HUB_LEFTOVERS))


def write_manifest(root: Path) -> None:
    """Write the hashes of all files below `root`."""
    lines = [f"{file_sha256(root / name)}  {name}\n" for name in _files(root)]
    (root / MANIFEST).write_text("".join(lines), "utf-8")


def read_manifest(root: Path) -> dict[str, str]:
    """Return the hash by file name.

    Raises:
        SnapshotError: no manifest, or a line of it is not a hash and a name.
    """
    path = root / MANIFEST
    if not path.is_file():
        raise SnapshotError(
            f"{root} has no {MANIFEST}: it is not a finished snapshot; check the path or build it again",
            code="snapshot-not-finished",
            value=str(root),
        )
    hashes = {}
    for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), start=1):
        digest, gap, name = line.partition("  ")
        if len(digest) != 64 or not gap or not name:
            raise SnapshotError(
                f"{path}, line {number}: not a sha256 and a file name; fetch the snapshot again",
                code="manifest-line-unusable",
                value=number,
            )
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise SnapshotError(
                f"{path}, line {number}: {name} lies outside the snapshot; fetch the snapshot again",
                code="manifest-leads-outside",
                value=name,
            )
        if name in hashes:
            raise SnapshotError(
                f"{path}, line {number}: {name} is listed twice; fetch the snapshot again",
                code="manifest-lists-twice",
                value=name,
            )
        hashes[name] = digest
    return hashes


def verify(root: Path) -> dict[str, str]:
    """Check every file of the snapshot against its manifest and return the hashes; a hub's own files are passed over.

    Raises:
        SnapshotError: names the first file that is missing, altered or not listed.
    """
    hashes = read_manifest(root)
    for name, digest in hashes.items():
        if not (root / name).is_file():
            raise SnapshotError(
                f"{root / name} is in {MANIFEST} but not there: fetch the snapshot again",
                code="snapshot-file-missing",
                value=name,
            )
        if file_sha256(root / name) != digest:
            raise SnapshotError(
                f"{root / name} is not the file of {MANIFEST}: its bytes changed; fetch the snapshot again",
                code="snapshot-file-changed",
                value=name,
            )
    for name in _files(root):
        if name not in hashes and not (root / name).is_file():
            raise SnapshotError(
                f"{str(root / name)!a} is no file but a dangling link, a link to a folder, or a pipe; remove it",
                code="snapshot-holds-no-file",
                value=name,
            )
        if name not in hashes:
            raise SnapshotError(
                f"{ascii(str(root / name))[1:-1]} is not in {MANIFEST}: "
                "it is no part of the snapshot; move it elsewhere",
                code="snapshot-holds-stranger",
                value=name,
            )
    return hashes


@dataclass(frozen=True)
class Built:
    """A finished snapshot that may not yet lie under its name.

    Attributes:
        directory: Where its files are.
        target: Where they belong: a directory of the snapshot's name.
    """

    directory: Path
    target: Path


def publish(built: Built) -> Path:
    """Move a snapshot to its name by one rename, remove what the build has left, and return its directory."""
    if built.directory != built.target:
        os.rename(built.directory, built.target)
        shutil.rmtree(built.directory.parent)
    return built.target


def is_snapshot(directory: Path | str) -> bool:
    """Return whether a finished snapshot lies there: one with a manifest."""
    return (Path(directory) / MANIFEST).is_file()


def snapshot_directory(name: str, out_dir: str) -> Path:
    """Return a snapshot's directory: `name` itself if it has a slash, else `name` below `out_dir`."""
    return Path(name) if "/" in name else Path(out_dir) / name


def read_snapshot(directory: Path | str, config: str, split: str | None = None, *, check: bool = True) -> pd.DataFrame:
    """Return records of one config with their `split`, in client order; empty labels and dates are None.

    Raises:
        SnapshotError: the snapshot is not there, is altered (the message names the file), or has no such config or
            split.
    """
    columns = [*RECORD_COLUMNS, SPLIT_COLUMN]
    records = read_table(directory, config, "clients", split, columns=columns, check=check).to_pandas()
    records = records[columns].astype(object)
    for column in ("label", "date"):
        records[column] = records[column].where(records[column] != "", None)
    ordered: pd.DataFrame = records.sort_values("client_id", kind="stable", ignore_index=True)
    return ordered


def read_table(
    directory: Path | str,
    config: str,
    table: str,
    split: str | None = None,
    *,
    columns: list[str] | None = None,
    check: bool = True,
) -> pa.Table:
    """Read `clients` or `chunks` of one config: one split, or train, validation and test one after the other."""
    files = _table_files(Path(directory), config, table, split, check=check)
    return pa.concat_tables([pq.read_table(path, columns=columns) for path in files])


def iterate_rows(directory: Path | str, config: str, table: str, split: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table one by one, in a batch's memory; the snapshot is not verified again."""
    for path in _table_files(Path(directory), config, table, split, check=False):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(4096):
                yield from batch.to_pylist()


def provenance(directory: Path | str) -> dict[str, Any]:
    """Return the snapshot's provenance.json."""
    path = Path(directory) / "provenance.json"
    if not path.is_file():
        raise SnapshotError(
            f"{directory} has no provenance.json: it is not a snapshot; check the path",
            code="not-a-snapshot",
            value=str(directory),
        )
    value: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return value


def _table_files(directory: Path, config: str, table: str, split: str | None, *, check: bool) -> list[Path]:
    if check:
        verify(directory)
    configs = provenance(directory)["configs"]
    if config not in configs:
        raise SnapshotError(
            f"snapshot {directory} has no config {config!r}: choose one of {', '.join(configs)}",
            code="config-unknown-to-snapshot",
            value=config,
        )
    if split is not None and split not in configs[config]:
        raise SnapshotError(
            f"config {config} of {directory} has no split {split!r}: it has {', '.join(configs[config])}",
            code="split-unknown-to-config",
            value=split,
        )
    wanted = [split] if split else [name for name in SPLITS if name in configs[config]]
    return [path for name in wanted for path in sorted((directory / config / table).glob(f"{name}-*.parquet"))]

"""Reading a snapshot: verified first, then as records for the algorithms, as client rows, or row by row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from fedtext.corpora.records import RECORD_COLUMNS, SPLIT_COLUMN, SPLITS
from fedtext.largefedbench.manifest import SnapshotError, verify

if TYPE_CHECKING:
    import pandas as pd


def snapshot_directory(name: str, out_dir: str) -> Path:
    """Where a snapshot lies: `name` is a directory if it has a slash, else a name below `out_dir`."""
    return Path(name) if "/" in name else Path(out_dir) / name


def read_snapshot(directory: Path | str, config: str, split: str | None = None, *, check: bool = True) -> pd.DataFrame:
    """Records of one config with their `split`, in client order; empty labels and dates are None.

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
    """`clients` or `chunks` of one config: one split, or train, validation and test one after the other."""
    files = _table_files(Path(directory), config, table, split, check=check)
    return pa.concat_tables([pq.read_table(path, columns=columns) for path in files])


def iterate_rows(directory: Path | str, config: str, table: str, split: str | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a table one by one, in a batch's memory; the snapshot is not verified again."""
    for path in _table_files(Path(directory), config, table, split, check=False):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(4096):
                yield from batch.to_pylist()


def provenance(directory: Path | str) -> dict[str, Any]:
    """The snapshot's provenance.json."""
    path = Path(directory) / "provenance.json"
    if not path.is_file():
        raise SnapshotError(f"{directory} has no provenance.json: it is not a snapshot; check the path")
    value: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return value


def _table_files(directory: Path, config: str, table: str, split: str | None, *, check: bool) -> list[Path]:
    if check:
        verify(directory)
    configs = provenance(directory)["configs"]
    if config not in configs:
        raise SnapshotError(f"snapshot {directory} has no config {config!r}: choose one of {', '.join(configs)}")
    if split is not None and split not in configs[config]:
        raise SnapshotError(
            f"config {config} of {directory} has no split {split!r}: it has {', '.join(configs[config])}"
        )
    wanted = [split] if split else [name for name in SPLITS if name in configs[config]]
    return [path for name in wanted for path in sorted((directory / config / table).glob(f"{name}-*.parquet"))]

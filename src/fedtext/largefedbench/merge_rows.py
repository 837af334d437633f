"""Rows of sorted shards in one order: by client id, so by date, equal ids in page order.

Shards are opened only when the merge reaches their first client, so memory does not grow with their number.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from fedtext.largefedbench.schema import Row
from fedtext.largefedbench.shards import ROW_GROUP


def merged_rows(shards: Sequence[tuple[str, Path]], columns: Sequence[str] | None = None) -> Iterator[Row]:
    """Rows of all shards (given as (first client id, path)) by client id, which must be the first of `columns`."""
    front: list[tuple[str, int, Iterator[Row] | None, Row]] = [
        (first_id, number, None, ()) for number, (first_id, _) in enumerate(shards)
    ]
    heapq.heapify(front)
    while front:
        _, number, rows, row = front[0]
        if rows is None:
            rows = _rows(shards[number][1], columns)
        else:
            yield row
        following = next(rows, None)
        if following is None:
            heapq.heappop(front)
        else:
            heapq.heapreplace(front, (following[0], number, rows, following))


def _rows(path: Path, columns: Sequence[str] | None) -> Iterator[Row]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(ROW_GROUP, columns=list(columns) if columns else None):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

"""The tables of a snapshot: columns, types, and how a table becomes the same bytes every time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fedtext.largefedbench.near_duplicates import SIGNATURE_BYTES

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
    """Rows in, one parquet file out: fixed row groups, fixed encoding, no time and no path in the file."""

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
        """Write what is left, the file's own `metadata`, and finish the file."""
        if self.rows:
            self._flush()
        if metadata:
            self._writer.add_key_value_metadata(dict(metadata))
        self._writer.close()

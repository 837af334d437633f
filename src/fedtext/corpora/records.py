"""Table schemas shared by every corpus and every algorithm.

One row of `records` is one document of one client; one row of `samples` is one 64-token chunk of a record.
Whatever the source (docstrings, a CSV file, a LargeFedBench snapshot), it ends in these columns. A corpus that comes
with splits of its own adds `SPLIT_COLUMN`: one of `SPLITS` for each record, the same for all records of a client. One
that says which silo holds a record adds `SILO_COLUMN`.
"""

from __future__ import annotations

RECORD_COLUMNS = ("client_id", "text", "label", "date")
SAMPLE_COLUMNS = ("client_id", "index", "text", "label", "date", "n_tokens")
SYNTHETIC_COLUMNS = ("text", "prompt_id", "round", "label")
SPLIT_COLUMN = "split"
SILO_COLUMN = "silo"
SPLITS = ("train", "validation", "test")

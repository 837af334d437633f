"""Table schemas shared by every corpus and every algorithm.

One row of `records` is one document of one client; one row of `samples` is one 64-token chunk of a record.
Whatever the source (docstrings, a CSV file, a LargeFedBench snapshot), it ends in these columns.
"""

from __future__ import annotations

RECORD_COLUMNS = ("client_id", "text", "label", "date")
SAMPLE_COLUMNS = ("client_id", "index", "text", "label", "date", "n_tokens")
SYNTHETIC_COLUMNS = ("text", "prompt_id", "round", "label")
SPLITS = ("train", "validation", "test")

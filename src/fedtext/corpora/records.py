"""Records and samples: their columns, and how a record is cut into samples.

One row of `records` is one document of one client; one row of `samples` is one 64-token chunk of a record, in
`SAMPLE_COLUMNS`. Samples are successive spans of a fixed number of tokens. Every corpus ends in these columns, whatever
its source (docstrings, a CSV file, a LargeFedBench snapshot), and every algorithm reads them.

A corpus that comes with splits of its own adds `SPLIT_COLUMN`: one of `SPLITS` for each record, the same for all
records of a client. One that names the silo of a record adds `SILO_COLUMN`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fedtext.models.chunks import Chunk, chunks_by_tokens, tokenizable
from fedtext.params.corpus import Chunking
from fedtext.seeding import stream
from fedtext.system.missing import nullable

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


RECORD_COLUMNS = ("client_id", "text", "label", "date")
SAMPLE_COLUMNS = ("client_id", "index", "text", "label", "date", "n_tokens")
SYNTHETIC_COLUMNS = ("text", "prompt_id", "round", "label")
SPLIT_COLUMN = "split"
SILO_COLUMN = "silo"
SPLITS = ("train", "validation", "test")


def chunk_texts(
    texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, *, length: int, min_tokens: int
) -> list[list[Chunk]]:
    """Cut every text into successive chunks of `length` tokens, by character offsets so that no text is re-rendered.

    A chunk has fewer tokens where it would end inside a character, which goes to the next. A last chunk shorter than
    `min_tokens` is dropped unless it is the only one, so no non-blank text ends up empty.
    """
    if not texts:
        return []
    readable = [tokenizable(text) for text in texts]
    offsets = tokenizer(readable, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    return [chunks_by_tokens(len(spans), spans.__getitem__, length, min_tokens) for spans in offsets]


def sample_records(records: pd.DataFrame, tokenizer: PreTrainedTokenizerBase, chunking: Chunking) -> pd.DataFrame:
    """Cut every record into chunks; `index` counts a client's chunks over all its records, in record order.

    A chunk has its record's split where records have one (`SPLIT_COLUMN`).
    """
    chunks = chunk_texts(records["text"].tolist(), tokenizer, length=chunking.length, min_tokens=chunking.min_tokens)
    own = [name for name in (SPLIT_COLUMN,) if name in records]
    columns = (nullable(records[name]) for name in ("client_id", "text", "label", "date", *own))
    rows = [
        (client, text[chunk.start : chunk.end], label, date, *split, chunk.n_tokens)
        for client, text, label, date, *split, spans in zip(*columns, chunks, strict=True)
        for chunk in spans[: 1 if chunking.first_only else None]
    ]
    samples = pd.DataFrame(rows, columns=["client_id", "text", "label", "date", *own, "n_tokens"])
    return samples.assign(index=samples.groupby("client_id").cumcount())[[*SAMPLE_COLUMNS, *own]]


def spread_samples(samples: pd.DataFrame, most: int | None, draw: int = 0) -> pd.DataFrame:
    """Return at most `most` samples in their order, a random one of every client before a second of any; None: all.

    `draw` numbers independent draws.
    """
    if most is None or len(samples) <= most:
        return samples
    shuffled = samples.iloc[stream(draw, "spread samples").permutation(len(samples))]
    turns = shuffled.groupby("client_id").cumcount().to_numpy()
    first = shuffled.index[np.argsort(turns, kind="stable")[:most]]
    return samples.loc[np.sort(first)].reset_index(drop=True)

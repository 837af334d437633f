"""Records -> samples: one row a chunk, in the columns of fedtext.corpora.records.SAMPLE_COLUMNS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fedtext.corpora.chunking import chunk_texts
from fedtext.corpora.records import SAMPLE_COLUMNS, SPLIT_COLUMN
from fedtext.params.corpus import Chunking
from fedtext.seeding import stream
from fedtext.system.missing import nullable

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


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


def spread_samples(samples: pd.DataFrame, most: int | None) -> pd.DataFrame:
    """At most `most` samples, in their order: a random one of every client before a second of any. None: all."""
    if most is None or len(samples) <= most:
        return samples
    shuffled = samples.iloc[stream(0, "spread samples").permutation(len(samples))]
    turns = shuffled.groupby("client_id").cumcount().to_numpy()
    first = shuffled.index[np.argsort(turns, kind="stable")[:most]]
    return samples.loc[np.sort(first)].reset_index(drop=True)

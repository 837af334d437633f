"""Records -> samples: one row a chunk, in the columns of fedtext.corpora.records.SAMPLE_COLUMNS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fedtext.corpora.chunking import chunk_texts
from fedtext.corpora.records import SAMPLE_COLUMNS
from fedtext.params.corpus import Chunking
from fedtext.seeding import stream

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def sample_records(records: pd.DataFrame, tokenizer: PreTrainedTokenizerBase, chunking: Chunking) -> pd.DataFrame:
    """Cut every record into chunks; `index` counts a client's chunks over all its records, in record order."""
    chunks = chunk_texts(records["text"].tolist(), tokenizer, length=chunking.length, min_tokens=chunking.min_tokens)
    columns = (records[name].tolist() for name in ("client_id", "text", "label", "date"))
    rows = [
        (client, text[chunk.start : chunk.end], label, date, chunk.n_tokens)
        for client, text, label, date, spans in zip(*columns, chunks, strict=True)
        for chunk in spans
    ]
    samples = pd.DataFrame(rows, columns=["client_id", "text", "label", "date", "n_tokens"])
    return samples.assign(index=samples.groupby("client_id").cumcount())[list(SAMPLE_COLUMNS)]


def spread_samples(samples: pd.DataFrame, most: int | None) -> pd.DataFrame:
    """At most `most` samples, in their order: a random one of every client before a second of any. None: all."""
    if most is None or len(samples) <= most:
        return samples
    shuffled = samples.iloc[stream(0, "spread samples").permutation(len(samples))]
    turns = shuffled.groupby("client_id").cumcount().to_numpy()
    first = shuffled.index[np.argsort(turns, kind="stable")[:most]]
    return samples.loc[np.sort(first)].reset_index(drop=True)

"""Private records from a table of the user's own."""

import pandas as pd

from fedtext.corpora.table import read_table
from fedtext.params.corpus import Corpus


def read_private_table(corpus: Corpus) -> pd.DataFrame:
    """Records of the CSV, Parquet or JSONL file `corpus.path`, at most `corpus.max_clients` clients of it."""
    records = read_table(corpus)
    if corpus.max_clients is None:
        return records
    kept = records["client_id"].drop_duplicates().head(corpus.max_clients)
    return records[records["client_id"].isin(kept)].reset_index(drop=True)

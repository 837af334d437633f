"""Private records from a table of the user's own."""

import pandas as pd

from fedtext.corpora.enrolment import taken_clients
from fedtext.corpora.table import read_table, refuse_private_rows
from fedtext.params.corpus import Corpus
from fedtext.params.privacy import Privacy


def read_private_table(corpus: Corpus, privacy: Privacy) -> pd.DataFrame:
    """Records of the CSV, Parquet or JSONL file `corpus.path`, of about `corpus.max_clients` clients of it."""
    records = read_table(corpus)
    if corpus.public_path is not None:
        refuse_private_rows(records["text"].tolist(), corpus.public_path, corpus.text_column)
    return taken_clients(records, corpus, privacy)

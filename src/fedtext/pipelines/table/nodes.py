"""Private records from a table of the user's own."""

import pandas as pd

from fedtext.corpora.enrolment import taken_clients
from fedtext.corpora.table import read_table
from fedtext.params.corpus import Corpus
from fedtext.params.privacy import Privacy


def read_private_table(corpus: Corpus, privacy: Privacy) -> pd.DataFrame:
    """Records of the CSV, Parquet or JSONL file `corpus.path`, of about `corpus.max_clients` clients of it."""
    return taken_clients(read_table(corpus), corpus, privacy)

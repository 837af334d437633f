"""Private records from the standard library's docstrings."""

import pandas as pd

from fedtext.corpora.public import stdlib_records
from fedtext.params.corpus import Corpus


def read_private_docstrings(corpus: Corpus) -> pd.DataFrame:
    """Records of the running interpreter's standard library, at most `corpus.max_clients` of them."""
    return stdlib_records(corpus).iloc[: corpus.max_clients]

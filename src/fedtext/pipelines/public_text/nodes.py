"""Public text for prompts and controls."""

import pandas as pd

from fedtext.corpora.public import public_records
from fedtext.params.corpus import Corpus


def read_public_records(corpus: Corpus) -> pd.DataFrame:
    """`corpus.public_texts` public records: third-party docstrings, or the table `corpus.public_path`."""
    return public_records(corpus, max_texts=corpus.public_texts)

"""Private records from the standard library's docstrings."""

import pandas as pd

from fedtext.corpora.enrolment import taken_clients
from fedtext.corpora.public import stdlib_records
from fedtext.params.corpus import Corpus
from fedtext.params.privacy import Privacy


def read_private_docstrings(corpus: Corpus, privacy: Privacy) -> pd.DataFrame:
    """Records of the running interpreter's standard library, of about `corpus.max_clients` objects."""
    return taken_clients(stdlib_records(corpus), corpus, privacy)

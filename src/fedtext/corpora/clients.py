"""What a client of a corpus is, in words: whom `privacy.unit: client` protects, said before a run and in its report."""

from __future__ import annotations

from pathlib import Path

from fedtext.corpora.columns import column_names, looks_like_owner
from fedtext.corpora.published.known import PUBLISHED
from fedtext.params.corpus import PUBLISHED_NAMES, Corpus, Partition


def client_of(corpus: Corpus, partition: Partition) -> str | None:
    """As `each value of column 'patient_id'` or `each row`; None of the stand-ins that ship.

    Of a table the names of its columns are read and no row; None, too, where they cannot be, or will be refused.
    """
    if not corpus.has_path or corpus.path is None:
        return None
    if partition.method != "natural":
        return f"made up by partition.method={partition.method}"
    if corpus.source in PUBLISHED_NAMES:
        return PUBLISHED[corpus.source].unit
    names = column_names(Path(corpus.path).expanduser())
    if corpus.client_column in names:
        alike = ", those that look alike being one" if corpus.client_ids == "folded" else ""
        return f"each value of column '{corpus.client_column}'{alike}"
    refused = corpus.client_column is not None and any(map(looks_like_owner, names))
    return "each row" if names and not refused else None

"""Public text: the docstrings of the installed packages, or a table of the user's own."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fedtext.corpora.docstrings import Docstring, package_roots, private_docstrings, public_docstrings, stdlib_root
from fedtext.corpora.records import RECORD_COLUMNS
from fedtext.corpora.table import read_public_table
from fedtext.params.corpus import DOCSTRING_COLUMNS, Corpus
from fedtext.params.task import joined
from fedtext.seeding import stream


def docstring_records(docstrings: list[Docstring], code_columns: Sequence[str] = ()) -> pd.DataFrame:
    """One record an object: the object is the client; docstrings carry no date.

    The label is the object's top-level package, or the control code of `code_columns` (`DOCSTRING_COLUMNS`).
    """
    columns = code_columns or DOCSTRING_COLUMNS[:1]
    rows = [(doc.name, doc.text, joined([getattr(doc, column) for column in columns]), None) for doc in docstrings]
    return pd.DataFrame(rows, columns=list(RECORD_COLUMNS))


def stdlib_records(corpus: Corpus) -> pd.DataFrame:
    """Records of the running interpreter's standard library: the private text of the offline corpus."""
    found = private_docstrings(stdlib_root(), min_chars=corpus.min_chars, first_paragraph=corpus.paragraphs == "first")
    records = docstring_records(found, _code_columns(corpus))
    return records.drop_duplicates("client_id", ignore_index=True)


def public_records(corpus: Corpus, *, max_texts: int | None = None) -> pd.DataFrame:
    """Public records: `corpus.public_path` if given, else third-party docstrings; at most `max_texts` of them.

    Raises:
        FileNotFoundError: `corpus.public_path` is no file.
        ValueError: it cannot be read (`read_public_table`). That it is not the private table is checked before a run.
    """
    if corpus.public_path is not None:
        table = read_public_table(corpus)
        return table if max_texts is None else table.iloc[stream(0, "public texts").permutation(len(table))[:max_texts]]
    found = public_docstrings(
        package_roots(),
        min_chars=corpus.min_chars,
        max_texts=max_texts,
        max_chars_per_package=corpus.public_chars_per_package,
        first_paragraph=corpus.paragraphs == "first",
    )
    return docstring_records(found, _code_columns(corpus))


def _code_columns(corpus: Corpus) -> tuple[str, ...]:
    """Those of docstrings: the columns of a table say nothing of them."""
    return corpus.code_columns if corpus.source == "docstrings" else ()

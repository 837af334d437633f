"""Public text and public prompts.

- Public text: the docstrings of the installed packages, or a table of the user's own.
- Public prompts, to which candidates are written: a table's, those of a published data set (Alpaca's instructions,
  PKU-SafeRLHF's prompts, XSum's articles), or questions about Python.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from pathlib import Path

import pandas as pd

from fedtext.corpora.columns import column_names
from fedtext.corpora.docstrings import Docstring, package_roots, private_docstrings, public_docstrings, stdlib_root
from fedtext.corpora.formats import JsonError
from fedtext.corpora.published.known import FormError
from fedtext.corpora.published.loader import format_error
from fedtext.corpora.published.readers import Reader, alpaca, objects, safe_rlhf, xsum
from fedtext.corpora.records import RECORD_COLUMNS
from fedtext.corpora.table import existing_table, read_public_table
from fedtext.params.corpus import DOCSTRING_COLUMNS, Corpus
from fedtext.params.task import joined
from fedtext.seeding import stream
from fedtext.system.errors import InputError, MissingFileError
from fedtext.system.remote_files import local_path


def docstring_records(docstrings: list[Docstring], code_columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return one record an object: the object is the client; docstrings carry no date.

    The label is the object's top-level package, or the control code of `code_columns` (`DOCSTRING_COLUMNS`).
    """
    columns = code_columns or DOCSTRING_COLUMNS[:1]
    rows = [(doc.name, doc.text, joined([getattr(doc, column) for column in columns]), None) for doc in docstrings]
    return pd.DataFrame(rows, columns=list(RECORD_COLUMNS))


def stdlib_records(corpus: Corpus) -> pd.DataFrame:
    """Return the records of the running interpreter's standard library: the private text of the offline corpus."""
    found = private_docstrings(stdlib_root(), min_chars=corpus.min_chars, first_paragraph=corpus.paragraphs == "first")
    records = docstring_records(found, _code_columns(corpus))
    return records.drop_duplicates("client_id", ignore_index=True)


def public_records(corpus: Corpus, *, max_texts: int | None = None) -> pd.DataFrame:
    """Return at most `max_texts` public records: `corpus.public_path` if given, else third-party docstrings.

    A separate check before a run makes sure that this is not the private table.

    Raises:
        FileNotFoundError: `corpus.public_path` is no file.
        ValueError: It cannot be read (`read_public_table`).
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
    """Return the code columns of docstrings; the columns of a table do not apply to them."""
    return corpus.code_columns if corpus.source == "docstrings" else ()


OBJECTS = (".json", ".json.gz", ".jsonl.gz")  # no tables
# What objects have of data sets whose texts are prompts, and who reads them.
PROMPTS: tuple[tuple[str, Reader], ...] = (
    ("instruction output", alpaca),
    ("prompt response_0 response_1", safe_rlhf),
    ("document summary id", xsum),
)


def public_prompts(corpus: Corpus, count: int, seed: int) -> pd.DataFrame:
    """Return at most `count` different prompts, drawn at random: columns `prompt_id`, `prompt`.

    Raises:
        FileNotFoundError: `corpus.public_path` is no file.
        ValueError: It cannot be read, or holds no prompt.
    """
    found = _named(corpus) if corpus.public_path is not None else _asked(corpus, count)
    distinct = list(dict.fromkeys(text.strip() for text in found if text.strip()))
    if not distinct:
        raise InputError(
            f"corpus.public_path {corpus.public_path} holds no prompt: give a file of some",
            code="no-public-prompts",
            parameter="corpus.public_path",
            value=str(corpus.public_path),
        )
    drawn = stream(seed, "public prompts").permutation(len(distinct))[:count]
    return pd.DataFrame({"prompt_id": range(len(drawn)), "prompt": [distinct[row] for row in drawn]})


def held_out(prompts: pd.DataFrame, trained: Collection[str], count: int) -> pd.DataFrame:
    """Return the first `count` of the prompts that are not among `trained`, numbered anew.

    Raises:
        ValueError: All of them are.
    """
    left = prompts[~prompts["prompt"].isin(trained)].head(count).reset_index(drop=True)
    if left.empty:
        raise InputError(
            f"all {len(prompts)} public prompts are trained on, so none is left to answer: lower dpprefsyn.prompts, or "
            "set policies.win_rate to false",
            code="no-public-prompt-left",
        )
    return left.assign(prompt_id=range(len(left)))


def explanation_of(name: str) -> str:
    """Return the prompt that asks about an object of Python by its dotted name."""
    return f"Explain what {name} does."


def _named(corpus: Corpus) -> list[str]:
    path = Path(local_path(str(corpus.public_path), "corpus.public_path")).expanduser()
    if not path.name.endswith(OBJECTS):
        names = set(column_names(existing_table(str(path), "corpus.public_path")))
        reader = None if corpus.text_column in names else _reader_of(names)
        return list(read_public_table(corpus)["text"]) if reader is None else _prompts(path, reader)
    if not path.is_file():
        raise MissingFileError(
            f"corpus.public_path {path} is not a file: check the path (relative to {Path.cwd()})",
            code="missing-public-file",
            parameter="corpus.public_path",
            value=str(path),
        )
    return _prompts(path, None)


def _prompts(path: Path, reader: Reader | None) -> list[str]:
    """Return the prompts of a published data set's file, by its reader, or by the one that its first object tells."""
    try:
        if reader is None:
            _, first = next(iter(objects(path)), (0, {}))
            reader = _reader_of(set(first) if isinstance(first, Mapping) else set())
        return [row.text for row in (reader or alpaca)(path)]
    except (FormError, JsonError) as error:
        form = (
            "objects with instruction, input and output (Alpaca), prompt, response_0 and response_1 (PKU-SafeRLHF), or "
            "document, summary and id (XSum)"
        )
        raise format_error(path, error, "corpus.public_path", form, "a table of prompts") from None


def _reader_of(names: Set[str]) -> Reader | None:
    """Return the reader of the published data set whose objects have these names; None if it is none."""
    return next((reader for own, reader in PROMPTS if set(own.split()) <= names), None)


def _asked(corpus: Corpus, count: int) -> list[str]:
    """Return prompts about objects of installed packages, without the text of their docstrings."""
    found = public_docstrings(
        package_roots(),
        min_chars=corpus.min_chars,
        max_texts=count,
        max_chars_per_package=corpus.public_chars_per_package,
    )
    return [explanation_of(one.name) for one in found]

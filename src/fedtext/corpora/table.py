"""The user's own table as a corpus: CSV, Parquet (also in parts) or JSON Lines with a text column.

Every fault of a file is found here, before any long work, and reported in one sentence that names the file, the column,
the rows and the remedy. Rows are numbered as a person finds them (fedtext.corpora.formats). No message quotes the
table's content.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from fedtext.corpora.clients import client_ids
from fedtext.corpora.columns import USUAL, chosen_codes, chosen_columns, column_names, format_of, kind_of, parquet_parts
from fedtext.corpora.formats import READERS
from fedtext.corpora.records import SILO_COLUMN
from fedtext.corpora.row_values import (
    day,
    digest_names,
    name_of,
    optional,
    record_table,
    validate_unicode,
    validate_values,
)
from fedtext.params.corpus import ClientIds, Corpus
from fedtext.params.task import BETWEEN_PARTS, joined
from fedtext.system.errors import InputError, MissingFileError
from fedtext.system.missing import as_read, is_blank, missing
from fedtext.system.remote_files import is_address, local_path, shown

COPIED = 0.2  # share of public texts that may stand in the private table by chance: short answers, boilerplate
FEWEST = 10  # different texts of a private table
_SHEET = (
    "Save its sheet as 'CSV UTF-8', or run: pip install python-calamine && python -c 'import sys, pandas; "
    'pandas.read_excel(sys.argv[1], dtype=str, engine="calamine").to_csv(sys.argv[2], index=False)\' {name} {new}.csv'
)
CONVERTED = {  # what makes a table of a file, by its suffix
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), _SHEET),
    ".txt": "If a header and columns stand in it, name it so: mv {name} {new}.tsv (columns with tabs) or {new}.csv",
    ".zip": "Unpack it: unzip {name}",
    ".bz2": "Unpack it: bunzip2 --keep {name}",
    ".xz": "Unpack it: xz --decompress --keep {name}",
    ".json": "Write an object a line: python -c 'import json, sys; [print(json.dumps(row)) for row in "
    'json.load(open(sys.argv[1], encoding="utf-8-sig"))]\' {name} > {new}.jsonl',
}


def read_table(params: Corpus) -> pd.DataFrame:
    """Read the records of `params.path`, in file order.

    Their columns are `client_id`, `text`, `label`, `date`, and `silo` if there is one. Only the text column is
    required. Without a client column, or with `params.client_column` None, each row is a client, named by a digest of
    its content, so that adding or removing a row leaves the other names. A label or date that is absent or empty is
    None. An ISO date or time becomes an ISO date, other dates stay text. With `params.code_columns` the label is the
    control code of these columns, None if one of them is empty.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is of another kind, damaged or empty; a column is absent, misspelt or there twice; a text
            or client id is missing; a code holds a TAB; or there is only one client.
    """
    if params.path is None:
        raise InputError(
            "corpus.path is not set: corpus.source 'table' needs a CSV, Parquet or JSON Lines file",
            code="table-not-set",
            parameter="corpus.path",
        )
    named = {field: column for field in USUAL if (column := getattr(params, field)) is not None}
    path = existing_table(params.path, "corpus.path")
    records = _records(named, path, tuple(named), params.code_columns, params.client_ids)
    if len(records) < 2:
        raise InputError(
            f"{params.path} holds one row only: nobody to hide among; give a file of more texts", code="one-row"
        )
    if records["client_id"].nunique() < 2:
        raise InputError(
            f"{params.path}: column '{params.client_column}' names one client only: nobody to hide among. Name another "
            "column by corpus.client_column, or set corpus.client_column=null if each row is a client of its own",
            code="one-client",
            parameter="corpus.client_column",
            value=params.client_column,
        )
    return records


def validate_header(params: Corpus, path: Path) -> None:
    """Raise ValueError if the file's head lacks columns that `read_table` will ask for; no row is read.

    A head that cannot be read is left to `read_table`, which says why.
    """
    if names := column_names(path):
        named = {field: column for field in USUAL if (column := getattr(params, field)) is not None}
        in_every_row = format_of(path) != ".jsonl"  # there the first line need not have what may be absent
        fields = [field for field in named if in_every_row or field in ("text_column", "client_column")]
        if params.code_columns and in_every_row:
            fields.remove("label_column")
            chosen_codes(params.code_columns, path, names)
        chosen_columns(named, fields, path, names)


def validate_texts(records: pd.DataFrame, path: str, text_column: str) -> None:
    """Raise ValueError for texts from which nothing can be learned: a few repeated ones, or numbers."""
    texts = records["text"].unique().tolist()
    where = f"{path}, column '{text_column}'"
    if len(texts) < FEWEST:
        raise InputError(
            f"{where}: fewer than {FEWEST} different texts: give a file of more", code="too-few-different-texts"
        )
    if not any(letter.isalpha() for text in texts for letter in text):
        raise InputError(
            f"{where}: no text holds a letter: name the column of the texts by corpus.text_column",
            code="texts-without-letters",
            parameter="corpus.text_column",
        )


def validate_private_rows(private: Sequence[str], params: Corpus) -> None:
    """Raise ValueError if `params.public_path` holds many of the private texts: all of it would be revealed."""
    if params.public_path is None:
        return
    public = set(read_public_table(params)["text"].map(as_read))
    if len(public.intersection(map(as_read, private))) > COPIED * len(public):
        raise InputError(
            f"corpus.public_path {params.public_path} holds the private table's texts, and all its texts would be "
            "public: name a file of public texts, or leave it unset",
            code="public-texts-are-private",
            parameter="corpus.public_path",
        )


def read_public_table(params: Corpus) -> pd.DataFrame:
    """Read the texts and labels of the file `params.public_path`; each row is a text of its own.

    Its columns are named as the private table's. If it lacks the label columns, a column `label` is used, if there is
    one.

    Raises:
        OSError: There is no such file, or none can be fetched from that address.
        ValueError: None is named, or as for `read_table`, of these columns.
    """
    if params.public_path is None:
        raise InputError(
            "corpus.public_path is not set: name a table of public texts",
            code="public-table-not-set",
            parameter="corpus.public_path",
        )
    path = existing_table(local_path(params.public_path, "corpus.public_path"), "corpus.public_path")
    names = column_names(path)
    label = params.label_column if params.label_column in names else USUAL["label_column"]
    codes = params.code_columns if set(params.code_columns) <= set(names) else ()
    named = {**USUAL, "text_column": params.text_column, "label_column": label}
    return _records(named, path, ("text_column", "label_column"), codes)


def _records(
    named: Mapping[str, str], path: Path, fields: Sequence[str], codes: Sequence[str], ids: ClientIds = None
) -> pd.DataFrame:
    """Return the records of the columns that `fields` are `named`; other columns of the file are not read.

    Args:
        named: Column names by field.
        path: The file.
        fields: The fields to read.
        codes: Columns of control codes, which then replace the label's.
        ids: `corpus.client_ids`.
    """
    fields = [field for field in fields if not codes or field != "label_column"]

    def choose(names: list[str]) -> list[str]:
        return list(dict.fromkeys([*chosen_columns(named, fields, path, names), *chosen_codes(codes, path, names)]))

    table = READERS[format_of(path)](path, choose)
    if not len(table):
        raise InputError(f"{path} holds no rows: give a file with texts", code="no-rows", value=str(path))
    held: dict[str, Sequence[str | None]] = {
        "text": _texts(named, table, path),
        "label": _codes(codes, table, path) if codes else optional(table, named["label_column"], name_of),
        "date": optional(table, named["date_column"], day),
    }
    column = named["silo_column"]
    silo = {SILO_COLUMN: _names(column, table, path, ids)} if column in table.columns else {}
    if (owner := named.get("client_column")) and owner in table.columns:
        owners = _names(owner, table, path, ids)
    else:
        owners = digest_names(
            *held.values(), *silo.values()
        )  # without silos, removing a row would rename another silo's equal one
    return record_table(owners, held, path, table.index).assign(**silo)


def _codes(columns: Sequence[str], table: pd.DataFrame, path: Path) -> list[str | None]:
    """Return the control code of each row; None if a part of it is absent or empty."""
    for column in columns:
        validate_values(table[column], _has_tab, f"{path}, column '{column}'", "a TAB, which stands between parts")
    parts = zip(*(optional(table, column, name_of) for column in columns), strict=True)
    return [None if None in row else joined([value for value in row if value is not None]) for row in parts]


def _has_tab(value: object) -> bool:
    return isinstance(value, str) and BETWEEN_PARTS in value


def _converted(path: Path) -> str:
    """Return how a file of another kind becomes a table, in one command; empty where nothing is known of it."""
    remedy = CONVERTED.get(path.suffix.lower(), "")
    return remedy and f". {remedy.format(name=shlex.quote(str(path)), new=shlex.quote(str(path.with_suffix(''))))}"


def existing_table(name: str, asked_by: str) -> Path:
    """Return the path of the file, or of the directory of Parquet parts, that `asked_by` names, without reading it.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is of another kind, or empty.
    """
    if is_address(name):
        raise InputError(
            f"{asked_by} {shown(name)} is an address: private text is read from a file or folder of this machine",
            code="private-table-at-address",
            parameter=asked_by,
        )
    path = Path(name).expanduser()
    if path.is_dir():
        if not parquet_parts(path):
            raise MissingFileError(
                f"{asked_by} {path} is not a file, nor a directory of .parquet files: name either",
                code="directory-without-parts",
                parameter=asked_by,
                value=str(path),
            )
        return path
    if not path.is_file():
        raise MissingFileError(
            f"{asked_by} {path} is not a file: check the path (relative to {Path.cwd()})",
            code="missing-table",
            parameter=asked_by,
            value=str(path),
        )
    if format_of(path) not in READERS:
        raise InputError(
            f"{path} has the unknown suffix '{path.suffix}': use one of {', '.join(READERS)}{_converted(path)}",
            code="unknown-suffix",
            value=path.suffix,
        )
    if not os.access(path, os.R_OK):
        raise InputError(
            f"{asked_by} {path} cannot be read: change its rights",
            code="table-unreadable",
            parameter=asked_by,
            value=str(path),
        )
    if not path.stat().st_size:
        raise InputError(f"{path} is empty: give a file with texts", code="empty-table", value=str(path))
    if format_of(path) != ".parquet" and (kind := kind_of(path)):
        raise InputError(f"{path} is {kind}, whatever its name says", code="another-kind-of-file", value=str(path))
    return path


def _texts(named: Mapping[str, str], table: pd.DataFrame, path: Path) -> list[str]:
    texts = table[named["text_column"]]
    where = f"{path}, column '{named['text_column']}'"
    validate_values(
        texts, lambda text: missing(text) or (isinstance(text, str) and is_blank(text)), where, "empty text"
    )
    validate_values(
        texts,
        lambda text: not isinstance(text, str),
        where,
        "a value that is not text",
        "write each as one text, or name the column of the texts by corpus.text_column",
    )
    return texts.tolist()


def _names(column: str, table: pd.DataFrame, path: Path, mode: ClientIds) -> list[str]:
    """Return the ids of clients or of silos in a column, one in every row."""
    ids, where = table[column], f"{path}, column '{column}'"
    validate_values(ids, lambda one: missing(one) or is_blank(str(one)), where, "no id")
    validate_values(ids, lambda one: isinstance(one, list | tuple | dict), where, "several ids or none, not one")
    validate_values(ids, lambda one: isinstance(one, bytes), where, "bytes, not text")
    names = [name_of(one) for one in ids]
    validate_unicode({column: names}, path, table.index)
    return client_ids(names, mode, where)

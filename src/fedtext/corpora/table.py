"""Your own table as a corpus: CSV, Parquet or JSON Lines with a text column.

Everything that can be wrong with a file is found here, before any long work, and said in one sentence that names the
file, the column, the rows and the remedy. Rows count from 1, headers excluded. No message quotes the table's content.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from fedtext.corpora.columns import USUAL, Chooser, chosen_columns, other_delimiter
from fedtext.corpora.records import RECORD_COLUMNS
from fedtext.params.corpus import Corpus
from fedtext.system.errors import InputError, MissingFileError

ROWS_NAMED = 5
COPIED = 0.2  # share of public texts that may stand in the private table by chance: short answers, boilerplate
FEWEST = 10  # different texts of a private table


def read_table(params: Corpus) -> pd.DataFrame:
    """Records (`client_id`, `text`, `label`, `date`) of the file `params.path`, in file order.

    Only the text column is required. Without a client column each row is a client, named by a digest of what it holds,
    so that a row more or less leaves the others their names. A label or date that is absent or empty is None; what
    reads as an ISO date or time becomes an ISO date, other dates stay text.

    Raises:
        FileNotFoundError: no such file.
        ValueError: the file is of another kind, damaged or empty; a column is absent, misspelt or there twice; a text
            or client id is missing; or there is only one client.
    """
    if params.path is None:
        raise InputError("corpus.path is not set: corpus.source 'table' needs a CSV, Parquet or JSON Lines file")
    named = {field: getattr(params, field) for field in USUAL}
    records = _records(named, existing_table(params.path, "corpus.path"), tuple(USUAL))
    if len(records) < 2:
        raise InputError(f"{params.path} holds one row only: nobody to hide among; give a file of more texts")
    if records["client_id"].nunique() < 2:
        raise InputError(
            f"{params.path}: column '{params.client_column}' names one client only: nobody to hide among. Name another "
            "column by corpus.client_column, or drop it to make each row a client"
        )
    return records


def refuse_unfit_texts(records: pd.DataFrame, path: str, text_column: str) -> None:
    """Raise ValueError for texts that nothing can be learned from: a few again and again, or numbers."""
    texts = records["text"].unique().tolist()
    where = f"{path}, column '{text_column}'"
    if len(texts) < FEWEST:
        told = "1 text" if len(texts) == 1 else f"{len(texts)} different texts"
        raise InputError(f"{where}: {told} in {len(records)} rows: give at least {FEWEST} different ones")
    if not any(letter.isalpha() for text in texts for letter in text):
        raise InputError(f"{where}: no text holds a letter: name the column of the texts by corpus.text_column")


def refuse_private_rows(private: Sequence[str], public_path: str, text_column: str) -> None:
    """Raise ValueError if the file `public_path` holds many of the private texts: all of it would be shown."""
    public = set(read_public_table(public_path, text_column)["text"])
    if len(public.intersection(private)) > COPIED * len(public):
        raise InputError(
            f"corpus.public_path {public_path} holds the private table's texts, and all its texts would be public: "
            "name a file of public texts, or leave it unset"
        )


def read_public_table(path: str, text_column: str) -> pd.DataFrame:
    """Records of the file `path`, as `read_table`, of its texts and labels alone: each row is a text of its own.

    Raises:
        FileNotFoundError: no such file.
        ValueError: as for `read_table`, of these two columns.
    """
    named = {**USUAL, "text_column": text_column}
    return _records(named, existing_table(path, "corpus.public_path"), ("text_column", "label_column"))


def _records(named: Mapping[str, str], path: Path, fields: Sequence[str]) -> pd.DataFrame:
    """Records of the columns that `fields` are `named`; the other columns of the file are not looked at."""
    table = _READERS[path.suffix.lower()](path, partial(chosen_columns, named, fields, path))
    if not len(table):
        raise InputError(f"{path} holds no rows: give a file with texts")
    held: dict[str, Sequence[str | None]] = {
        "text": _texts(named, table, path),
        "label": _optional(table, named["label_column"], _name),
        "date": _optional(table, named["date_column"], _day),
    }
    owners = _client_ids(named, table, path) if named["client_column"] in table.columns else _own_names(*held.values())
    records = pd.DataFrame({"client_id": owners, **held}, columns=list(RECORD_COLUMNS), dtype=object)
    for column in RECORD_COLUMNS:
        _refuse(
            records[column].tolist(), _half_surrogate, f"{path}, {column}", "half a surrogate pair, not Unicode text,"
        )
    return records


def existing_table(name: str, asked_by: str) -> Path:
    """The file that the parameter `asked_by` names, of which nothing is read.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it is of another kind, or empty.
    """
    path = Path(name).expanduser()
    if not path.is_file():
        raise MissingFileError(f"{asked_by} {path} is not a file: check the path (relative to {Path.cwd()})")
    if path.suffix.lower() not in _READERS:
        raise InputError(f"{path} has the unknown suffix '{path.suffix}': use one of {', '.join(_READERS)}")
    if not os.access(path, os.R_OK):
        raise InputError(f"{asked_by} {path} cannot be read: change its rights")
    if not path.stat().st_size:
        raise InputError(f"{path} is empty: give a file with texts")
    return path


def _read_csv(path: Path, choose: Chooser) -> pd.DataFrame:
    _check_utf8(path)
    try:
        # Read as a header, the first line may be shorter than the others, and a name that comes twice is changed.
        rows = pd.read_csv(path, dtype=str, keep_default_na=False, header=None, encoding="utf-8-sig")
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        if mark := other_delimiter(_first_line(path)):
            raise InputError(f"{path} seems to be separated by {mark}: write the file with commas") from None
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise InputError(f"{path} is not valid CSV ({reason}): quote texts that hold commas or line breaks") from None
    names = rows.iloc[0].tolist()
    return rows.iloc[1:].set_axis(names, axis="columns")[choose(names)]


def _read_parquet(path: Path, choose: Chooser) -> pd.DataFrame:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            columns = choose(file.schema_arrow.names)  # a pandas index among them
            table = file.read(columns=columns)
    except (pyarrow.ArrowException, OSError):
        raise InputError(f"{path} is not a readable Parquet file: write it again") from None
    return pd.DataFrame({name: table[name].to_pylist() for name in columns}, dtype=object)


def _read_jsonl(path: Path, choose: Chooser) -> pd.DataFrame:
    _check_utf8(path)
    rows = []
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(f"{path}, line {number}: not valid JSON at column {error.colno}") from None
            except (ValueError, RecursionError):
                raise InputError(f"{path}, line {number}: a number too long or nesting too deep: shorten it") from None
            if not isinstance(row, dict):
                raise InputError(f"{path}, line {number}: not a JSON object: write one object of columns a line")
            rows.append(row)
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pd.DataFrame(rows, columns=choose(names) if rows else None, dtype=object)


_READERS: dict[str, Callable[[Path, Chooser], pd.DataFrame]] = {
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".jsonl": _read_jsonl,
}


def _check_utf8(path: Path) -> None:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path}, line {number}, byte {error.start + 1}: not UTF-8. Save the file with that encoding"
                ) from None


def _first_line(path: Path) -> str:
    with path.open(encoding="utf-8-sig") as lines:
        return next(lines, "")


def _texts(named: Mapping[str, str], table: pd.DataFrame, path: Path) -> list[str]:
    texts = table[named["text_column"]].tolist()
    where = f"{path}, column '{named['text_column']}'"
    _refuse(texts, lambda text: _missing(text) or (isinstance(text, str) and not text.strip()), where, "empty text")
    _refuse(texts, lambda text: not isinstance(text, str), where, "a value that is not text")
    return texts


def _client_ids(named: Mapping[str, str], table: pd.DataFrame, path: Path) -> list[str]:
    ids = table[named["client_column"]].tolist()
    _refuse(
        ids, lambda one: _missing(one) or not str(one).strip(), f"{path}, column '{named['client_column']}'", "no id"
    )
    return [_name(one) for one in ids]


def _own_names(*columns: Sequence[str | None]) -> list[str]:
    """A name for every row that is a client of its own: a digest of what it holds, equal rows numbered."""
    rows = (json.dumps(row).encode() for row in zip(*columns, strict=True))
    digests = [hashlib.sha256(row).hexdigest()[:20] for row in rows]
    seen: Counter[str] = Counter()
    names = []
    for one in digests:
        seen[one] += 1
        names.append(one if seen[one] == 1 else f"{one}-{seen[one]}")
    return names


def _optional(table: pd.DataFrame, column: str, as_text: Callable[[object], str]) -> list[str | None]:
    values = table[column].tolist() if column in table.columns else [None] * len(table)
    return [None if _missing(value) or not str(value).strip() else as_text(value) for value in values]


def _name(value: object) -> str:
    """The value as text: the number 1.0 is the name 1, for JSON writes either."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _day(value: object) -> str:
    """The ISO date of what is, or reads as, an ISO date or time; other text as it is."""
    try:
        return datetime.datetime.fromisoformat(str(value)).date().isoformat()
    except ValueError:
        return str(value)


def _refuse(values: list[object], wrong: Callable[[object], bool], where: str, what: str) -> None:
    rows = [row for row, value in enumerate(values, start=1) if wrong(value)]
    if rows:
        named = ", ".join(map(str, rows[:ROWS_NAMED])) + (", ..." if len(rows) > ROWS_NAMED else "")
        raise InputError(f"{where}: {what} in {len(rows)} rows (rows {named}): fix or delete them")


def _missing(value: object) -> bool:
    return value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and value != value)


def _half_surrogate(text: object) -> bool:
    try:
        str(text).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False

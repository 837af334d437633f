"""Your own table as a corpus: CSV, Parquet or JSON Lines with a text column.

Everything that can be wrong with a file is found here, before any long work, and said in one sentence that names the
file, the column, the rows and the remedy. Rows count from 1, headers excluded. No message quotes the table's content.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from fedtext.params.corpus import Corpus
from fedtext.records import RECORD_COLUMNS

ROWS_NAMED = 5


def read_table(params: Corpus, *, asked_by: str = "corpus.path") -> pd.DataFrame:
    """Records (`client_id`, `text`, `label`, `date`) of the file `params.path`, in file order.

    `asked_by` is the parameter that names the file, for messages.

    Only the text column is required. Without a client column each row is a client, named by its row number. A label or
    date that is absent or empty is None; dates stay text.

    Raises:
        FileNotFoundError: no such file.
        ValueError: the file is of another kind, damaged or empty; a column is absent; a text or client id is missing;
            or there is only one client.
    """
    path = _existing_path(params, asked_by)
    table = _READERS[path.suffix.lower()](path)
    if not len(table):
        raise ValueError(f"{path} holds no rows: give a file with at least two clients")
    _check_columns(params, table, path)
    records = pd.DataFrame(
        {
            "client_id": _client_ids(params, table, path),
            "text": _texts(params, table, path),
            "label": _optional(table, params.label_column),
            "date": _optional(table, params.date_column),
        },
        columns=list(RECORD_COLUMNS),
        dtype=object,
    )
    for column in RECORD_COLUMNS:
        _refuse(
            records[column].tolist(), _half_surrogate, f"{path}, {column}", "half a surrogate pair, not Unicode text,"
        )
    if records["client_id"].nunique() < 2:
        raise ValueError(
            f"{path}: column '{params.client_column}' names one client only: nobody to hide among. Name another column "
            "by corpus.client_column, or drop it to make each row a client"
        )
    return records


def _existing_path(params: Corpus, asked_by: str) -> Path:
    if params.path is None:
        raise ValueError("corpus.path is not set: corpus.source 'table' needs a CSV, Parquet or JSON Lines file")
    path = Path(params.path)
    if not path.is_file():
        raise FileNotFoundError(f"{asked_by} {path} is not a file: check the path (relative to {Path.cwd()})")
    if path.suffix.lower() not in _READERS:
        raise ValueError(f"{path} has the unknown suffix '{path.suffix}': use one of {', '.join(_READERS)}")
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty: give a file with at least two clients")
    return path


def _read_csv(path: Path) -> pd.DataFrame:
    _check_utf8(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
            return pd.read_csv(path, dtype=str, keep_default_na=False, index_col=False, encoding="utf-8-sig")
    except (pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.EmptyDataError) as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise ValueError(f"{path} is not valid CSV ({reason}): quote texts that hold commas or line breaks") from None


def _read_parquet(path: Path) -> pd.DataFrame:
    import pyarrow
    import pyarrow.parquet

    try:
        table: pd.DataFrame = pyarrow.parquet.read_table(path).to_pandas(ignore_metadata=True)  # index kept as column
    except (pyarrow.ArrowException, OSError):
        raise ValueError(f"{path} is not a readable Parquet file: write it again") from None
    return table


def _read_jsonl(path: Path) -> pd.DataFrame:
    _check_utf8(path)
    rows = []
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise ValueError(f"{path}, line {number}: not valid JSON at column {error.colno}") from None
            if not isinstance(row, dict):
                raise ValueError(f"{path}, line {number}: not a JSON object: write one object of columns a line")
            rows.append(row)
    return pd.DataFrame(rows, dtype=object)


_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
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
                raise ValueError(
                    f"{path}, line {number}, byte {error.start + 1}: not UTF-8. Save the file with that encoding"
                ) from None


def _check_columns(params: Corpus, table: pd.DataFrame, path: Path) -> None:
    """The text column must exist, and so must every column that was asked for by a name other than the default."""
    for field in ("text_column", "client_column", "label_column", "date_column"):
        column = getattr(params, field)
        asked = field == "text_column" or column != Corpus.model_fields[field].default
        if asked and column not in table.columns:
            # Without a header line the column names are private text, so they are counted, not listed.
            raise ValueError(
                f"{path} has no column '{column}' among its {len(table.columns)}: name the right one by "
                f"corpus.{field}, or add the header line"
            )


def _texts(params: Corpus, table: pd.DataFrame, path: Path) -> list[str]:
    texts = table[params.text_column].tolist()
    where = f"{path}, column '{params.text_column}'"
    _refuse(texts, lambda text: _missing(text) or (isinstance(text, str) and not text.strip()), where, "empty text")
    _refuse(texts, lambda text: not isinstance(text, str), where, "a value that is not text")
    return texts


def _client_ids(params: Corpus, table: pd.DataFrame, path: Path) -> list[str]:
    if params.client_column not in table.columns:
        return [str(row) for row in range(1, len(table) + 1)]
    ids = table[params.client_column].tolist()
    _refuse(ids, lambda one: _missing(one) or not str(one).strip(), f"{path}, column '{params.client_column}'", "no id")
    return [str(one) for one in ids]


def _optional(table: pd.DataFrame, column: str) -> list[str | None]:
    values = table[column].tolist() if column in table.columns else [None] * len(table)
    return [None if _missing(value) or not str(value).strip() else str(value) for value in values]


def _refuse(values: list[object], wrong: Callable[[object], bool], where: str, what: str) -> None:
    rows = [row for row, value in enumerate(values, start=1) if wrong(value)]
    if rows:
        named = ", ".join(map(str, rows[:ROWS_NAMED])) + (", ..." if len(rows) > ROWS_NAMED else "")
        raise ValueError(f"{where}: {what} in {len(rows)} rows (rows {named}): fix or delete them")


def _missing(value: object) -> bool:
    return value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and value != value)


def _half_surrogate(text: object) -> bool:
    try:
        str(text).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False

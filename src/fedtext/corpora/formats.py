"""Readers of files of rows: CSV, Parquet and JSON Lines; the error for a damaged file names file and line.

A table's index holds the numbers by which a person finds each row, and its name says what is counted.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from fedtext.corpora.columns import HEADINGS, Chooser, other_delimiter, parquet_parts, rows_named
from fedtext.system.errors import InputError

BOM = b"\xef\xbb\xbf"
IN_SHEET, IN_LINES, IN_TABLE = "row of the sheet, whose row 1 is the header", "line", "row"  # what is counted

_UNCLOSED = re.compile(r"EOF inside string starting at row (\d+)")  # counted from 0


class JsonError(InputError):
    """A place in a file without valid or expected JSON; `found` describes it without file and remedy."""

    def __init__(self, path: Path, where: str, what: str, remedy: str = "", *, code: str) -> None:
        self.found = f"{where}: {what}"
        super().__init__(f"{path}, {self.found}" + (f": {remedy}" if remedy else ""), code=code)


def read_csv(path: Path, choose: Chooser) -> pd.DataFrame:
    """Read the chosen columns of a CSV file with a header, all of them as text.

    Raises:
        ValueError: It is not UTF-8, or not CSV with commas.
    """
    _validate_encoding(path)
    try:
        # Read as a header, the first line may be shorter than the others, and a name that comes twice is changed.
        rows = pd.read_csv(path, dtype=str, keep_default_na=False, header=None, encoding="utf-8-sig")
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        if mark := other_delimiter(_first_line(path)):
            raise InputError(
                f"{path} seems to be separated by {mark}: write the file with commas", code="other-separator"
            ) from None
        raise InputError(f"{path} {_not_csv(str(error), _first_line(path))}", code="not-csv") from None
    names = rows.iloc[0].tolist()
    sheet = pd.RangeIndex(1, len(rows) + 1, name=IN_SHEET)  # as a spreadsheet shows it, but for blank lines
    table = rows.set_axis(sheet).iloc[1:].set_axis(names, axis="columns")
    _validate_one_header(path, table, names)
    return table[choose(names)]


def _not_csv(error: str, first_line: str) -> str:
    """Return why pandas could not read a CSV file, and the remedy, without any of the file's content."""
    if opened := _UNCLOSED.search(error):
        return f"is not valid CSV: a quote that opens in row {int(opened[1]) + 1} is never closed: close it"
    reason = error.removeprefix("Error tokenizing data. C error: ").strip()
    one_word = "," not in first_line and first_line.strip().casefold() not in HEADINGS
    if first_line.startswith("#") or (one_word and reason.startswith("Expected 1 fields in line 2")):
        return f"has a first line that names no columns ({reason}): delete what stands before the line of their names"
    return f"is not valid CSV ({reason}): quote texts that hold commas or line breaks"


def _validate_one_header(path: Path, table: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise ValueError if a later row is the header again: two files were joined, and it would be a record."""
    if len(names) > 1 and (again := table.index[(table.to_numpy() == names).all(axis=1)].tolist()):
        where = rows_named(again, IN_SHEET)
        raise InputError(
            f"{path} has its header again ({where}), as if files were joined: delete it there", code="header-repeated"
        )


def read_parquet(path: Path, choose: Chooser) -> pd.DataFrame:
    """Read the chosen columns of a Parquet file, or of a directory of its parts, values as they are.

    Rows are counted through all parts, in the order of the parts' names.

    Raises:
        ValueError: A part is no Parquet file, is damaged, or has other columns than the first.
    """
    held: dict[str, list[Any]] = {}
    for part in parquet_parts(path):
        columns = _part(part, choose)
        if held and held.keys() != columns.keys():
            raise InputError(
                f"{part} has other columns than the parts before it: write all parts with the same ones",
                code="parts-differ",
                value=str(part),
            )
        for name, values in columns.items():
            held.setdefault(name, []).extend(values)
    numbers = pd.RangeIndex(1, len(next(iter(held.values()))) + 1, name=IN_TABLE)
    return pd.DataFrame(held, index=numbers, dtype=object)


def _part(path: Path, choose: Chooser) -> dict[str, list[Any]]:
    """Return the chosen columns of one Parquet file."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            columns = choose(file.schema_arrow.names)  # a pandas index among them
            table = file.read(columns=columns)
    except (pyarrow.ArrowException, OSError):
        raise InputError(f"{path} is not a readable Parquet file: write it again", code="not-parquet") from None
    return {name: table[name].to_pylist() for name in columns}


def read_jsonl(path: Path, choose: Chooser) -> pd.DataFrame:
    """Read the chosen columns of a JSON Lines file, one object a row.

    Raises:
        ValueError: A line is no JSON object in UTF-8.
    """
    _validate_encoding(path)  # first: an error behind a damaged line would name the line before it
    rows = dict(json_lines(path))
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    numbers = pd.Index(rows, name=IN_LINES)
    return pd.DataFrame([*rows.values()], columns=choose(names) if rows else None, index=numbers, dtype=object)


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON Lines file, gzipped or not, with their line numbers; blank lines are skipped.

    Raises:
        ValueError: A line is no JSON object in UTF-8, or the file's gzip is damaged.
    """
    with undamaged(path), opened(path) as lines:
        for number, line in enumerate(lines, start=1):
            if text := _decoded(line, path, number).strip():
                yield number, _object(text, path, number)


def opened(path: Path) -> Any:
    """Return the file's byte stream, decompressed if its name ends in `.gz`."""
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


@contextmanager
def undamaged(path: Path) -> Iterator[None]:
    """Raise InputError if the block finds gzip that is damaged or is none."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"{path} is damaged or not gzip: fetch it again", code="damaged-gzip") from None


def read_json(path: Path) -> Any:
    """Read the value of a JSON file, gzipped or not.

    Raises:
        ValueError: It is no JSON in UTF-8, or its gzip is damaged.
    """
    with undamaged(path), opened(path) as file:
        content = file.read()
    try:
        return json.loads(content.removeprefix(BOM).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}, byte {error.start + 1}: not UTF-8. Save the file with that encoding", code="not-utf8"
        ) from None
    except json.JSONDecodeError as error:
        raise JsonError(
            path, f"line {error.lineno}", f"not valid JSON at column {error.colno}", code="document-not-json"
        ) from None
    except (ValueError, RecursionError):
        raise JsonError(
            path, "the file", "a number too long or nesting too deep", "shorten it", code="document-too-deep"
        ) from None


def _object(text: str, path: Path, number: int) -> dict[str, Any]:
    where = f"line {number}"
    try:
        row = json.loads(text)
    except json.JSONDecodeError as error:
        raise JsonError(path, where, f"not valid JSON at column {error.colno}", code="line-not-json") from None
    except (ValueError, RecursionError):
        raise JsonError(
            path, where, "a number too long or nesting too deep", "shorten it", code="line-too-deep"
        ) from None
    if not isinstance(row, dict):
        raise JsonError(
            path, where, "not a JSON object", "write one object of columns a line", code="line-not-an-object"
        )
    return row


def _decoded(line: bytes, path: Path, number: int) -> str:
    try:
        return (line.removeprefix(BOM) if number == 1 else line).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}, line {number}, byte {error.start + 1}: not UTF-8. Save the file with that encoding",
            code="line-not-utf8",
        ) from None


def _validate_encoding(path: Path) -> None:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            _decoded(line, path, number)


def _first_line(path: Path) -> str:
    with path.open(encoding="utf-8-sig") as lines:
        return next(lines, "")


READERS: dict[str, Callable[[Path, Chooser], pd.DataFrame]] = {
    ".csv": read_csv,
    ".parquet": read_parquet,
    ".jsonl": read_jsonl,
}

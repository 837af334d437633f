"""Readers of files of rows: CSV, Parquet and JSON Lines; the error for a damaged file names file and line.

A table's index holds the numbers by which a person finds each row, and its name says what is counted.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fedtext.corpora.columns import MARKS, TAB, Chooser, parquet_parts, partition_values, separator_of, with_inner
from fedtext.corpora.gzipped import GZIP, opened, undamaged
from fedtext.corpora.headings import HEADINGS
from fedtext.corpora.stray_rows import validate_rows
from fedtext.system.errors import InputError

BOM, NUL = b"\xef\xbb\xbf", b"\x00"
WIDE = {  # encodings with several bytes a letter, by how a file begins; the first that fits
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
IN_SHEET, IN_LINES, IN_TABLE = "row of the sheet, whose row 1 is the header", "line", "row"  # what is counted

csv.field_size_limit(sys.maxsize)  # a text may be longer than the 131,072 characters that it allows


class JsonError(InputError):
    """A place in a file without valid or expected JSON; `found` describes it without file and remedy."""

    def __init__(self, path: Path, where: str, what: str, remedy: str = "", *, code: str) -> None:
        self.found = f"{where}: {what}"
        super().__init__(f"{path}, {self.found}" + (f": {remedy}" if remedy else ""), code=code)


def read_csv(path: Path, choose: Chooser) -> pd.DataFrame:
    """Read the chosen columns of a CSV file with a header, all of them as text; the header says what separates them.

    Raises:
        ValueError: It is not UTF-8, not CSV, or its gzip is damaged.
    """
    _validate_encoding(path)
    first_line = _first_line(path)
    mark = separator_of(path, first_line)
    try:
        _validate_quotes(path, mark)
        # Read as a header, the first line may be shorter than the others, and a name that comes twice is changed.
        with opened(path) as file:
            rows = pd.read_csv(file, sep=mark, dtype=str, keep_default_na=False, header=None, encoding="utf-8-sig")
    except (csv.Error, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(f"{path} {_not_csv(str(error), first_line, mark)}", code="not-csv") from None
    names = rows.iloc[0].tolist()
    sheet = pd.RangeIndex(1, len(rows) + 1, name=IN_SHEET)  # as a spreadsheet shows it, but for blank lines
    table = rows.set_axis(sheet).iloc[1:].set_axis(names, axis="columns")
    validate_rows(path, table, names, mark, IN_SHEET)
    return table[choose(names)]


def _validate_quotes(path: Path, mark: str) -> None:
    """Raise csv.Error where a quote is never closed, text follows one that closes, or one may join rows.

    Pandas would read on to the next quote, and give a row's text to the client of a row before. A program that writes
    columns with tabs often quotes nothing: there, a quotation over line ends and tabs is rows with a quote in each.
    """
    with opened(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as lines:
        rows, number = csv.reader(lines, delimiter=mark, strict=True), 0
        try:
            for row in rows:
                number += bool(row)  # blank lines are no rows
                if mark == TAB and any(TAB in cell and "\n" in cell for cell in row):
                    break
            else:
                return
        except csv.Error as error:
            never = "unexpected end" in str(error)
            what = "opens and is never closed" if never else "closes before its text ends"
            raise csv.Error(f"a quote {what} in row {number + 1}") from None
    raise csv.Error(f"a quote opens in row {number} and closes behind tabs and line ends")


def _not_csv(error: str, first_line: str, mark: str) -> str:
    """Return why a file is no CSV, and the remedy, without any of the file's content."""
    if error.startswith("a quote"):
        return f"is not valid CSV: {error}: close each quote, and write the quotes inside a quoted text twice"
    reason = error.removeprefix("Error tokenizing data. C error: ").strip()
    one_word = "," not in first_line and first_line.strip().casefold() not in HEADINGS
    if first_line.startswith("#") or (one_word and reason.startswith("Expected 1 fields in line 2")):
        return f"has a first line that names no columns ({reason}): delete what stands before the line of their names"
    return f"is not valid CSV ({reason}): quote texts that hold {MARKS[mark]} or line breaks"


def read_parquet(path: Path, choose: Chooser) -> pd.DataFrame:
    """Read the chosen columns of a Parquet file, or of a directory of its parts, values as they are.

    Rows are counted through all parts, in the order of the parts' names. Columns that partition the table are read from
    the names of its folders, as text.

    Raises:
        ValueError: A part is no Parquet file, is damaged, or has other columns than the first.
    """
    held: dict[str, list[Any]] = {}
    for part in parquet_parts(path):
        columns = _part(part, partition_values(path, part), choose)
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


def _part(path: Path, partition: Mapping[str, str | None], choose: Chooser) -> dict[str, list[Any]]:
    """Return the chosen columns of one Parquet file, and of those that its folders name."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            held = file.schema_arrow.names  # a pandas index among them
            columns = choose([*held, *(name for name in partition if name not in held)])
            table, rows = file.read(columns=[name for name in columns if name in held]), file.metadata.num_rows
    except (pyarrow.ArrowException, OSError):
        raise InputError(f"{path} is not a readable Parquet file: write it again", code="not-parquet") from None
    return {name: table[name].to_pylist() if name in held else [partition[name]] * rows for name in columns}


def read_jsonl(path: Path, choose: Chooser) -> pd.DataFrame:
    """Read the chosen columns of a JSON Lines file, one object a row.

    Raises:
        ValueError: A line is no JSON object in UTF-8.
    """
    _validate_encoding(path)  # first: an error behind a damaged line would name the line before it
    rows = {number: with_inner(row) for number, row in json_lines(path)}
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
        row = json.loads(text, object_pairs_hook=_object_of)
    except json.JSONDecodeError as error:
        what = f"not valid JSON at column {error.colno}"
        raise JsonError(path, where, what, "write one whole object a line", code="line-not-json") from None
    except KeyError:
        raise JsonError(path, where, "a name that comes twice", "leave one of them", code="name-twice") from None
    except (ValueError, RecursionError):
        raise JsonError(
            path, where, "a number too long or nesting too deep", "shorten it", code="line-too-deep"
        ) from None
    if not isinstance(row, dict):
        raise JsonError(
            path, where, "not a JSON object", "write one object of columns a line", code="line-not-an-object"
        )
    return row


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these pairs; KeyError if a name comes twice, of which one value would be lost."""
    held = dict(pairs)
    if len(held) < len(pairs):
        raise KeyError
    return held


def _decoded(line: bytes, path: Path, number: int) -> str:
    """Return a line as text, without a byte order mark: each of several joined files may begin with one."""
    try:
        if number == 1 and NUL in line[:2]:
            raise UnicodeDecodeError("utf-8", line, line.index(NUL), 2, "half a character of UTF-16")
        return line.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}, line {number}, byte {error.start + 1}: not UTF-8. Save the file with that encoding, in Excel as "
            f"'CSV UTF-8', or run: {_to_utf8(path, line)}",
            code="line-not-utf8",
        ) from None


def _to_utf8(path: Path, line: bytes) -> str:
    """Return a command that writes a file in UTF-8 from the encoding that it is in, as far as its first bytes tell."""
    name, read = shlex.quote(str(path)), "gzip -dc" if path.suffix.lower() == GZIP else "cat"
    wide = next((encoding for mark, encoding in WIDE.items() if line.startswith(mark)), None)
    if wide is None and NUL in line[:2]:
        wide = "UTF-16BE" if line.startswith(NUL) else "UTF-16LE"
    if wide is not None:
        return f"{read} {name} | iconv -f {wide} -t UTF-8 > NEW"
    return (
        f"{read} {name} | iconv -f CP1252 -t UTF-8 > NEW (CP1252 is that of Western Europe; Chinese text is mostly in "
        "GB18030, Japanese in CP932, Korean in CP949, Russian in CP1251, Arabic in CP1256)"
    )


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, gzipped or not, without a byte order mark.

    Raises:
        ValueError: A line is not UTF-8, or the file's gzip is damaged.
    """
    with undamaged(path), opened(path) as lines:
        for number, line in enumerate(lines, start=1):
            yield _decoded(line, path, number)


def _validate_encoding(path: Path) -> None:
    for _ in text_lines(path):
        pass


def _first_line(path: Path) -> str:
    """Return the first line that is not blank; a line may end as on any system."""
    lines = (one for line in text_lines(path) for one in re.split("[\r\n]", line))
    return next((line for line in lines if line.strip()), "")


READERS: dict[str, Callable[[Path, Chooser], pd.DataFrame]] = {
    ".csv": read_csv,
    ".parquet": read_parquet,
    ".jsonl": read_jsonl,
    ".tsv": read_csv,
    ".csv.gz": read_csv,
    ".tsv.gz": read_csv,
    ".jsonl.gz": read_jsonl,
}

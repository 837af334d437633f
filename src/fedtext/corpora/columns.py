"""Columns of a file of rows: which there are, which are read, and what a file is that has none.

The first line of a CSV file without a header is private text. So messages mention column names only where they are
known to be names: in formats that store them apart from the rows, and where one of them is a usual column name.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fedtext.corpora.gzipped import GZIP, opened, undamaged
from fedtext.corpora.headings import HEADINGS, owner_columns
from fedtext.system.errors import InputError, did_you_mean
from fedtext.system.missing import as_read
from fedtext.system.surrogates import has_lone_surrogate

# Default column name of each field of Corpus; all columns but that of the text may be absent.
USUAL = {
    "text_column": "text",
    "client_column": "client_id",
    "label_column": "label",
    "date_column": "date",
    "silo_column": "silo",
}
Chooser = Callable[[list[str]], list[str]]  # of a file's column names, those to read
NAMES_APART = (".parquet", ".jsonl", ".jsonl.gz")
SEPARATED = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # a folder's name for rows without the value
TAB = "\t"
MARKS = {",": "commas", ";": "semicolons", TAB: "tabs", "|": "bars"}  # between columns; the first wins a tie
QUOTED = re.compile(r'"[^"]*"')


def chosen_columns(named: Mapping[str, str], fields: Sequence[str], path: Path, names: list[str]) -> list[str]:
    """Return those of the columns that `fields` are `named` which the file, with columns `names`, has.

    Raises:
        ValueError: A column is there twice or almost. The text column is not there, or one that was requested by a
            name other than the usual one. Or no client column is named, and one of another name looks like it.
    """
    found = []
    for field in fields:
        column, usual = named[field], USUAL[field]
        if names.count(column) > 1:
            raise InputError(
                f"{path} has {names.count(column)} columns '{column}': leave one of that name",
                code="column-twice",
                value=column,
            )
        if column in names:
            found.append(column)
            continue
        almost = [name for name in names if as_read(name) == column] if column == usual else []
        if almost:  # without the client column, every row would be a client of its own
            raise InputError(
                f"{path} has a column {almost[0]!r} and no '{column}': rename it",
                code="column-nearly-named",
                value=column,
            )
        if field == "text_column" or column != usual:
            raise InputError(
                f"{path} has no column '{column}' {_remedy(column, field, path, names)}",
                code="missing-column",
                value=column,
            )
        if field == "client_column":
            _validate_owner_column(path, named, names)
    return list(dict.fromkeys(found))


def _validate_owner_column(path: Path, named: Mapping[str, str], names: Sequence[str]) -> None:
    """Raise ValueError if a column that is not used as the owner looks like one.

    Without this check each row would silently be a client of its own.
    """
    if owner := next(iter(owner_columns(names, named.values())), None):
        raise InputError(
            f"{path} has no column '{USUAL['client_column']}', and its column {owner!r} may say whose a row is: set "
            f"corpus.client_column={owner}, or corpus.client_column=null if each row is a client of its own",
            code="column-may-name-clients",
            parameter="corpus.client_column",
        )


def chosen_codes(columns: Sequence[str], path: Path, names: list[str]) -> list[str]:
    """Return the columns of control codes, each of which must be among the file's `names` once.

    Raises:
        ValueError: A column is not there, or twice.
    """
    for column in columns:
        if names.count(column) > 1:
            raise InputError(
                f"{path} has {names.count(column)} columns '{column}': leave one of that name",
                code="code-column-twice",
                parameter="corpus.code_columns",
                value=column,
            )
        if column not in names:
            raise InputError(
                f"{path} has no column '{column}' {_remedy(column, 'code_columns', path, names)}",
                code="missing-code-column",
                parameter="corpus.code_columns",
                value=column,
            )
    return list(columns)


def format_of(path: Path) -> str:
    """Return the suffix that says how a table is written, as `.csv` or `.csv.gz`; a directory is of Parquet parts."""
    if path.is_dir():
        return ".parquet"
    packed = path.suffix.lower() == GZIP
    return "".join(path.suffixes[-2:] if packed else path.suffixes[-1:]).lower()


def separator_of(path: Path, header: str) -> str:
    """Return what separates the columns of CSV: tabs in a `.tsv`, else the mark that the header has most often.

    Spreadsheets write semicolons where a comma parts a number's decimals, as in French and in German.
    """
    bare = QUOTED.sub("", header)
    return TAB if format_of(path).startswith(".tsv") else max(MARKS, key=bare.count)


def parquet_parts(path: Path) -> list[Path]:
    """Return the Parquet files of a table in the order of their names: itself, or all below a directory.

    Names that begin with a dot or an underscore are other programs' notes.

    Raises:
        ValueError: A part is no plain file.
    """
    if not path.is_dir():
        return [path]
    inside = (part.relative_to(path) for part in path.rglob("*.[pP][aA][rR][qQ][uU][eE][tT]") if not part.is_dir())
    parts = sorted(part for part in inside if not any(name[0] in "._" for name in part.parts))
    for part in parts:
        _validate_part(path, part)
    return [path / part for part in parts]


def _validate_part(path: Path, part: Path) -> None:
    if not (path / part).is_file() or has_lone_surrogate(str(part)):
        raise InputError(
            f"{path} holds {str(part)!a}, which is no plain file or has no readable name: leave files of Parquet alone",
            code="part-not-a-file",
            value=str(path),
        )


def partition_values(path: Path, part: Path) -> dict[str, str | None]:
    """Return the columns that stand in the names of the folders between a table and its part, as `client_id=c1`."""
    folders = part.relative_to(path).parts[:-1]
    named = (folder.partition("=")[::2] for folder in folders if "=" in folder)
    return {unquote(name): None if value == NO_VALUE else unquote(value) for name, value in named}


def column_names(path: Path) -> list[str]:
    """Return the names of the columns, as far as a file's head shows them; none for an unreadable file."""
    import pyarrow.parquet

    try:
        if format_of(path) == ".parquet":
            part = parquet_parts(path)[0]
            return list(dict.fromkeys([*pyarrow.parquet.read_schema(part).names, *partition_values(path, part)]))
        with opened(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as lines:
            if path.suffix.lower() == ".jsonl" or (path.suffix.lower() == GZIP and format_of(path) not in SEPARATED):
                first = json.loads(next(line for line in lines if line.strip()))
                # A whole table in one list is refused when it is read.
                return [*with_inner(first)] if isinstance(first, dict) else []
            header = next(line for line in lines if line.strip())
            return next(csv.reader(itertools.chain([header], lines), delimiter=separator_of(path, header)))
    except (OSError, EOFError, zlib.error, ValueError, StopIteration, TypeError, IndexError, RecursionError):
        return []
    except pyarrow.ArrowException:
        return []


def with_inner(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with the columns of its inner objects beside them: `{"meta": {"id": 1}}` has `meta.id` too."""
    inner = {
        f"{name}.{key}": one
        for name, value in row.items()
        if isinstance(value, dict)
        for key, one in with_inner(value).items()
    }
    return {**inner, **row}


# What a file that is named as a table begins with where it is none, and what it is then, with the remedy.
_KINDS = {
    b"\x1f\x8b": "compressed (gzip: unpack it)",
    b"PK\x03\x04": "an archive or a workbook (zip: unpack it, or save its sheet as CSV)",
    b"\xd0\xcf\x11\xe0": "a workbook (save its sheet as CSV)",
    b"PAR1": "Parquet (name it .parquet)",
    b"%PDF": "a PDF (give a table of texts)",
    b"SQLite format 3": "a database (write its rows as CSV)",
    b"<!doctype": "a web page (download the file itself)",
    b"<html": "a web page (download the file itself)",
    b"sep=": "CSV with a line before its header (delete the line `sep=`)",
}


def kind_of(path: Path) -> str:
    """Return what a file is that is no table of text, by its first bytes, unpacked; empty for all others.

    Raises:
        ValueError: Its name ends in `.gz`, and it is damaged or not gzip.
    """
    with undamaged(path), opened(path) as file:
        head = file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    return next((kind for mark, kind in _KINDS.items() if head.lower().startswith(mark.lower())), "")


def _remedy(column: str, field: str, path: Path, names: Sequence[str]) -> str:
    apart = format_of(path) in NAMES_APART
    if not apart and HEADINGS.isdisjoint(name.strip().casefold() for name in names):
        return f"among its {len(names)}: name the right one by corpus.{field}, or add the header line"
    shown = [name for name in names if apart or name.strip().casefold() in HEADINGS]  # others may be a row's text
    near = did_you_mean(column, shown, "")
    near = f"{near.removesuffix('?')}? Then set" if near.startswith("did") else "set"
    listed = ", ".join([*shown, *(["..."] if len(shown) < len(names) else [])])
    return f"among its {len(names)} ({listed}): {near} corpus.{field}"

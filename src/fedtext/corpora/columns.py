"""Columns of a table, and the checks that every value of a row passes.

The first line of a CSV file without a header is private text. So messages mention column names only where they are
known to be names: in formats that store them apart from the rows, and where one of them is a usual column name.

Values become names of rows, ids and labels as text, and dates; broken Unicode is refused.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas as pd

from fedtext.corpora.records import RECORD_COLUMNS
from fedtext.system.errors import InputError, did_you_mean
from fedtext.system.missing import is_blank, nullable

# Default column name of each field of Corpus; all columns but that of the text may be absent.
USUAL = {
    "text_column": "text",
    "client_column": "client_id",
    "label_column": "label",
    "date_column": "date",
    "silo_column": "silo",
}
Chooser = Callable[[list[str]], list[str]]  # of a file's column names, those to read
NAMES_APART = (".parquet", ".jsonl")
_HEADINGS = (
    "text txt label date client client_id body content message comment review question answer sentence utterance query "
    "document title category class intent topic sentiment target id user user_id author author_id customer "
    "customer_id patient_id speaker name created_at timestamp time split source index"
)
HEADINGS = frozenset(_HEADINGS.split())  # usual column names
# Whom a heading may mean, alone or as `patient_id`, `UserName`, `nr_kunde`; and whose id does not say whose a row is.
_OWNERS = (
    "client user patient person author writer customer member speaker sender owner worker annotator employee student "
    "participant respondent rater labeler labeller reviewer subscriber account login handle email mrn "
    "kunde kunden klient patientin patienten nutzer benutzer mitarbeiter utilisateur cliente usuario paciente"
)
_NOT_OWNERS = (
    "row record text document doc item sample example entry line index pair prompt question answer message comment "
    "review note post sentence utterance label class category intent topic"
)
_IDENTIFIERS = "id ids no nr num number nummer code uuid guid key hash name ref numero"
OWNERS, NOT_OWNERS = frozenset(_OWNERS.split()), frozenset(_NOT_OWNERS.split())
IDENTIFIERS = frozenset(_IDENTIFIERS.split())
_BETWEEN_WORDS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # a folder's name for rows without the value
DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars"}


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
        almost = [name for name in names if name.strip().casefold() == column] if column == usual else []
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


def is_heading(cell: str) -> bool:
    """Return whether a cell holds a usual column name and no value."""
    return cell.strip().casefold() in HEADINGS or looks_like_owner(cell)


def owner_columns(names: Sequence[str], used: Collection[str]) -> list[str]:
    """Return those of a file's columns that may say whose a row is, besides the columns that are `used`."""
    return [name for name in names if name not in used and looks_like_owner(name)]


def looks_like_owner(heading: str) -> bool:
    """Return whether a column name suggests the owner of a row: `patient_id`, `ClientNo`, `author`; not `text_id`."""
    words = [word.casefold() for word in _BETWEEN_WORDS.split(heading) if word]
    whom = [one for word in words if word not in IDENTIFIERS and (one := _without_identifier(word))]
    if whom and all(word in OWNERS or word.removesuffix("s") in OWNERS for word in whom):
        return True
    if "." in heading and looks_like_owner(heading.rpartition(".")[2]):
        return True
    return len(words) > 1 and words[-1] == "id" and "".join(words[:-1]) not in NOT_OWNERS


def _without_identifier(word: str) -> str:
    """Return `user` for `userid`, and a word that ends in no identifier as it is."""
    ends = (end for end in sorted(IDENTIFIERS, key=len, reverse=True) if word.endswith(end))
    return word.removesuffix(next(ends, ""))


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
    """Return the suffix that says how a table is written; a directory is one of Parquet parts."""
    return ".parquet" if path.is_dir() else path.suffix.lower()


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
    if not (path / part).is_file() or str(part).encode(errors="replace").decode() != str(part):
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
        packed = path.suffix == ".gz"
        with (gzip.open if packed else open)(path, "rt", encoding="utf-8-sig", newline="") as lines:
            if packed or path.suffix.lower() == ".jsonl":
                first = json.loads(next(line for line in lines if line.strip()))
                return (
                    [*with_inner(first)] if isinstance(first, dict) else []
                )  # a whole table in one list is refused when read
            return next(csv.reader(lines))
    except (OSError, ValueError, StopIteration, TypeError, IndexError, RecursionError, pyarrow.ArrowException):
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
    """Return what a file is that is no table of text, by its first bytes; empty for all others."""
    with path.open("rb") as file:
        head = file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    return next((kind for mark, kind in _KINDS.items() if head.lower().startswith(mark.lower())), "")


def other_delimiter(first_line: str) -> str | None:
    """Return a description of what separates the columns of a file without commas; None if nothing does."""
    counts = {word: first_line.count(mark) for mark, word in DELIMITERS.items()}
    return None if "," in first_line or not any(counts.values()) else max(counts, key=lambda word: counts[word])


def _remedy(column: str, field: str, path: Path, names: Sequence[str]) -> str:
    apart = format_of(path) in NAMES_APART
    if not apart and len(names) == 1 and (mark := other_delimiter(names[0])):
        return f"among its 1: its columns seem to be separated by {mark}; write the file with commas"
    if not apart and HEADINGS.isdisjoint(name.strip().casefold() for name in names):
        return f"among its {len(names)}: name the right one by corpus.{field}, or add the header line"
    shown = [name for name in names if apart or name.strip().casefold() in HEADINGS]  # others may be a row's text
    near = did_you_mean(column, shown, "")
    near = f"{near.removesuffix('?')}? Then set" if near.startswith("did") else "set"
    listed = ", ".join([*shown, *(["..."] if len(shown) < len(names) else [])])
    return f"among its {len(names)} ({listed}): {near} corpus.{field}"


ROWS_NAMED = 5


def record_table(
    owners: Sequence[str], held: Mapping[str, Sequence[str | None]], path: Path, rows: pd.Index
) -> pd.DataFrame:
    """Return the records of `owners` and their values (`text`, `label`, `date`), read from the `rows` of `path`.

    Raises:
        ValueError: A value is no Unicode text.
    """
    records = pd.DataFrame({"client_id": owners, **held}, columns=list(RECORD_COLUMNS), index=rows, dtype=object)
    validate_unicode({column: records[column].tolist() for column in RECORD_COLUMNS}, path, rows)
    return records.reset_index(drop=True)


def validate_unicode(columns: Mapping[str, Sequence[str | None]], path: Path, rows: pd.Index) -> None:
    """Raise ValueError if a value of the `columns` of the file `path` is no Unicode text."""
    for column, values in columns.items():
        held: pd.Series = pd.Series(list(values), rows, dtype=object)
        validate_values(held, _half_surrogate, f"{path}, {column}", "half a surrogate pair, not Unicode text")


def digest_names(*columns: Sequence[str | None]) -> list[str]:
    """Return a name for every row that is a client of its own: a digest of its content, with equal rows numbered."""
    rows = (json.dumps(row).encode() for row in zip(*columns, strict=True))
    digests = [hashlib.sha256(row).hexdigest()[:20] for row in rows]
    seen: Counter[str] = Counter()
    names = []
    for one in digests:
        seen[one] += 1
        names.append(one if seen[one] == 1 else f"{one}-{seen[one]}")
    return names


def optional(table: pd.DataFrame, column: str, as_text: Callable[[object], str]) -> list[str | None]:
    """Return the column's values as text, with None for missing ones and for a missing column."""
    values = nullable(table[column]) if column in table.columns else [None] * len(table)
    return [None if value is None or is_blank(str(value)) else as_text(value) for value in values]


def name_of(value: object) -> str:
    """Return the value as text without outer spaces; the number 1.0 becomes 1, for JSON writes either."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def day(value: object) -> str:
    """Return the ISO date of an ISO date or time; other text as it is."""
    try:
        return datetime.datetime.fromisoformat(str(value)).date().isoformat()
    except ValueError:
        return str(value)


def validate_values(values: pd.Series, wrong: Callable[[object], bool], where: str, what: str) -> None:
    """Raise ValueError if any value is `wrong`; the message has the place `where`, the fault `what` and the rows."""
    rows = [row for row, value in values.items() if wrong(value)]
    if rows:
        raise InputError(
            f"{where}: {what} ({rows_named(rows, str(values.index.name))}): fix or delete {_them(rows)}",
            code="unusable-rows",
            value=what,
        )


def rows_named(rows: Sequence[Any], counted: str) -> str:
    """Return the first of `rows` in words, by what is `counted`, such as `row` or `row of the sheet`."""
    many = len(rows) > 1
    noun, _, how = counted.partition(" ")
    named = ", ".join(map(str, rows[:ROWS_NAMED])) + (", ..." if len(rows) > ROWS_NAMED else "")
    return f"{noun}{'s' if many else ''} {named}" + (f" {how}" if how else "")


def _them(rows: Sequence[Any]) -> str:
    return "them" if len(rows) > 1 else "it"


def _half_surrogate(text: object) -> bool:
    try:
        str(text).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False

"""Rows of a CSV file that are no record: headers and rules of files that were joined or printed, and joined rows.

Each of them would be read as the text of a client, or as another client's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from fedtext.corpora.headings import is_heading, looks_like_owner
from fedtext.corpora.row_values import rows_named
from fedtext.system.errors import InputError
from fedtext.system.missing import as_read

RULE = re.compile(r":?[-=]{2,}:?")  # what a program that prints tables writes below a column's name
LONGEST_HEADING = 40  # characters
BAR = "|"


def validate_rows(path: Path, table: pd.DataFrame, names: Sequence[str], mark: str, counted: str) -> None:
    """Raise ValueError if a row is a header, a rule below the header, or several rows.

    Args:
        path: The file, for messages.
        table: Its rows but the header.
        names: The cells of the header.
        mark: What separates the columns.
        counted: What the table's index counts, for messages.
    """
    if len(names) < 2:  # a text may well be the word "text"
        return
    _validate_no_rule(path, table)
    _validate_one_header(path, table, names, counted)
    _validate_no_joined_rows(path, table, mark, counted)


def _validate_no_rule(path: Path, table: pd.DataFrame) -> None:
    if len(table) and all(RULE.fullmatch(cell.strip()) for cell in table.iloc[0]):
        raise InputError(f"{path} has a line of dashes under its header: delete that line", code="rule-below-header")


def _validate_one_header(path: Path, table: pd.DataFrame, names: Sequence[str], counted: str) -> None:
    """Raise ValueError if a later row is a header: of these columns in any order, of some of them, or of other names.

    Behind one with its columns in another order, texts would be client ids.
    """
    header = set(map(as_read, names))
    short = (one for one in table.iloc[:, 0].unique() if len(one) <= LONGEST_HEADING)
    first = {one for one in short if as_read(one) in header or is_heading(one)}
    again = [row for row in table.index[table.iloc[:, 0].isin(first)] if _is_header(table.loc[row].tolist(), names)]
    if again:
        raise InputError(
            f"{path} has its header again ({rows_named(again, counted)}), as if files were joined: delete it there",
            code="header-repeated",
        )


def _is_header(cells: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether a row's cells are names of columns: of this file, or usual ones with an owner in its place."""
    held = [as_read(cell) for cell in cells if cell.strip()]
    if len(held) < 2 or len(set(held)) < len(held):
        return False
    owners = any(looks_like_owner(name) and looks_like_owner(cell) for name, cell in zip(names, cells, strict=True))
    return set(held) <= set(map(as_read, names)) or (owners and all(map(is_heading, held)))


def _validate_no_joined_rows(path: Path, table: pd.DataFrame, mark: str, counted: str) -> None:
    """Raise ValueError if a cell of several lines holds whole rows: a quote of one row was closed by another's.

    Their texts would all be the first row's client's.
    """
    columns = [table.iloc[:, position] for position in range(table.shape[1])]
    both = [one.str.contains("\n", regex=False) & one.str.contains(mark, regex=False) for one in columns]
    suspected = pd.concat(both, axis="columns").any(axis="columns")
    if not suspected.any():
        return
    known = [set(one[~suspected]) - {""} for one in columns]
    rows = zip(table.index[suspected], table[suspected].values.tolist(), strict=True)
    joined = [row for row, cells in rows if any(_holds_rows(one, at, known, mark) for at, one in enumerate(cells))]
    if joined:
        raise InputError(
            f"{path} has a text that holds whole rows ({rows_named(joined, counted)}): a quote in it is closed by one "
            "of another row. Close each quote, and write the quotes inside a quoted text twice",
            code="rows-joined",
        )


def _holds_rows(text: str, column: int, known: Sequence[set[str]], mark: str) -> bool:
    """Return whether a cell's text is the end of a row, whole rows, and the beginning of one.

    A text may look so by chance. So each row must have a value that another row has in its column; in
    files with bars, which stand between spaces in a text's own tables, the number of cells is enough.
    """
    first, *others = (line.rstrip("\r").split(mark) for line in text.split("\n"))
    numbers = [column + len(first), *map(len, others[:-1])]
    if not others or any(number != len(known) for number in numbers) or len(others[-1]) != column + 1:
        return False
    rows = others if column else others[:-1]  # nothing is before a first column by which the last row could be known
    return bool(rows) and all(_is_row(row, known, mark) for row in rows)


def _is_row(cells: Sequence[str], known: Sequence[set[str]], mark: str) -> bool:
    if mark == BAR and all(cell == cell.strip() for cell in cells):
        return True
    return any(cell in there for cell, there in zip(cells, known, strict=False))

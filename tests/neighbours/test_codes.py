"""From a file to the codes of units: a row that goes takes its own code along, and leaves all others theirs.

A code draws a unit's lots and coins. Rows that are alike in some columns, and not in others, are what could be mixed up.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.corpora.table import read_table
from fedtext.params.corpus import Corpus
from fedtext.pipelines.clients.nodes import units_of
from tests.parameters import conf_base

FEW = st.sampled_from(["one", "two"])
COLUMNS = ("text", "client_id", "label", "silo", "date")
ROWS = st.lists(st.fixed_dictionaries(dict.fromkeys(COLUMNS, FEW)), min_size=3, max_size=9)
Row = dict[str, str]


def told(rows: list[Row], columns: tuple[str, ...]) -> list[tuple[object, ...]]:
    """Of every row of a file with these columns: its codes, and all that a message may depend on.

    A date is in none. A silo is where nobody owns two rows: records of one owner in two silos are refused.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text("".join(json.dumps({name: row[name] for name in columns}) + "\n" for row in rows))
        records = read_table(conf_base(Corpus, source="table", path=str(path)))
    units = units_of(records)
    seen = ["text", "label", *(["silo"] if "silo" in records and "client_id" not in columns else [])]
    held = records[seen].itertuples(index=False, name=None)
    return list(zip(units["client"].tolist(), units["record"].tolist(), held, strict=True))


@pytest.mark.parametrize("without", [(), ("client_id",), ("label",), ("client_id", "silo"), ("client_id", "label")])
@given(rows=ROWS, gone=st.integers(0, 8))
def test_a_row_that_goes_leaves_all_others_their_codes(without: tuple[str, ...], rows: list[Row], gone: int) -> None:
    columns = tuple(name for name in COLUMNS if name not in without)
    rows = [*rows, *({**rows[0], "client_id": owner} for owner in ("a", "b", "c"))]  # somebody is always beside
    before = told(rows, columns)
    after = told([row for number, row in enumerate(rows) if number != gone % len(rows)], columns)
    assert len({record for _, record, _ in before}) == len(rows), "two records with one code"
    assert len(set(before) - set(after)) == 1
    assert set(after) <= set(before)

"""Whatever a client's rows hold, the run goes on and nobody else's message moves: from a table file to the door."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fedtext.corpora.table import read_table
from fedtext.params.corpus import Corpus
from fedtext.system.missing import is_blank
from tests.neighbours.test_neighbours import corpus
from tests.neighbours.world_sizes import small
from tests.neighbours.worlds import World, moved
from tests.parameters import conf_base

CLASSES = ("work", "home")
ODD = "person 03"  # a training client of its silo
ODD_TEXTS = [
    "\u200b.\u200b",  # next to nothing to see
    "\x00\x01 \x1b[0m",
    "\u0e41\u0e21\u0e48\u0e2b\u0e32",  # no word that the encoder knows
    "\n" * 300 + "after",  # a first chunk of blanks
    "\U0001f642" * 40,
    "\ufffe\uffff",
    "long " * 2000,
    "x" * 5000,
]
TEXTS = st.sampled_from(ODD_TEXTS) | st.text(st.characters(codec="utf-8"), max_size=30).filter(
    lambda text: not is_blank(text)
)
LABELS = st.sampled_from([None, "", "  ", "work", "home ", "nan", "None", 12, 1.5, True, float("nan")]) | st.text(
    st.characters(codec="utf-8"), max_size=5
)
DATES = st.sampled_from([None, "", float("inf"), float("nan"), 20240101, "0000-00-00", "9999-12-31T23:59:59Z", False])
ROWS = st.lists(st.fixed_dictionaries({"text": TEXTS, "label": LABELS, "date": DATES}), min_size=1, max_size=4)


def ordinary() -> list[dict[str, Any]]:
    """Rows of everybody, some without a label."""
    held = corpus("client")
    labels = [("work", "home", None)[row % 3] for row in range(len(held))]
    return [
        {"client_id": one, "text": text, "label": label, "date": None}
        for one, text, label in zip(held["client_id"], held["text"], labels, strict=True)
    ]


def read(rows: list[dict[str, Any]], kind: str = "jsonl") -> pd.DataFrame:
    """The records of a file of these rows, as a run reads them."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"a.{kind}"
        if kind == "jsonl":
            path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        else:
            table = pd.DataFrame(rows, dtype=object)
            texts = [None if value is None else str(value) for value in table["label"]]
            table.assign(
                label=pd.Series(texts, dtype="category"), date=table["date"].map(str).astype("string[pyarrow]")
            ).to_parquet(path)
        return read_table(conf_base(Corpus, source="table", path=str(path)))


@cache
def first_world(algorithm: str) -> World:
    return World(algorithm, read(ordinary()), small({algorithm: {"labels": CLASSES}}))


@pytest.mark.sampled(only=("popri",))
@pytest.mark.parametrize("algorithm", ["popri", "wasp", "flexible", "dp_sgd_generation"])
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=ROWS, kind=st.sampled_from(["jsonl", "parquet"]))
def test_what_one_client_holds_moves_its_own_message_alone(
    algorithm: str, rows: list[dict[str, Any]], kind: str
) -> None:
    world = first_world(algorithm)
    others = [row for row in ordinary() if row["client_id"] != ODD]
    found = world.beside(read([*others, *({"client_id": ODD, **row} for row in rows)], kind))
    for release, (lost, gained) in moved(world.messages, found).items():
        assert max(lost, gained) <= 1, release


@pytest.mark.slow
def test_a_client_of_ten_thousand_rows_is_one_message() -> None:
    world = first_world("popri")
    many = [{"client_id": ODD, "text": f"row {n} of very many", "label": "work", "date": None} for n in range(10_000)]
    found = world.beside(read([row for row in ordinary() if row["client_id"] != ODD] + many))
    assert all(max(both) <= 1 for both in moved(world.messages, found).values())


@pytest.mark.sampled(only=("popri",))
@pytest.mark.parametrize("algorithm", ["popri", "wasp"])
def test_a_private_split_without_anybody_sends_noise_alone(algorithm: str) -> None:
    """Whether somebody falls into a split is the clients' doing: the run goes on, whoever is there."""
    declared = {
        "privacy": {"population": 40},
        "corpus": {"public_texts": 40, "source": "table", "path": "mine.csv"},
    }
    records = corpus("client", clients=4)
    with_them = World(algorithm, records, small(declared))
    trained = set(with_them.value("private_train")["client_id"])
    without = World(algorithm, records[~records["client_id"].isin(trained)].reset_index(drop=True), small(declared))
    assert without.messages.keys() == with_them.messages.keys()
    assert not any(without.messages.values())
    assert any(with_them.messages.values())

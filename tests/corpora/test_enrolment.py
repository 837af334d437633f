"""Who is enrolled: the ids in a file, the declared number, and which clients a run takes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fedtext.corpora.enrolment import declared_number, is_taken, listed_ids, taken_clients
from fedtext.params.corpus import Corpus
from fedtext.params.privacy import Privacy
from tests.parameters import conf_base

TABLE = {"source": "table", "path": "notes.csv"}


def privacy(**declared: object) -> Privacy:
    return conf_base(Privacy, {"epsilon": 1.0, "delta": 1e-6, **declared})


def listed(tmp_path: Path, content: str) -> str:
    file = tmp_path / "enrolled.txt"
    file.write_text(content, encoding="utf-8")
    return str(file)


def test_ids_are_read_one_a_line(tmp_path: Path) -> None:
    assert listed_ids(listed(tmp_path, "b\n 007 \n\nzo\u00eb\n")) == ["b", "007", "zo\u00eb"]


@pytest.mark.parametrize(
    ("content", "words"), [("\n \n", "holds no id"), ("a\nb\na\n", "holds an id twice"), (None, "is not a file")]
)
def test_what_is_no_list_is_refused_without_an_id_in_the_message(
    tmp_path: Path, content: str | None, words: str
) -> None:
    path = str(tmp_path / "none.txt") if content is None else listed(tmp_path, content)
    with pytest.raises((ValueError, FileNotFoundError), match=f"privacy.enrolment .*{words}") as caught:
        listed_ids(path)
    assert "'a'" not in str(caught.value)


def test_the_population_is_declared_by_a_number_or_a_list(tmp_path: Path) -> None:
    corpus = conf_base(Corpus, TABLE)
    assert declared_number(corpus, privacy(population=120)) == 120
    assert declared_number(corpus, privacy(enrolment=listed(tmp_path, "a\nb\nc"))) == 3


def test_a_private_corpus_without_a_declaration_is_refused_with_all_remedies() -> None:
    with pytest.raises(ValueError, match=r"privacy\.population is not set") as caught:
        declared_number(conf_base(Corpus, TABLE), privacy())
    for remedy in ("privacy.population=NUMBER", "privacy.enrolment=FILE", "corpus.declared_public=true"):
        assert remedy in str(caught.value)


def test_the_number_is_told_once_and_a_list_is_of_clients() -> None:
    with pytest.raises(ValidationError, match="give one of the two"):
        privacy(population=3, enrolment="ids.txt")
    with pytest.raises(ValidationError, match="is a list of clients"):
        privacy(unit="record", enrolment="ids.txt")


@given(
    ids=st.lists(st.text(max_size=4), unique=True, max_size=30), most=st.integers(2, 9), enrolled=st.integers(10, 99)
)
def test_whether_a_client_is_taken_depends_on_its_id_alone(ids: list[str], most: int, enrolled: int) -> None:
    corpus = conf_base(Corpus, {**TABLE, "max_clients": most})
    records = pd.DataFrame({"client_id": ids, "text": ids}, dtype=object)
    taken = set(taken_clients(records, corpus, privacy(population=enrolled))["client_id"])
    assert taken == {one for one in ids if is_taken(one, most, enrolled)}
    fewer = taken_clients(records[1:], corpus, privacy(population=enrolled))["client_id"]
    assert taken - set(ids[:1]) == set(fewer), "one who goes lets nobody else in"
    assert {one for one in ids if is_taken(one, most + 1, enrolled)} >= taken


def test_about_as_many_are_taken_as_were_asked_for_with_all_their_records() -> None:
    ids = [f"client {i}" for i in range(5000)] * 2
    records = pd.DataFrame({"client_id": ids, "text": range(10_000)})
    taken = taken_clients(records, conf_base(Corpus, {**TABLE, "max_clients": 1000}), privacy(population=5000))
    assert taken["client_id"].nunique() == pytest.approx(1000, abs=120)  # 4.2 standard deviations
    assert (taken["client_id"].value_counts() == 2).all()
    assert taken.index.tolist() == list(range(len(taken)))


def test_without_a_bound_all_are_taken_and_no_declaration_is_asked_for() -> None:
    records = pd.DataFrame({"client_id": ["a", "b"], "text": ["x", "y"]})
    assert taken_clients(records, conf_base(Corpus, TABLE), privacy()).equals(records)
    assert is_taken("a", None, 10)


def test_of_a_public_corpus_the_clients_are_counted() -> None:
    records = pd.DataFrame({"client_id": [str(i) for i in range(400)], "text": "x"})
    taken = taken_clients(records, conf_base(Corpus, max_clients=100), privacy())
    assert set(taken["client_id"]) == {one for one in records["client_id"] if is_taken(one, 100, 400)}
    assert 60 < len(taken) < 140


@pytest.mark.parametrize(
    ("given", "public"),
    [
        ({}, True),
        ({"source": "snapshot"}, True),
        (TABLE, False),
        ({**TABLE, "declared_public": True}, True),
        ({"declared_public": False}, False),
    ],
)
def test_docstrings_and_snapshots_are_public_and_a_table_is_private_unless_declared(
    given: dict[str, object], public: bool
) -> None:
    assert conf_base(Corpus, given).is_public is public

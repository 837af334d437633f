"""Which spellings are one client, and what becomes of them wherever ids are read."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.corpora.client_ids import client_ids, folded, refuse_alike
from fedtext.corpora.enrolment import listed_ids
from fedtext.corpora.private_pairs import private_pairs
from fedtext.corpora.published.door import read_published
from fedtext.corpora.table import read_table
from fedtext.params.corpus import ClientIds, Corpus, naming
from fedtext.params.privacy import Privacy
from fedtext.system.errors import InputError
from tests.parameters import conf_base
from tests.real_data import real_data

ALIKE = [
    ("C021", "c021"),
    ("c021", "c021\u200b"),
    ("c021", "\ufeffc021"),
    ("c021", "c\u00ad021"),
    ("c021", "\uff43\uff10\uff12\uff11"),  # full width
    ("ann lee", "ann\u00a0lee"),
    ("ann lee", "Ann  Lee"),
    ("C 021", "C021"),
    ("zo\u00eb", "zoe\u0308"),
    ("stra\u00dfe", "STRASSE"),
    ("7", "007"),
    ("7", "7.0"),
    ("7", "\u0000 7\u200e"),
    ("o'brien", "O\u2019Brien"),
    ("c-021", "C\u2011021"),
    ("-5", "\u22125"),
    ("77", "\u0667\u0667"),  # Arabic digits
    ("istanbul", "\u0130stanbul"),
    ("123000000000", "1.23E+11"),
    ("0", "-0"),
    ("+49301", "49301"),
    ("c021", "c021\u2800"),
]
APART = [("c021", "c022"), ("7", "70"), ("1.5", "15"), ("1.10", "1.1"), ("c1", "c01"), ("-7", "7"), ("a", "\u0430")]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_what_looks_alike_is_one_client_two_or_refused(one: str, other: str) -> None:
    ids = [one, "someone else", other, one]
    assert folded(one) == folded(other)
    assert len(set(client_ids(ids, "folded", "here"))) == 2
    assert client_ids(ids, "exact", "here") == ids
    with pytest.raises(InputError, match=r"^here: .*client_ids=folded.*client_ids=exact") as refused:
        client_ids(ids, None, "here")
    assert all(ascii(spelling) in str(refused.value) for spelling in (one, other)), "every difference shows"


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_looks_different_is_two_clients(one: str, other: str) -> None:
    assert client_ids([one, other], None, "here") == [one, other]
    assert len(set(client_ids([one, other], "folded", "here"))) == 2


@given(st.text(st.characters(codec="utf-8"), max_size=12))
def test_an_id_is_folded_once_and_for_all(one: str) -> None:
    looks = folded(one)
    assert folded(looks) == looks
    assert looks == unicodedata.normalize("NFKC", looks)
    for other in (one.upper().lower(), f" {one}\u200b", unicodedata.normalize("NFD", one)):
        if one.isascii():
            assert folded(other) == looks


def test_an_id_of_which_nothing_can_be_seen_is_none() -> None:
    with pytest.raises(InputError, match=r"invisible characters alone, '\\u200b'"):
        client_ids(["a", "\u200b"], None, "here")
    assert client_ids(["a", "\u200b"], "exact", "here") == ["a", "\u200b"]


def test_the_list_and_the_table_are_compared_with_each_other() -> None:
    with pytest.raises(InputError, match="'C1' and 'c1' look alike"):
        refuse_alike(["c1", "b", "C1"], None, "both")
    refuse_alike(["c1", "b", "C1"], "exact", "both")


def write(path: Path, ids: list[object], **more: list[object]) -> Path:
    pd.DataFrame({"client_id": ids, "text": [f"words {i}" for i in range(len(ids))], **more}).to_csv(path, index=False)
    return path


def table(path: Path, mode: ClientIds) -> Corpus:
    return conf_base(Corpus, source="table", path=str(path), client_ids=mode)


def test_a_table_of_ids_and_silos_that_look_alike(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", ["Ann", "ann ", "bob"], silo=["North", "north", "South"])
    assert read_table(table(file, "folded"))[["client_id", "silo"]].to_numpy().tolist() == [
        ["ann", "north"], ["ann", "north"], ["bob", "south"]
    ]  # fmt: skip
    assert read_table(table(file, "exact"))["client_id"].tolist() == ["Ann", "ann", "bob"]
    with pytest.raises(InputError, match=r"a\.csv, column 'silo': the ids 'North' and 'north'"):
        read_table(table(file, None))


def test_numbers_of_a_spreadsheet_are_one_client_however_they_were_saved(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", ["21", "21.0", "021", " 22"])
    assert read_table(table(file, "folded"))["client_id"].tolist() == ["21", "21", "21", "22"]
    with pytest.raises(InputError, match=r"'21' and '21\.0' look alike"):
        read_table(table(file, None))


def test_rows_without_owners_keep_the_names_that_they_have(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", [1, 2])
    own = {mode: read_table(table(file, mode).model_copy(update={"client_column": None})) for mode in ("folded", None)}
    assert own["folded"]["client_id"].tolist() == own[None]["client_id"].tolist()


def test_a_list_of_who_is_enrolled_is_read_alike(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("C1\nc1\nb\n")
    path = str(tmp_path / "ids.txt")
    assert listed_ids(path, "folded") == ["c1", "b"]
    assert listed_ids(path, "exact") == ["C1", "c1", "b"]
    with pytest.raises(InputError, match=r"privacy\.enrolment .*'C1' and 'c1' look alike"):
        listed_ids(path)


def test_owners_of_pairs_and_of_published_texts_are_read_alike(tmp_path: Path) -> None:
    pairs = [{"prompt": f"p{i}", "chosen": "a", "rejected": "b", "client_id": one} for i, one in enumerate(["Ab", "a"])]
    posts = [
        {"info": {"post": f"post {i}"}, "summaries": [{"text": "a"}, {"text": "b"}], "choice": 0, "worker": one}
        for i, one in enumerate(["W", "w", "v"])
    ]
    for name, rows in (("pairs", [*pairs, {**pairs[0], "client_id": "AB"}]), ("posts", posts)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    privacy = conf_base(Privacy, epsilon=1.0, delta=1e-4, population=9)
    joined = private_pairs(table(tmp_path / "pairs.jsonl", "folded"), privacy)
    assert joined["client_id"].tolist() == ["ab", "a", "ab"]
    with pytest.raises(InputError, match="'AB' and 'Ab' look alike"):
        private_pairs(table(tmp_path / "pairs.jsonl", None), privacy)
    published = table(tmp_path / "posts.jsonl", "folded").model_copy(update={"source": "tldr"})
    assert read_published(published)["client_id"].tolist() == ["w", "w", "v"]
    with pytest.raises(InputError, match="'W' and 'w' look alike"):
        read_published(published.model_copy(update={"client_ids": None}))


def test_joining_names_clients_otherwise_and_keeping_apart_does_not() -> None:
    given, kept, joined = (conf_base(Corpus, client_ids=mode).model_dump() for mode in (None, "exact", "folded"))
    assert naming(given) == naming(kept) != naming(joined)


@pytest.mark.shared
@pytest.mark.parametrize(("name", "people"), [("casefold", 81), ("nfc", 30), ("ws", None), ("support", None)])
def test_real_spellings(name: str, people: int | None) -> None:
    file = real_data(f"../cases/user/{name}.csv")
    if people is None:
        assert read_table(table(file, None))["client_id"].nunique() == 81
        return
    with pytest.raises(InputError, match="look alike"):
        read_table(table(file, None))
    assert read_table(table(file, "folded"))["client_id"].nunique() == people

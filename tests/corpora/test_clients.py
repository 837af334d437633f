"""Which spellings are one client, and what becomes of them wherever ids are read.

Who is enrolled: the ids in a file, the declared number, and which clients a run takes.
"""

from __future__ import annotations

import gzip
import json
import unicodedata
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.corpora.clients import (
    client_ids,
    client_of,
    declared_number,
    folded,
    is_selected,
    listed_ids,
    selected_clients,
    validate_distinct_ids,
)
from fedtext.corpora.preferences import private_pairs
from fedtext.corpora.published.loader import read_published
from fedtext.corpora.table import read_table
from fedtext.params.corpus import ClientIds, Corpus, Partition, naming
from fedtext.params.privacy import Privacy
from tests.parameters import conf_base
from tests.real_data import real_data
from tests.refusals import refuses

NATURAL = conf_base(Partition)


def table(path: Path, **changes: object) -> Corpus:
    return conf_base(Corpus, source="table", path=str(path), **changes)


def test_a_table_says_by_its_headings_what_a_client_is(tmp_path):
    path = tmp_path / "mine.csv"
    pd.DataFrame({"text": ["one", "two"], "client_id": ["a", "b"], "patient": ["x", "x"]}).to_csv(path, index=False)
    assert client_of(table(path), NATURAL) == "each value of column 'client_id'"
    assert client_of(table(path, client_column="patient"), NATURAL) == "each value of column 'patient'"
    assert client_of(table(path, client_ids="folded"), NATURAL) == (
        "each value of column 'client_id', those that look alike being one"
    )
    assert client_of(table(path, client_column=None), NATURAL) == "each row"
    pd.DataFrame({"text": ["one", "two"], "patient": ["x", "x"]}).to_csv(path, index=False)
    assert client_of(table(path), NATURAL) is None, "refused when it is read"
    pd.DataFrame({"text": ["one", "two"]}).to_csv(path, index=False)
    assert client_of(table(path), NATURAL) == "each row"


def test_pairs_that_are_packed_say_so_too(tmp_path):
    path = tmp_path / "pairs.jsonl.gz"
    with gzip.open(path, "wt") as lines:
        lines.write(json.dumps({"prompt": "p", "chosen": "c", "rejected": "r", "client_id": "a"}) + "\n")
    assert client_of(table(path), NATURAL) == "each value of column 'client_id'"


def test_nothing_is_said_of_what_cannot_be_read_nor_of_what_ships(tmp_path):
    assert client_of(table(tmp_path / "no.csv"), NATURAL) is None
    assert client_of(conf_base(Corpus), NATURAL) is None


@pytest.mark.parametrize(("source", "said"), [("banking77", "one question"), ("yelp", "a user")])
def test_a_published_data_set_has_its_own(source, said):
    assert client_of(conf_base(Corpus, source=source, path="mine"), NATURAL) == said


def test_a_simulated_partition_makes_clients_up(tmp_path):
    made_up = conf_base(Partition, method="iid", clients=3)
    assert client_of(table(tmp_path / "no.csv"), made_up) == "made up by partition.method=iid"


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
    ("1" * 5000, "0" + "1" * 5000),
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
    with refuses("client-ids-look-alike", parameter="corpus.client_ids") as caught:
        client_ids(ids, None, "here")
    assert all(ascii(spelling) in str(caught.value) for spelling in (one, other)), "every difference shows"


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
    with refuses("invisible-client-id"):
        client_ids(["a", "\u200b"], None, "here")
    assert client_ids(["a", "\u200b"], "exact", "here") == ["a", "\u200b"]


def test_the_list_and_the_table_are_compared_with_each_other() -> None:
    with refuses("client-ids-look-alike"):
        validate_distinct_ids(["c1", "b", "C1"], None, "both")
    validate_distinct_ids(["c1", "b", "C1"], "exact", "both")


def write(path: Path, ids: list[object], **more: list[object]) -> Path:
    pd.DataFrame({"client_id": ids, "text": [f"words {i}" for i in range(len(ids))], **more}).to_csv(path, index=False)
    return path


def table_client_ids(path: Path, mode: ClientIds) -> Corpus:
    return conf_base(Corpus, source="table", path=str(path), client_ids=mode)


def test_a_table_of_ids_and_silos_that_look_alike(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", ["Ann", "ann ", "bob"], silo=["North", "north", "South"])
    assert read_table(table_client_ids(file, "folded"))[["client_id", "silo"]].to_numpy().tolist() == [
        ["ann", "north"], ["ann", "north"], ["bob", "south"]
    ]  # fmt: skip
    assert read_table(table_client_ids(file, "exact"))["client_id"].tolist() == ["Ann", "ann", "bob"]
    with refuses("client-ids-look-alike"):
        read_table(table_client_ids(file, None))


def test_numbers_of_a_spreadsheet_are_one_client_however_they_were_saved(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", ["21", "21.0", "021", " 22"])
    assert read_table(table_client_ids(file, "folded"))["client_id"].tolist() == ["21", "21", "21", "22"]
    with refuses("client-ids-look-alike"):
        read_table(table_client_ids(file, None))


def test_rows_without_owners_keep_the_names_that_they_have(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", [1, 2])
    own = {
        mode: read_table(table_client_ids(file, mode).model_copy(update={"client_column": None}))
        for mode in ("folded", None)
    }
    assert own["folded"]["client_id"].tolist() == own[None]["client_id"].tolist()


def test_a_list_of_who_is_enrolled_is_read_alike(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("C1\nc1\nb\n")
    path = str(tmp_path / "ids.txt")
    assert listed_ids(path, "folded") == ["c1", "b"]
    assert listed_ids(path, "exact") == ["C1", "c1", "b"]
    with refuses("client-ids-look-alike"):
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
    joined = private_pairs(table_client_ids(tmp_path / "pairs.jsonl", "folded"), privacy)
    assert joined["client_id"].tolist() == ["ab", "a", "ab"]
    with refuses("client-ids-look-alike"):
        private_pairs(table_client_ids(tmp_path / "pairs.jsonl", None), privacy)
    published = table_client_ids(tmp_path / "posts.jsonl", "folded").model_copy(update={"source": "tldr"})
    assert read_published(published)["client_id"].tolist() == ["w", "w", "v"]
    with refuses("client-ids-look-alike"):
        read_published(published.model_copy(update={"client_ids": None}))


def test_joining_names_clients_otherwise_and_keeping_apart_does_not() -> None:
    given, kept, joined = (conf_base(Corpus, client_ids=mode).model_dump() for mode in (None, "exact", "folded"))
    assert naming(given) == naming(kept) != naming(joined)


@pytest.mark.shared
@pytest.mark.parametrize(("name", "people"), [("casefold", 81), ("nfc", 30), ("support", None)])
def test_real_spellings(name: str, people: int | None) -> None:
    file = real_data(f"../cases/user/{name}.csv")
    if people is None:
        assert read_table(table_client_ids(file, None))["client_id"].nunique() == 81
        return
    with refuses("client-ids-look-alike"):
        read_table(table_client_ids(file, None))
    assert read_table(table_client_ids(file, "folded"))["client_id"].nunique() == people


@pytest.mark.shared
def test_a_real_text_that_shows_nothing() -> None:
    with refuses("unusable-rows", value="empty text"):
        read_table(table_client_ids(real_data("../cases/user/ws.csv"), None))


TABLE = {"source": "table", "path": "notes.csv"}


def privacy(**declared: object) -> Privacy:
    return conf_base(Privacy, {"epsilon": 1.0, "delta": 1e-6, **declared})


def listed(tmp_path: Path, content: str) -> str:
    file = tmp_path / "enrolled.txt"
    file.write_text(content, encoding="utf-8")
    return str(file)


def test_ids_are_read_one_a_line(tmp_path: Path) -> None:
    assert listed_ids(listed(tmp_path, "b\n 007 \n\nzo\u00eb\n")) == ["b", "007", "zo\u00eb"]


def test_lines_of_a_list_may_end_as_on_any_system(tmp_path: Path) -> None:
    assert listed_ids(listed(tmp_path, "b\rc\r\nd\n")) == ["b", "c", "d"]


def test_a_list_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert listed_ids(listed(tmp_path, "\ufeffb\nc\n")) == ["b", "c"]
    assert listed_ids(listed(tmp_path, "\ufeffb\nc\n\ufeffd\n")) == ["b", "c", "d"]  # two lists in one file


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_list_in_another_encoding_is_refused(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "enrolled.txt").write_bytes("zo\u00eb\nc1\n".encode(encoding))
    with refuses("line-not-utf8"):
        listed_ids(str(tmp_path / "enrolled.txt"))


@pytest.mark.parametrize("first", ["client_id", "client_id,name", "Patient ID", "kundennummer", "name;id"])
def test_the_name_of_a_column_is_nobody_who_is_enrolled(tmp_path: Path, first: str) -> None:
    with refuses("enrolment-with-header", parameter="privacy.enrolment"):
        listed_ids(listed(tmp_path, f"{first}\nc1\nc2\n"))


@pytest.mark.parametrize("first", ["client 1", "person-1", "Smith, John", "ann@customer.com", "user7"])
def test_an_id_may_hold_such_a_word(tmp_path: Path, first: str) -> None:
    assert listed_ids(listed(tmp_path, f"{first}\nc1\n")) == [first, "c1"]


@pytest.mark.parametrize(
    ("content", "code"),
    [("\n \n", "empty-enrolment"), ("a\nb\na\n", "id-enrolled-twice"), (None, "missing-enrolment")],
)
def test_what_is_no_list_is_refused_without_an_id_in_the_message(
    tmp_path: Path, content: str | None, code: str
) -> None:
    path = str(tmp_path / "none.txt") if content is None else listed(tmp_path, content)
    with refuses(code, parameter="privacy.enrolment", value=path) as caught:
        listed_ids(path)
    assert "'a'" not in str(caught.value)


def test_the_population_is_declared_by_a_number_or_a_list(tmp_path: Path) -> None:
    corpus = conf_base(Corpus, TABLE)
    assert declared_number(corpus, privacy(population=120)) == 120
    assert declared_number(corpus, privacy(enrolment=listed(tmp_path, "a\nb\nc"))) == 3


def test_a_private_corpus_without_a_declaration_is_refused_with_all_remedies() -> None:
    with refuses("population-not-set", parameter="privacy.population") as caught:
        declared_number(conf_base(Corpus, TABLE), privacy())
    for remedy in ("privacy.population=NUMBER", "privacy.enrolment=FILE", "corpus.declared_public=true"):
        assert remedy in str(caught.value)


def test_the_number_is_told_once_and_a_list_is_of_clients() -> None:
    with refuses("population-given-twice"):
        privacy(population=3, enrolment="ids.txt")
    with refuses("enrolment-of-records"):
        privacy(unit="record", enrolment="ids.txt")


@given(
    ids=st.lists(st.text(max_size=4), unique=True, max_size=30), most=st.integers(2, 9), enrolled=st.integers(10, 99)
)
def test_whether_a_client_is_taken_depends_on_its_id_alone(ids: list[str], most: int, enrolled: int) -> None:
    corpus = conf_base(Corpus, {**TABLE, "max_clients": most})
    records = pd.DataFrame({"client_id": ids, "text": ids}, dtype=object)
    taken = set(selected_clients(records, corpus, privacy(population=enrolled))["client_id"])
    assert taken == {one for one in ids if is_selected(one, most, enrolled)}
    fewer = selected_clients(records[1:], corpus, privacy(population=enrolled))["client_id"]
    assert taken - set(ids[:1]) == set(fewer), "one who goes lets nobody else in"
    assert {one for one in ids if is_selected(one, most + 1, enrolled)} >= taken


def test_about_as_many_are_taken_as_were_asked_for_with_all_their_records() -> None:
    ids = [f"client {i}" for i in range(5000)] * 2
    records = pd.DataFrame({"client_id": ids, "text": range(10_000)})
    taken = selected_clients(records, conf_base(Corpus, {**TABLE, "max_clients": 1000}), privacy(population=5000))
    assert taken["client_id"].nunique() == pytest.approx(1000, abs=120)  # 4.2 standard deviations
    assert (taken["client_id"].value_counts() == 2).all()
    assert taken.index.tolist() == list(range(len(taken)))


def test_without_a_bound_all_are_taken_and_no_declaration_is_asked_for() -> None:
    records = pd.DataFrame({"client_id": ["a", "b"], "text": ["x", "y"]})
    assert selected_clients(records, conf_base(Corpus, TABLE), privacy()).equals(records)
    assert is_selected("a", None, 10)


def test_of_a_public_corpus_the_clients_are_counted() -> None:
    records = pd.DataFrame({"client_id": [str(i) for i in range(400)], "text": "x"})
    taken = selected_clients(records, conf_base(Corpus, max_clients=100), privacy())
    assert set(taken["client_id"]) == {one for one in records["client_id"] if is_selected(one, 100, 400)}
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

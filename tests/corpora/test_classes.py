"""Declared classes are held against what is public of a corpus; a private table's own are not looked up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fedtext.corpora.classes import check_classes
from fedtext.corpora.columns import column_names
from fedtext.params.corpus import Corpus
from fedtext.params.pe import Pe
from fedtext.params.popri import Popri
from tests.parameters import conf_base
from tests.refusals import refuses

ROWS = "text,intent\nwhere is my card,card_arrival\nlink it,card_linking\n"


def corpus(folder: Path, rows: str = ROWS, **changes: Any) -> Corpus:
    (folder / "mine.csv").write_text(rows)
    told = {"source": "table", "path": str(folder / "mine.csv"), "label_column": "intent", **changes}
    return conf_base(Corpus, told)


def test_classes_that_a_public_corpus_has_are_accepted(tmp_path: Path) -> None:
    check_classes(corpus(tmp_path, declared_public=True), ["card_linking", "card_arrival"], "popri.labels")
    check_classes(conf_base(Corpus), ["json", "email"], "popri.labels")
    check_classes(conf_base(Corpus), [], "popri.labels")


@pytest.mark.parametrize("label", ["card_arival", "weather"])
def test_a_class_that_a_public_corpus_does_not_have(tmp_path: Path, label: str) -> None:
    with refuses("unknown-class", parameter="popri.labels", value=label) as caught:
        check_classes(corpus(tmp_path, declared_public=True), ["card_linking", label], "popri.labels")
    assert "card_arrival" in str(caught.value), "the class that is meant, or all of them"


def test_a_misspelt_module_of_the_standard_library() -> None:
    with refuses("unknown-class", value="emial"):
        check_classes(conf_base(Corpus), ["json", "emial"], "pe.labels")


def test_classes_without_a_column(tmp_path: Path) -> None:
    with refuses("no-column-of-classes", parameter="popri.labels", value="intent"):
        check_classes(corpus(tmp_path, "text\nx\ny\n"), ["a", "b"], "popri.labels")


def test_a_private_table_s_classes_are_not_looked_up(tmp_path: Path) -> None:
    """Whether a run ends must not be one client's say; public labels tell a near miss, and nothing of another word."""
    check_classes(corpus(tmp_path), ["card_arival", "weather"], "popri.labels")
    (tmp_path / "public.csv").write_text("text,label\na,card_arrival\nb,refund\n")
    shown = corpus(tmp_path, public_path=str(tmp_path / "public.csv"))
    check_classes(shown, ["weather", "refund"], "popri.labels")
    with refuses("unknown-class", value="card_arival"):
        check_classes(shown, ["card_arival"], "popri.labels")


@pytest.mark.parametrize("kind", [Popri, Pe])
def test_a_class_twice(kind: type[Popri] | type[Pe]) -> None:
    with refuses("named-twice"):
        conf_base(kind, labels="json,email,json")


def test_column_names_come_from_the_head_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('\n{"text": "x", "intent": "y"}\nnot read\n')
    (tmp_path / "a.csv").write_text('\ufefftext,"in,tent"\n')
    (tmp_path / "a.parquet").write_text("no parquet")
    (tmp_path / "b.jsonl").write_text("[]")
    names = [column_names(tmp_path / name) for name in ("a.jsonl", "a.csv", "a.parquet", "b.jsonl", "gone.csv")]
    assert names == [["text", "intent"], ["text", "in,tent"], [], [], []]


def test_classes_of_a_published_data_set_without_labels() -> None:
    with refuses("source-without-labels", parameter="popri.labels"):
        check_classes(conf_base(Corpus, source="squad", path="x"), ["a", "b"], "popri.labels")
    check_classes(conf_base(Corpus, source="yelp", path="x"), ["1", "5"], "popri.labels")


def test_codes_have_a_part_for_every_column(tmp_path: Path) -> None:
    rows = "text,category,stars\na,food,1\nb,spa,5\n"
    told = {"code_columns": "category stars", "declared_public": True}
    check_classes(corpus(tmp_path, rows, **told), ["food\t1", "spa\t5"], "task.labels")
    with refuses("control-code-of-other-parts", parameter="task.labels", value="food"):
        check_classes(corpus(tmp_path, rows, **told), ["food"], "task.labels")
    with refuses("control-code-of-other-parts"):
        check_classes(corpus(tmp_path), ["card\tarrival"], "task.labels")
    with refuses("no-column-of-classes", value="stars"):
        check_classes(corpus(tmp_path, "text,category\na,food\n", **told), ["food\t1"], "task.labels")
    with refuses("unknown-class"):
        check_classes(corpus(tmp_path, rows, **told), ["food\t5"], "task.labels")


def test_code_columns_are_a_table_s_or_those_of_their_source() -> None:
    with refuses("parameter-of-another-source", parameter="corpus.code_columns"):
        conf_base(Corpus, source="imdb", path="x", code_columns="stars category")
    assert conf_base(Corpus, source="yelp", path="x", code_columns="stars category").code_columns == (
        "stars",
        "category",
    )
    with refuses("unknown-code-column", value="knid"):
        conf_base(Corpus, code_columns="knid")


def test_docstrings_have_kinds_and_packages_for_codes() -> None:
    check_classes(conf_base(Corpus, code_columns="kind"), ["class", "property"], "flexible.labels")
    check_classes(conf_base(Corpus, code_columns="package kind"), ["json\tclass"], "flexible.labels")
    with refuses("unknown-class", value="clas"):
        check_classes(conf_base(Corpus, code_columns="kind"), ["clas"], "flexible.labels")
    with refuses("unknown-class", value="json"):
        check_classes(conf_base(Corpus, code_columns="kind"), ["json"], "flexible.labels")

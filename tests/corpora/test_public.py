"""Public and private docstrings as records, and public texts of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fedtext.corpora import public
from fedtext.corpora.docstrings import Docstring
from fedtext.corpora.records import RECORD_COLUMNS
from fedtext.params.corpus import Corpus
from tests.corpora.published.forms import alpaca_rows, lines, safe_rlhf_rows, whole, xsum_rows
from tests.parameters import conf_base
from tests.refusals import refuses

DUMPS = Docstring(name="json.dumps", package="json", text="Serialise.", kind="function")


def test_an_object_is_a_client_and_its_package_the_label() -> None:
    made = public.docstring_records([DUMPS])
    assert list(made.columns) == list(RECORD_COLUMNS)
    assert made.loc[0, ["client_id", "text", "label", "date"]].tolist() == ["json.dumps", "Serialise.", "json", None]


def test_a_docstring_s_control_code_is_of_the_columns_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Private and public docstrings alike; of a table's columns docstrings know nothing."""
    monkeypatch.setattr(public, "private_docstrings", lambda *_, **__: [DUMPS])
    monkeypatch.setattr(public, "public_docstrings", lambda *_, **__: [DUMPS])
    table = conf_base(Corpus, source="table", path="mine.csv", code_columns="stars")
    for told, label in (
        (conf_base(Corpus, code_columns="kind"), "function"),
        (conf_base(Corpus, code_columns="kind package"), "function\tjson"),
        (conf_base(Corpus), "json"),
        (table, "json"),
    ):
        assert public.stdlib_records(told)["label"].tolist() == [label]
        assert public.public_records(told)["label"].tolist() == [label]


def test_standard_library_objects_are_distinct_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = [Docstring("os.walk", "os", text, "function") for text in ("first", "second")]
    monkeypatch.setattr(public, "private_docstrings", lambda *_, **__: twice)
    assert public.stdlib_records(conf_base(Corpus, source="docstrings"))["text"].tolist() == ["first"]


def test_public_texts_of_the_user_s_own_need_a_text_column_only(tmp_path: Path) -> None:
    path = tmp_path / "public.csv"
    pd.DataFrame({"body": [f"a public text, number {i}" for i in range(5)]}).to_csv(path, index=False)
    corpus = conf_base(
        Corpus, source="table", path="private.csv", text_column="body", client_column="author", public_path=str(path)
    )
    assert len(public.public_records(corpus)) == 5


def test_public_texts_are_drawn_from_the_whole_table(tmp_path: Path) -> None:
    """The first rows of a table that is sorted by topic are one topic."""
    path = tmp_path / "public.csv"
    pd.DataFrame({"text": [f"{topic}, number {i}" for topic in ("law", "tea") for i in range(100)]}).to_csv(path)
    corpus = conf_base(Corpus, public_path=str(path))
    drawn = public.public_records(corpus, max_texts=40)["text"]
    assert drawn.is_unique
    assert drawn.str.partition(",")[0].value_counts().loc[["law", "tea"]].min() >= 10  # below 10: 2e-4 by chance
    assert public.public_records(corpus, max_texts=40)["text"].tolist() == drawn.tolist()
    whole = public.public_records(corpus)["text"]
    assert sorted(public.public_records(corpus, max_texts=1000)["text"]) == sorted(whole)


@pytest.mark.parametrize("clients", [["", ""], ["x", "x"], ["x"]])
def test_whose_a_public_text_is_does_not_matter(tmp_path: Path, clients: list[str]) -> None:
    path = tmp_path / "public.csv"
    texts = [f"text {i}" for i in range(len(clients))]
    pd.DataFrame({"text": texts, "client_id": clients, "label": "k"}).to_csv(path, index=False)
    made = public.public_records(conf_base(Corpus, public_path=str(path)))
    assert made["client_id"].is_unique
    assert made[["text", "label"]].to_numpy().tolist() == [[text, "k"] for text in texts]


def test_a_missing_public_table_is_named_by_its_own_parameter() -> None:
    with refuses("missing-table", parameter="corpus.public_path", value="/nowhere/public.csv"):
        public.public_records(conf_base(Corpus, source="docstrings", public_path="/nowhere/public.csv"))


@pytest.mark.parametrize(
    ("name", "rows", "first"),
    [
        ("alpaca_data.json", alpaca_rows(), "Describe the soup."),
        ("train.jsonl", safe_rlhf_rows(), "How do I hide a soup?"),
        ("train.jsonl.gz", safe_rlhf_rows(), "How do I hide a soup?"),
        ("xsum.jsonl", xsum_rows(), "A soup was found in the river."),
        ("xsum.parquet", xsum_rows(), "A soup was found in the river."),
        ("own.jsonl", [{"text": one["prompt"]} for one in safe_rlhf_rows()], "How do I hide a soup?"),
        ("both.jsonl", [{"text": "My own prompt.", **one} for one in safe_rlhf_rows()], "My own prompt."),
    ],
)
def test_public_prompts_are_those_of_the_published_form_that_a_file_has(
    tmp_path: Path, name: str, rows: list[dict[str, Any]], first: str
) -> None:
    path = tmp_path / name
    if path.suffix == ".parquet":
        pd.DataFrame(rows).to_parquet(path)
    else:
        (whole if path.suffix == ".json" else lines)(path, rows)
    found = public.public_prompts(conf_base(Corpus, public_path=str(path)), 10**6, 0)["prompt"]
    assert first in set(found)
    assert found.is_unique
    assert len(found) == len({str(one) for one in rows}) or first == "My own prompt."


def test_a_file_of_no_prompts_is_refused_with_the_forms_that_are_read(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl.gz", [{"question": "secret"}])
    with refuses("missing-name") as refused:
        public.public_prompts(conf_base(Corpus, public_path=str(path)), 5, 0)
    assert "document, summary and id (XSum)" in str(refused.value)
    assert "secret" not in str(refused.value)

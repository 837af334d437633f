"""Every published form becomes the project's records; a file of another form is refused in one sentence."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.corpora.exercises import Exercise, exercise_in
from fedtext.corpora.published.known import PUBLISHED
from fedtext.corpora.published.loader import existing_published, read_published
from fedtext.corpora.published.readers import CATEGORIES, READERS, Question, squad_questions, yelp
from fedtext.corpora.records import RECORD_COLUMNS
from fedtext.largefedbench.sources.pubmed import pubmed_rows
from fedtext.params.corpus import PUBLISHED_NAMES, Corpus, PublishedName
from fedtext.params.task import in_words
from fedtext.system.errors import InputError
from tests.corpora.published.forms import (
    COUNT,
    MAKERS,
    alpaca_rows,
    flat,
    hh_rows,
    lines,
    message,
    safe_rlhf_rows,
    squad_document,
    tree,
    whole,
    xsum_rows,
    yelp_directory,
    yelp_rows,
)
from tests.parameters import conf_base
from tests.real_data import real_data
from tests.refusals import refuses

ROOT = Path(__file__).parents[3]
ALL = {**READERS, "pubmed": pubmed_rows}
each = pytest.mark.parametrize("name", PUBLISHED_NAMES)
SECRET = "the patient in room seven"


def read(name: PublishedName, path: Path, **more: Any) -> pd.DataFrame:
    return read_published(conf_base(Corpus, source=name, path=str(path), **more), ALL)


@each
def test_every_form_becomes_records(name: PublishedName, tmp_path: Path) -> None:
    records = read(name, MAKERS[name](tmp_path))
    assert tuple(records.columns) == RECORD_COLUMNS
    assert len(records) >= COUNT
    assert records["text"].str.len().gt(5).all()
    assert records["label"].notna().all() == (PUBLISHED[name].label is not None)
    assert records["client_id"].nunique() >= 6


@each
def test_the_same_file_gives_the_same_records(name: PublishedName, tmp_path: Path) -> None:
    path = MAKERS[name](tmp_path)
    pd.testing.assert_frame_equal(read(name, path), read(name, path))


def test_facts_are_told_of_every_name() -> None:
    assert set(PUBLISHED) == set(ALL) == set(PUBLISHED_NAMES)


@each
def test_the_page_of_data_says_unit_label_and_licence(name: PublishedName) -> None:
    known = PUBLISHED[name]
    row = f"| `{name}` | {known.form} | {known.unit} | {known.label or 'none'} | {known.licence} |"
    assert row in (ROOT / "docs" / "data" / "published.md").read_text("utf-8")


@each
def test_a_file_of_one_s_own_is_private_unless_declared(name: PublishedName) -> None:
    assert not conf_base(Corpus, source=name, path="x").is_public
    assert conf_base(Corpus, source=name, path="x", declared_public=True).is_public


def test_yelp(tmp_path: Path) -> None:
    records = read("yelp", MAKERS["yelp"](tmp_path))
    assert records.iloc[1].tolist() == ["u0", "The kettle was as good as they say.", "2", "2018-07-02"]
    assert records["client_id"].nunique() == COUNT // 2


def test_yelp_s_categories_are_joined_from_the_file_of_businesses(tmp_path: Path) -> None:
    place = yelp_directory(tmp_path / "yelp")
    by_category = read("yelp", place, code_columns="category")
    assert by_category["label"].tolist()[:3] == ["Restaurants", "Hotels_&_Travel", None]
    assert set(by_category["label"]) - {None} < set(CATEGORIES)
    both = read("yelp", place, code_columns="category stars")
    assert both["label"].tolist()[:3] == ["Restaurants\t1", "Hotels_&_Travel\t2", None]
    assert read("yelp", place)["label"].tolist() == [str(i % 5 + 1) for i in range(COUNT)]
    assert in_words(CATEGORIES[3]) == "Event Planning & Services"


def test_yelp_s_categories_are_asked_for_where_they_are(tmp_path: Path) -> None:
    place = yelp_directory(tmp_path / "yelp")
    for path, code in ((place / "yelp_academic_dataset_review.json", "categories-in-another-file"),):
        with refuses(code):
            read("yelp", path, code_columns="category")
    lines(place / "yelp_academic_dataset_business.json", [{"business_id": "b0", "categories": "Ferries"}])
    with refuses("no-known-category"):
        read("yelp", place, code_columns="category")
    (place / "yelp_academic_dataset_business.json").unlink()
    with refuses("no-file-of-yelp"):
        read("yelp", place, code_columns="category stars")
    with refuses("unknown-code-column"):
        read("yelp", place, code_columns="city")


def test_imdb_of_a_directory_and_of_a_table(tmp_path: Path) -> None:
    records = read("imdb", MAKERS["imdb"](tmp_path))
    first = records.set_index("client_id").loc["train/neg/0_7"]
    assert (first["text"], first["label"]) == ("A film of a soup.\n\ntrain and neg.", "negative")
    table = tmp_path / "IMDB Dataset.csv"
    table.write_text('review,sentiment\n"Fine,<br />really",positive\nBad,negative\nBad,negative\n', "utf-8")
    records = read("imdb", table)
    assert records["text"].tolist() == ["Fine,\nreally", "Bad", "Bad"]
    assert records["label"].tolist() == ["positive", "negative", "negative"]
    assert records["client_id"].is_unique


def test_squad(tmp_path: Path) -> None:
    path = MAKERS["squad"](tmp_path)
    assert read("squad", path)["client_id"].tolist()[:3] == ["Article_0", "Article_0", "Article_1"]
    first, second, *_ = squad_questions(path)
    context = "Here is soup, of which much is known."
    assert first == Question("Article_0", context, "What is the soup?", ("soup",))
    assert second.answers == ()


def test_squad_s_questions_are_exercises_and_those_without_an_answer_are_left_out(tmp_path: Path) -> None:
    records = read("squad_questions", whole(tmp_path / "train-v2.0.json", squad_document()))
    assert len(records) == COUNT // 2
    context = "Here is soup, of which much is known."
    assert exercise_in(records["text"][0]) == Exercise("What is the soup?", "soup", context)
    assert records["client_id"].tolist()[:2] == ["Article_0", "Article_1"]


def test_squad_of_version_1_has_no_impossible_questions(tmp_path: Path) -> None:
    document = squad_document()
    for article in document["data"]:
        for paragraph in article["paragraphs"]:
            del paragraph["qas"][0]["is_impossible"]
    assert len(read("squad", whole(tmp_path / "train-v1.1.json", document))) == COUNT


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_openassistant_s_trees_and_messages_are_the_same_records(tmp_path: Path, suffix: str) -> None:
    trees = [tree(i) for i in range(COUNT)]
    of_trees = read("openassistant", lines(tmp_path / "a.trees.jsonl.gz", trees))
    path = tmp_path / f"messages{suffix}"
    if suffix == ".parquet":
        pd.DataFrame(flat(trees)).to_parquet(path)
    else:
        lines(path, flat(trees))
    pd.testing.assert_frame_equal(of_trees, read("openassistant", path))
    assert len(of_trees) == 5 * COUNT  # and not the deleted one
    assert of_trees["text"].tolist()[:3] == ["What is a soup?", "Answer 0 about the soup.", "And the old soup?"]
    assert of_trees.iloc[0].tolist()[2:] == ["en", "2023-02-05"]
    assert of_trees["client_id"].nunique() == COUNT + 3  # who asked, and three who answered


def test_a_message_without_a_writer_is_its_tree_s_and_moves_no_other(tmp_path: Path) -> None:
    trees = [tree(0), tree(1, users=False)]
    mixed = read("openassistant", lines(tmp_path / "a.jsonl", trees))["client_id"].tolist()
    named = read("openassistant", lines(tmp_path / "b.jsonl", [tree(0), tree(1)]))["client_id"].tolist()
    half = len(named) // 2
    assert mixed == [*named[:half], *["1.p"] * half]


def test_a_tree_may_nest_deep(tmp_path: Path) -> None:
    rows = [message("0", "prompter", "text 0", message_tree_id="0", parent_id=None)]
    rows += [
        message(str(i), "prompter", f"text {i}", message_tree_id="0", parent_id=str(i - 1)) for i in range(1, 3000)
    ]
    rows.append(message("other", "prompter", "text", message_tree_id="other", parent_id=None))
    assert len(read("openassistant", lines(tmp_path / "deep.jsonl", rows))) == 3001


def test_conversations_that_open_alike_are_one_client(tmp_path: Path) -> None:
    records = read("hh", lines(tmp_path / "train.jsonl", hh_rows()))
    assert records["client_id"].iloc[0] == records["client_id"].iloc[-1]
    assert records["client_id"].nunique() == COUNT
    assert records["text"].iloc[0] == "Human: How do I mend a soup?\n\nAssistant: With patience."


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_alpaca_has_what_people_wrote(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"alpaca{suffix}"
    records = read("alpaca", (whole if suffix == ".json" else lines)(path, alpaca_rows()))
    assert records["text"].tolist()[:2] == ["Describe the soup.", "Describe the kettle.\nIn one line."]


def test_articles_of_xsum_are_read_from_parquet_too_and_those_without_text_are_left_out(tmp_path: Path) -> None:
    rows = [*xsum_rows(), {"document": " ", "summary": "None.", "id": "7"}]
    pd.DataFrame(rows).to_parquet(tmp_path / "xsum.parquet")
    found = read("xsum", tmp_path / "xsum.parquet")
    told = read("xsum", lines(tmp_path / "xsum.jsonl", rows))
    assert found.equals(told)
    assert found["text"].iloc[0] == "A soup was found in the river."
    assert len(found) == len(rows) - 1


def test_prompts_of_safe_rlhf_are_read_without_their_responses(tmp_path: Path) -> None:
    found = read("safe_rlhf", lines(tmp_path / "train.jsonl", safe_rlhf_rows()))
    assert found["text"].tolist() == [one["prompt"] for one in safe_rlhf_rows()]
    assert not found["text"].str.contains("hat").any()


WRONG: list[tuple[PublishedName, str, Any, str]] = [
    ("yelp", "r.json", [{"text": SECRET, "user_id": "u", "date": "2020-01-01"}], "line 1: no 'stars'"),
    ("yelp", "r.json", [{"stars": 1, "text": 5, "user_id": "u", "date": "d"}], "line 1: 'text' is not text"),
    ("yelp", "r.json", [{"business_id": "b", "name": SECRET}], "line 1: no 'user_id'"),
    ("yelp", "r.txt", [], "no name in .jsonl"),
    ("imdb", "r.csv", f"text,label\n{SECRET},1\n", "no column 'review'"),
    ("imdb", "r.csv", f"review,sentiment\n{SECRET},1\n", "row 1: 'sentiment' is neither"),
    ("banking77", "r.csv", f"text,label\n{SECRET},x\n", "no column 'category'"),
    ("squad", "s.json", {"version": "1.1"}, "the file: no 'data'"),
    ("squad", "s.json", {"data": [{"title": "t", "paragraphs": [{"text": SECRET}]}]}, "article 1, paragraph 1: no 'context'"),
    ("squad", "s.json", {"data": []}, "no records"),
    ("squad", "s.json", [1], "the file: no 'data'"),
    ("openassistant", "o.jsonl", [{"message_id": "1", "text": SECRET}], "line 1: no 'message_tree_id'"),
    ("openassistant", "o.jsonl", [{"message_tree_id": "1", "prompt": {"message_id": "1", "text": SECRET}}], "line 1: no 'role'"),
    ("hh", "h.jsonl", [{"chosen": SECRET, "rejected": SECRET}], "a transcript without turns"),
    ("hh", "h.jsonl", [{"prompt": SECRET, "response": SECRET}], "line 1: no 'chosen'"),
    ("alpaca", "a.json", {"instruction": SECRET}, "no list"),
    ("alpaca", "a.json", [{"instruction": SECRET, "input": ""}], "object 1: no 'output'"),
    ("safe_rlhf", "p.jsonl", [{"prompt": SECRET, "response_0": "a"}], "line 1: no 'response_1'"),
    ("xsum", "x.jsonl", [{"document": SECRET, "id": "1"}], "line 1: no 'summary'"),
    ("xsum", "x.jsonl", [{"document": 5, "summary": SECRET, "id": "1"}], "line 1: 'document' is not text"),
    ("pubmed", "p.xml", f"<Hansard>{SECRET}</Hansard>", "root element is <Hansard>"),
    ("pubmed", "p.xml", "<PubmedArticleSet></PubmedArticleSet>", "no records"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "file", "content", "missing"), WRONG, ids=[f"{one[0]} {one[3]}" for one in WRONG])
def test_a_wrong_file_is_refused_in_one_sentence(
    name: PublishedName, file: str, content: Any, missing: str, tmp_path: Path
) -> None:
    path = tmp_path / file
    if isinstance(content, str):
        path.write_text(content, "utf-8")
    else:
        (lines if "json" in file and isinstance(content, list) and name not in ("alpaca", "squad") else whole)(
            path, content
        )
    with pytest.raises(InputError) as caught:
        read(name, path)
    told = str(caught.value)
    assert str(path) in told
    assert missing in told
    assert f"corpus.source={name} reads {PUBLISHED[name].form}; give that" in told
    assert SECRET not in told + repr(vars(caught.value))
    assert "\n" not in told


@each
def test_another_form_s_file_is_refused(name: PublishedName, tmp_path: Path) -> None:
    """Every data set's file, given as every other: never read as something it is not."""
    for other, make in MAKERS.items():
        folder = tmp_path / other
        folder.mkdir()
        path = make(folder)
        if PUBLISHED[other].form == PUBLISHED[name].form:
            continue
        with pytest.raises(InputError) as caught:
            read(name, path)
        assert f"corpus.source={name} " in str(caught.value)


@each
def test_what_is_not_there_or_cannot_be_asked(name: PublishedName, tmp_path: Path) -> None:
    with refuses("place-not-set", parameter="corpus.path"):
        existing_published(conf_base(Corpus, source=name))
    with refuses("missing-place", parameter="corpus.path"):
        read(name, tmp_path / "nowhere")
    with refuses("source-has-own-columns", parameter="corpus.label_column", value="x"):
        read(name, MAKERS[name](tmp_path), label_column="x")


def test_damage_is_named(tmp_path: Path) -> None:
    cut = tmp_path / "train.jsonl.gz"
    cut.write_bytes(gzip.compress(json.dumps(hh_rows()).encode())[:-30])
    with refuses("damaged-gzip"):
        read("hh", cut)
    (tmp_path / "bad.json").write_text('{"data": [', "utf-8")
    with refuses("document-not-json"):
        read("squad", tmp_path / "bad.json")
    (tmp_path / "other.jsonl").write_bytes(b'{"chosen": "caf\xe9"}\n')
    with refuses("line-not-utf8"):
        read("hh", tmp_path / "other.jsonl")
    (tmp_path / "one.jsonl").write_text(json.dumps(yelp_rows()[0]), "utf-8")
    with refuses("texts-of-one-client"):
        read("yelp", tmp_path / "one.jsonl")
    (tmp_path / "empty.csv").write_text("", "utf-8")
    with refuses("empty-place"):
        read("banking77", tmp_path / "empty.csv")


@given(st.lists(st.tuples(st.text(min_size=1), st.integers(1, 5)), min_size=1, max_size=5))
def test_any_json_text_comes_through(tmp_path_factory: pytest.TempPathFactory, written: list[tuple[str, int]]) -> None:
    rows = [{"user_id": "u", "stars": stars, "text": f"a{text}", "date": "2020-01-01"} for text, stars in written]
    path = lines(tmp_path_factory.getbasetemp() / "any.json", rows)
    assert [(row.text, row.label) for row in yelp(path)] == [(f"a{text}", str(stars)) for text, stars in written]


@pytest.mark.shared
def test_the_real_banking77() -> None:
    path = real_data("banking77/train.csv")
    records = read("banking77", path)
    assert (len(records), records["label"].nunique()) == (10003, 77)
    as_table = pd.read_csv(path)
    assert records["text"].tolist() == as_table["text"].tolist()
    assert records["client_id"].is_unique


@pytest.mark.shared
def test_the_real_conversations() -> None:
    records = read("hh", real_data("preferences/hh_harmless_test.jsonl.gz"))
    assert (len(records), records["client_id"].nunique()) == (2312, 2178)
    assert records["text"].str.startswith("Human:").all()


@pytest.mark.shared
def test_the_real_pages_of_pubmed() -> None:
    records = read("pubmed", real_data("raw_pages/pubmed"))
    assert records["client_id"].is_unique
    assert len(records) > 50
    assert records["label"].notna().mean() > 0.5
    assert records["date"].str.fullmatch(r"\d{4}-\d\d-\d\d").all()

"""Preference pairs from every form, and that what is no preference is left out.

Private pairs: who is held out, and public prompts that are copies of private ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pandas as pd
import pytest
from fsspec import AbstractFileSystem

from fedtext.corpora.preferences import (
    PAIR_COLUMNS,
    PairForm,
    read_pairs,
    read_public_pairs,
    split_by_prompt,
    validate_private_prompts,
    with_new_prompts,
)
from fedtext.corpora.records import SPLITS
from fedtext.corpora.splits import client_splits
from fedtext.params.corpus import Corpus, Partition
from fedtext.pipelines.pairs.nodes import split_pairs
from fedtext.system import remote_files
from fedtext.system.errors import InputError
from tests.corpora.published.forms import COUNT, flat, hh_rows, lines, tree
from tests.parameters import conf_base
from tests.real_data import real_data
from tests.refusals import refuses

SECRET = "the patient in room seven"


def tldr_row(choice: int, worker: str = "w") -> dict[str, Any]:
    summaries = [{"text": " first", "policy": "ref", "note": None}, {"text": " second", "policy": "sup1"}]
    info = {"id": "t3_1", "post": "A long story.", "title": "Story", "subreddit": "tales"}
    return {
        "info": info,
        "summaries": summaries,
        "choice": choice,
        "worker": worker,
        "batch": "batch3",
        "split": "train",
    }


def test_hh(tmp_path: Path) -> None:
    pairs = read_pairs("hh", lines(tmp_path / "a.jsonl.gz", hh_rows()))
    assert tuple(pairs.columns) == PAIR_COLUMNS
    assert len(pairs) == COUNT + 1
    assert pairs.iloc[-1].tolist()[:3] == [
        "Human: How do I mend a soup?\n\nAssistant: Which one?\n\nHuman: The red one.\n\nAssistant:",
        "With patience.",
        "You do not.",
    ]
    assert pairs["client_id"].iloc[0] == pairs["client_id"].iloc[-1]


@pytest.fixture
def in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AbstractFileSystem]:
    """A file system at addresses, and no copies of earlier tests."""
    monkeypatch.setattr(remote_files, "_copies", {})
    monkeypatch.setattr(remote_files.platformdirs, "user_cache_path", lambda _: tmp_path / "cache")
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()


def test_public_pairs_are_read_at_an_address_as_a_file_or_as_parts(
    tmp_path: Path, in_memory: AbstractFileSystem
) -> None:
    rows = pd.DataFrame({"prompt": ["p", "q"], "chosen": ["a", "c"], "rejected": ["b", "d"]})
    in_memory.pipe_file("/bucket/pairs.csv", rows.to_csv(index=False).encode())
    for number in (0, 1):
        rows.iloc[[number]].to_parquet(part := tmp_path / "part.parquet")
        in_memory.pipe_file(f"/bucket/parts/{number}.parquet", part.read_bytes())
    rows.to_csv(tmp_path / "pairs.csv", index=False)
    here = read_public_pairs(str(tmp_path / "pairs.csv"))
    assert here["chosen"].tolist() == ["a", "c"]
    for address in ("memory://bucket/pairs.csv", "memory://bucket/parts"):
        pd.testing.assert_frame_equal(read_public_pairs(address), here)
    with refuses("nothing-at-address", parameter="dpprefsyn.public_pairs"):
        read_public_pairs("memory://bucket/none.csv")
    (tmp_path / "empty").mkdir()
    for nothing in ("empty", "none.csv"):
        with refuses("missing-pairs"):
            read_public_pairs(str(tmp_path / nothing))


def test_openassistant_compares_best_and_worst(tmp_path: Path) -> None:
    trees = [tree(i) for i in range(COUNT)]
    pairs = read_pairs("openassistant", lines(tmp_path / "a.trees.jsonl", trees))
    assert len(pairs) == COUNT
    asked = "Human: What is a soup?\n\nAssistant:"
    assert pairs.iloc[0].tolist() == [asked, "Answer 0 about the soup.", "Answer 2 about the soup.", "p0"]
    pd.testing.assert_frame_equal(pairs, read_pairs("openassistant", lines(tmp_path / "flat.jsonl", flat(trees))))
    nameless = read_pairs("openassistant", lines(tmp_path / "b.jsonl", [tree(0, users=False)]))
    assert nameless["client_id"].tolist() == ["0.p"]
    mixed = read_pairs("openassistant", lines(tmp_path / "c.jsonl", [tree(0, users=False), *trees[1:]]))
    assert mixed["client_id"].tolist() == ["0.p", *pairs["client_id"][1:]], "who wrote one is no other's business"


def test_openassistant_s_prompt_is_the_conversation_so_far(tmp_path: Path) -> None:
    one = tree(0)
    last = one["prompt"]["replies"][0]["replies"][0]
    last["replies"] = [
        {
            "message_id": f"z{rank}",
            "role": "assistant",
            "text": f"Old {rank}.",
            "lang": "en",
            "rank": rank,
            "user_id": "a",
        }
        for rank in (1, 0)
    ]
    pairs = read_pairs("openassistant", lines(tmp_path / "a.jsonl", [one]))
    said = "Human: What is a soup?\n\nAssistant: Answer 0 about the soup.\n\nHuman: And the old soup?\n\nAssistant:"
    assert pairs.iloc[1].tolist() == [said, "Old 0.", "Old 1.", "p0"]


def test_tldr(tmp_path: Path) -> None:
    pairs = read_pairs("tldr", lines(tmp_path / "batch3.json", [tldr_row(0), tldr_row(1, "x")]))
    assert pairs.to_numpy().tolist() == [
        ["A long story.", "first", "second", "w"], ["A long story.", "second", "first", "x"]
    ]  # fmt: skip


def test_an_empty_post_refuses_no_other_s_pair(tmp_path: Path) -> None:
    """Were the file refused, one worker's record would decide whether the others' are read."""
    empty = tldr_row(1, "x") | {"info": {"post": ""}}
    pairs = read_pairs("tldr", lines(tmp_path / "batch3.json", [tldr_row(0), empty]))
    assert pairs["client_id"].tolist() == ["w"]


def test_a_rank_that_is_missing_or_no_number(tmp_path: Path) -> None:
    unranked, damaged = tree(0), tree(1)
    unranked["prompt"]["replies"][0]["rank"] = float("nan")  # as pandas writes what is not there
    assert len(read_pairs("openassistant", lines(tmp_path / "a.jsonl", [unranked, tree(2)]))) == 2
    damaged["prompt"]["replies"][0]["rank"] = float("inf")
    with refuses("rank-not-a-number"):
        read_pairs("openassistant", lines(tmp_path / "b.jsonl", [damaged]))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "jsonl.gz"])
def test_a_table_in_every_format(tmp_path: Path, suffix: str) -> None:
    rows = pd.DataFrame({"prompt": ["p", "q"], "chosen": ["a", "b"], "rejected": ["c", "d"], "source": ["x", "y"]})
    path = tmp_path / f"pairs.{suffix}"
    if suffix == "csv":
        rows.to_csv(path, index=False)
    elif suffix == "parquet":
        rows.to_parquet(path)
    else:
        rows.to_json(path, orient="records", lines=True)
    pairs = read_pairs("table", path)
    assert pairs[["prompt", "chosen", "rejected"]].to_numpy().tolist() == [["p", "a", "c"], ["q", "b", "d"]]
    assert pairs["client_id"].is_unique
    rows.assign(client_id=[7, 7]).to_json(tmp_path / "owned.jsonl", orient="records", lines=True)
    assert read_pairs("table", tmp_path / "owned.jsonl")["client_id"].tolist() == ["7", "7"]
    rows.assign(client_id=["ann", "ann "]).to_csv(tmp_path / "owned.csv", index=False)
    assert read_pairs("table", tmp_path / "owned.csv")["client_id"].tolist() == ["ann", "ann"]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "jsonl.gz"])
def test_owners_are_of_the_column_that_is_named_and_never_overlooked(tmp_path: Path, suffix: str) -> None:
    """Taken for absent, each pair would be a client of its own, and the report would speak of whole people."""

    def written(column: str) -> Path:
        rows = pd.DataFrame({"prompt": ["p", "q"], "chosen": ["a", "b"], "rejected": ["c", "d"], column: ["x", "x"]})
        path = tmp_path / f"{column.strip()}.{suffix}"
        by = {"csv": rows.to_csv, "parquet": rows.to_parquet}.get(suffix)
        by(path, index=False) if by else rows.to_json(path, orient="records", lines=True)
        return path

    assert read_pairs("table", written("annotator"), "annotator")["client_id"].tolist() == ["x", "x"]
    with refuses("missing-column", value="person"):
        read_pairs("table", written("annotator"), "person")
    with refuses("column-nearly-named", value="client_id"):
        read_pairs("table", written("Client_ID"))


def test_a_column_that_looks_like_the_owners_is_not_overlooked_unless_one_says_so(tmp_path: Path) -> None:
    rows = pd.DataFrame({"prompt": ["p", "q"], "chosen": ["a", "b"], "rejected": ["c", "d"], "worker_id": ["x", "x"]})
    rows.to_csv(tmp_path / "a.csv", index=False)
    with refuses("column-may-name-clients", parameter="corpus.client_column"):
        read_pairs("table", tmp_path / "a.csv")
    assert read_pairs("table", tmp_path / "a.csv", None)["client_id"].is_unique


def test_two_columns_of_owners_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("prompt,chosen,rejected,client_id,client_id\np,a,b,x,y\n", encoding="utf-8")
    with refuses("column-twice", value="client_id"):
        read_pairs("table", tmp_path / "a.csv")


def test_what_is_no_preference_is_left_out(tmp_path: Path) -> None:
    rows = [("p", "a", "b"), ("p", "a", " a "), ("p", " ", "b"), ("p", "a", ""), (" ", "a", "b")]
    table = pd.DataFrame(rows, columns=["prompt", "chosen", "rejected"])
    table.to_csv(tmp_path / "a.csv", index=False)
    assert len(read_pairs("table", tmp_path / "a.csv")) == 1
    table[1:].to_csv(tmp_path / "b.csv", index=False)
    with refuses("no-pairs"):
        read_pairs("table", tmp_path / "b.csv")


def test_answers_to_two_prompts_are_no_preference_and_refuse_no_file(tmp_path: Path) -> None:
    start = "\n\nHuman: How?\n\nAssistant: So.\n\nHuman: "
    two = {"chosen": f"{start}And now?\n\nAssistant: Thus.", "rejected": f"{start}And then?\n\nAssistant: No."}
    assert len(read_pairs("hh", lines(tmp_path / "a.jsonl", [two, *hh_rows()]))) == COUNT + 1


@pytest.mark.parametrize(
    ("form", "rows", "missing"),
    [
        (
            "hh",
            [{"chosen": f"x{SECRET}", "rejected": f"y{SECRET}"}],
            "line 1: 'chosen' and 'rejected' do not begin alike",
        ),
        ("hh", [{"prompt": SECRET}], "line 1: no 'chosen'"),
        ("openassistant", [{"prompt": SECRET}], "line 1: no 'message_tree_id'"),
        ("tldr", [{**tldr_row(0), "choice": 2}], "not two 'summaries' with a 'choice'"),
        ("tldr", [{**tldr_row(0), "worker": None}], "line 1: no 'worker'"),
        ("table", [{"prompt": SECRET, "chosen": "a"}], "no column 'rejected'"),
        ("table", [{"prompt": SECRET, "chosen": "a", "rejected": 5}], "row 1: 'rejected' is not text"),
    ],
)
def test_another_form_is_refused(tmp_path: Path, form: PairForm, rows: list[Any], missing: str) -> None:
    path = lines(tmp_path / "pairs.jsonl", rows)
    with pytest.raises(InputError) as caught:
        read_pairs(form, path)
    told = str(caught.value)
    assert str(path) in told
    assert missing in told
    assert f"the form '{form}' reads" in told
    assert SECRET not in told


def test_no_file(tmp_path: Path) -> None:
    with refuses("missing-pairs"):
        read_pairs("hh", tmp_path / "none.jsonl")


@pytest.mark.shared
@pytest.mark.parametrize(
    ("form", "name", "pairs", "clients"),
    [("hh", "hh_harmless_test.jsonl.gz", 2303, 2169), ("table", "alpaca_eval_pairs.jsonl.gz", 9104, 9104)],
)
def test_real_pairs(form: PairForm, name: str, pairs: int, clients: int) -> None:
    found = read_pairs(form, real_data(f"preferences/{name}"))
    assert (len(found), found["client_id"].nunique()) == (pairs, clients)
    assert not (found["chosen"] == found["rejected"]).any()


def test_an_answer_that_is_not_there_is_no_preference_and_no_fault_of_the_file(tmp_path):
    rows = [
        {"prompt": "p", "chosen": "a", "rejected": other, "client_id": "x"} for other in ("b", None, "", float("nan"))
    ]
    assert read_pairs("table", lines(tmp_path / "a.jsonl", rows))["rejected"].tolist() == ["b"]


def test_what_is_no_unicode_text_is_refused(tmp_path):
    rows = [{"prompt": f"p{i}", "chosen": "a", "rejected": "b\ud83d" if i else "b"} for i in range(2)]
    with refuses("unusable-rows", value="half a surrogate pair, not Unicode text"):
        read_pairs("table", lines(tmp_path / "a.jsonl", rows))


PARTITION = conf_base(Partition, validation_share=0.2, test_share=0.2)


def pairs(tmp_path: Path, *, owners: bool = False, prompts: int = 40, each: int = 5) -> pd.DataFrame:
    """Several pairs to every prompt, some of them equal."""
    rows = [
        {"prompt": f"prompt {p}", "chosen": f"yes {max(k, 1)}", "rejected": "no", "client_id": f"person {p % 7} {k}"}
        for p in range(prompts)
        for k in range(each)
    ]
    table = pd.DataFrame(rows)
    (table if owners else table.drop(columns="client_id")).to_csv(tmp_path / "pairs.csv", index=False)
    return read_pairs("table", tmp_path / "pairs.csv")


def split(table: pd.DataFrame, params: Partition = PARTITION) -> list[pd.DataFrame]:
    found = table["client_id"].map(client_splits(table, params))
    return [table[found == name] for name in SPLITS]


def test_pairs_without_owners_share_no_prompt_with_held_out_ones(tmp_path: Path) -> None:
    table = pairs(tmp_path)
    by_name = [set(part["prompt"]) for part in split(table)]
    assert by_name[0] & by_name[2]  # what dealing by names of single pairs does
    train, validation, test = (set(part["prompt"]) for part in split(split_by_prompt(table, PARTITION)))
    assert not train & test
    assert not train & validation
    assert not validation & test
    assert len(train | validation | test) == 40


def test_a_pair_s_split_follows_from_the_pair_itself(tmp_path: Path) -> None:
    table = pairs(tmp_path)
    every, some = split_by_prompt(table, PARTITION), split_by_prompt(table.iloc[50:], PARTITION)
    assert every["split"].iloc[50:].tolist() == some["split"].tolist()


def test_owned_pairs_are_split_by_their_owners(tmp_path: Path) -> None:
    owned = pairs(tmp_path, owners=True)
    assert split_by_prompt(owned, PARTITION) is owned
    mixed = pd.concat([owned, pairs(tmp_path)], ignore_index=True)
    dealt = split_by_prompt(mixed, PARTITION)
    of_owners = client_splits(owned, PARTITION)
    assert dealt["split"].iloc[: len(owned)].tolist() == [of_owners[one] for one in owned["client_id"]]


def test_public_pairs_are_held_out_by_new_prompts_alone() -> None:
    train, validation, test = (pd.DataFrame({"prompt": list(prompts)}) for prompts in ("aabc", "add", "bedf"))
    kept = with_new_prompts(train, validation, test)
    assert ["".join(one["prompt"]) for one in kept] == ["aabc", "dd", "ef"]
    with refuses("no-prompt-held-out"):
        with_new_prompts(train, validation, pd.DataFrame({"prompt": ["c", "d"]}))


@pytest.mark.parametrize("public", [True, False])
def test_of_a_private_corpus_no_pair_is_left_out_for_what_others_hold(public: bool) -> None:
    rows = [(f"prompt {i // 2}", "yes", f"no {i}", f"person {i}") for i in range(60)]
    table = pd.DataFrame(rows, columns=["prompt", "chosen", "rejected", "client_id"])
    train, validation, test = split_pairs(table, conf_base(Corpus, source="table", declared_public=public), PARTITION)
    assert bool(set(train["prompt"]) & set(test["prompt"])) is not public
    assert (len(train) + len(validation) + len(test) == 60) is not public


@pytest.mark.parametrize("form", ["hh", "openassistant", "table"])
@pytest.mark.parametrize("copied", [True, False])
def test_public_prompts_that_are_the_private_ones_are_refused_in_any_form(
    tmp_path: Path, form: PairForm, copied: bool
) -> None:
    asked = [f"How do I mend soup {number}?" for number in range(10)]
    if form == "hh":
        turns = [f"\n\nHuman: {one}\n\nAssistant:" for one in asked]
        rows = [{"chosen": f"{turn} So.", "rejected": f"{turn} No."} for turn in turns]
        private = read_pairs("hh", lines(tmp_path / "a.jsonl", rows))
    elif form == "openassistant":
        private = read_pairs("openassistant", lines(tmp_path / "a.jsonl", [tree(number) for number in range(10)]))
        asked = ["What is a  soup?"] * 10
    else:
        private = pd.DataFrame({"prompt": asked})
    public = pd.DataFrame({"prompt": [*asked[:3], *(f"Other {n}" for n in range(7))] if copied else ["Other", "So."]})
    if copied:
        with refuses("public-prompts-are-private"):
            validate_private_prompts(private, public, "prompts.csv")
    else:
        validate_private_prompts(private, public, "prompts.csv")

"""Private pairs: who is held out, and public prompts that are copies of private ones."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fedtext.corpora.preferences import PairForm, read_pairs
from fedtext.corpora.private_pairs import dealt_by_prompt, refuse_private_prompts, with_new_prompts
from fedtext.corpora.records import SPLITS
from fedtext.corpora.splits import client_splits
from fedtext.params.corpus import Corpus, Partition
from fedtext.pipelines.pairs.nodes import split_pairs
from fedtext.system.errors import InputError
from tests.corpora.published.forms import lines, tree
from tests.parameters import conf_base

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
    train, validation, test = (set(part["prompt"]) for part in split(dealt_by_prompt(table, PARTITION)))
    assert not train & test
    assert not train & validation
    assert not validation & test
    assert len(train | validation | test) == 40


def test_a_pair_s_split_follows_from_the_pair_itself(tmp_path: Path) -> None:
    table = pairs(tmp_path)
    every, some = dealt_by_prompt(table, PARTITION), dealt_by_prompt(table.iloc[50:], PARTITION)
    assert every["split"].iloc[50:].tolist() == some["split"].tolist()


def test_owned_pairs_are_split_by_their_owners(tmp_path: Path) -> None:
    owned = pairs(tmp_path, owners=True)
    assert dealt_by_prompt(owned, PARTITION) is owned
    mixed = pd.concat([owned, pairs(tmp_path)], ignore_index=True)
    dealt = dealt_by_prompt(mixed, PARTITION)
    of_owners = client_splits(owned, PARTITION)
    assert dealt["split"].iloc[: len(owned)].tolist() == [of_owners[one] for one in owned["client_id"]]


def test_public_pairs_are_held_out_by_new_prompts_alone() -> None:
    train, validation, test = (pd.DataFrame({"prompt": list(prompts)}) for prompts in ("aabc", "add", "bedf"))
    kept = with_new_prompts(train, validation, test)
    assert ["".join(one["prompt"]) for one in kept] == ["aabc", "dd", "ef"]
    with pytest.raises(InputError, match="prompts of all 2 test pairs stand in training"):
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
        with pytest.raises(InputError, match=r"holds prompts of the private pairs"):
            refuse_private_prompts(private, public, "prompts.csv")
    else:
        refuse_private_prompts(private, public, "prompts.csv")

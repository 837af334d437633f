"""PE+SFT: the best released samples, the lists they are trained on, and the prompts of the final set."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fedtext.algorithms.pe_sft import best_samples, final_prompts, training_examples
from fedtext.params.pe_sft import PeSft

PUBLIC = pd.DataFrame({"text": [f"public {i}" for i in range(9)]})


def pe_sft(**changes: Any) -> PeSft:
    return PeSft.model_validate({"samples": 6, "lists": 5, "synthetic_texts": 8} | changes)


def table(texts: str, votes: list[float], labels: list[str | None] | None = None) -> pd.DataFrame:
    return pd.DataFrame({"text": list(texts), "label": labels or [None] * len(texts), "votes": votes})


def shown(prompt: str) -> set[str]:
    return {line for line in prompt.splitlines()[1:] if not line.startswith("Original Text Sample")}


def test_the_best_are_distinct_and_those_with_most_votes_in_any_round() -> None:
    rounds = [table("abcd", [9.0, 1.0, 5.0, 0.5]), table("bbefgh", [7.0, 7.0, 4.0, 3.0, 2.0, 0.1])]
    assert best_samples(pd.concat(rounds, ignore_index=True), pe_sft())["text"].tolist() == list("abcefg")


def test_classes_give_equally_many() -> None:
    labels: list[str | None] = ["t", "t", "t", "t", "r", "r", "r"]
    best = best_samples(table("abcdxyz", [9.0, 8, 7, 6, 3, 2, 1], labels), pe_sft())
    assert best["label"].value_counts().to_dict() == {"t": 3, "r": 3}
    assert {"a", "x"} <= set(best["text"])


def test_lists_hold_six_distinct_samples_of_one_class_under_its_header() -> None:
    best = table("abcdefghuvwxyz", [1.0] * 14, ["t"] * 8 + ["r"] * 6)
    examples = training_examples(best, pe_sft())
    lists = (examples["prompt"] + examples["text"] + "\n").tolist()
    assert len(lists) == 5
    for text in lists:
        label = "t" if "about t" in text.splitlines()[0] else "r"
        assert len(shown(text)) == 6
        assert shown(text) <= set(best["text"][best["label"] == label])
    assert len(set(lists)) > 1
    pd.testing.assert_frame_equal(examples, training_examples(best, pe_sft()))


def test_final_prompts_show_the_best_samples_or_public_ones() -> None:
    best = table("abcdef", [1.0] * 6)
    assert set.union(*map(shown, final_prompts(best, PUBLIC, pe_sft())["prompt"])) <= set("abcdef")
    public = final_prompts(best, PUBLIC, pe_sft(shots="public", final_responses=4))
    assert len(public) == 3
    assert set.union(*map(shown, public["prompt"])) <= set(PUBLIC["text"])

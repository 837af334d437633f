"""What the first candidates are asked for: classes in turn, by examples of their own or by name alone.

First candidates, variation prompts, adaptive length, lookahead, the next population and the expansion's prompts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.algorithms.pe import candidates as module
from fedtext.algorithms.pe.candidates import (
    adapted_lengths,
    first_prompts,
    lookahead_mean,
    next_population,
    public_texts,
    variation_prompts,
    variations,
)
from fedtext.algorithms.pe.final_set import seed_prompts
from fedtext.generation.prompt_forms import SampleList
from fedtext.models.language_model import MaskedModel
from fedtext.params.corpus import Chunking
from tests.algorithms.pe.examples import evolution, table
from tests.algorithms.popri.examples import unit_rows
from tests.parameters import conf_base
from tests.refusals import refuses

PUBLIC = table([f"mail {i}" for i in range(4)] + [f"tag {i}" for i in range(2)], ["email"] * 4 + ["xml"] * 2)


def test_a_class_is_asked_for_by_its_own_samples_or_by_its_name_alone() -> None:
    asked = first_prompts(PUBLIC, evolution(form="aug_pe", labels="email xml card_arrival", population=9))
    assert asked["label"].tolist() == ["email", "xml", "card_arrival"] * 3
    of_class = {label: "".join(prompts) for label, prompts in asked.groupby("label")["prompt"]}
    assert "mail " in of_class["email"]
    assert "tag " not in of_class["email"]
    for label, name in (("xml", "xml"), ("card_arrival", "card arrival")):  # too few samples, and none
        assert "tag " not in of_class[label]
        assert "mail " not in of_class[label]
        assert f" about {name}" in of_class[label]


def test_without_classes_any_samples_are_shown() -> None:
    asked = first_prompts(PUBLIC, evolution(form="aug_pe", population=30))
    shown = "".join(asked["prompt"])
    assert all(text in shown for text in PUBLIC["text"])
    assert asked["label"].isna().all()


def test_public_texts_are_a_start_that_holds_each_at_most_once() -> None:
    start = public_texts(PUBLIC, evolution(population=6))
    assert sorted(start["text"]) == sorted(PUBLIC["text"])
    with refuses("no-public-text"):
        public_texts(pd.DataFrame({"text": [], "label": []}), evolution(population=6))


PUBLIC_VARIATION = pd.DataFrame({"text": [f"public text {i:02d}" for i in range(20)]})


def shown(prompt: str) -> list[str]:
    return [line for line in prompt.splitlines()[1:] if not line.startswith("Original Text Sample")]


def test_the_first_candidates_are_distinct_public_texts_while_there_are_enough() -> None:
    few = public_texts(PUBLIC_VARIATION, evolution(population=20))
    assert sorted(few["text"]) == sorted(PUBLIC_VARIATION["text"])
    many = public_texts(PUBLIC_VARIATION, evolution(population=45, labels=("tea", "rum")))
    assert many["text"].value_counts().isin([2, 3]).all()
    assert many["label"].tolist()[:3] == ["tea", "rum", "tea"]
    assert (
        public_texts(PUBLIC_VARIATION, evolution(seed=1))["text"].tolist()
        != public_texts(PUBLIC_VARIATION, evolution())["text"].tolist()
    )
    with refuses("no-public-text"):
        public_texts(PUBLIC_VARIATION[:0], evolution())


@given(texts=st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=12), seed=st.integers(0, 99))
def test_a_prompt_shows_its_parent_last_after_distinct_others(texts: list[str], seed: int) -> None:
    prompts = variation_prompts(table(texts), SampleList(), np.random.default_rng(seed))
    for parent, prompt in zip(texts, prompts["prompt"], strict=True):
        samples = shown(prompt)
        assert len(samples) == 3
        assert samples[-1] == parent
        others = samples[: min(2, len(set(texts)) - 1)]
        assert len(set(others)) == len(others)
        assert parent not in others


def test_a_prompt_shows_and_names_its_own_class_only() -> None:
    parents = table(list("abcdef"), ["tea", "rum"] * 3)
    prompts = variation_prompts(parents, SampleList(), np.random.default_rng(0))
    for label, prompt in zip(prompts["label"], prompts["prompt"], strict=True):
        assert label in prompt.splitlines()[0]
        assert set(shown(prompt)) <= set(parents["text"][parents["label"] == label])


@given(lengths=st.lists(st.integers(0, 64), min_size=1, max_size=50), spread=st.floats(0, 30), seed=st.integers(0, 9))
def test_adapted_lengths_stay_within_the_chunk_and_without_spread_are_the_parents(
    lengths: list[int], spread: float, seed: int
) -> None:
    chunking = conf_base(Chunking)
    drawn = adapted_lengths(lengths, spread, chunking, np.random.default_rng(seed))
    assert all(8 <= n <= 64 for n in drawn)
    assert adapted_lengths(lengths, 0.0, chunking, np.random.default_rng(seed)) == [max(n, 8) for n in lengths]


def test_adapted_lengths_have_the_spread_that_was_asked_for() -> None:
    drawn = adapted_lengths(np.full(4000, 500), 20.0, conf_base(Chunking, length=1000), np.random.default_rng(0))
    assert np.std(drawn) == pytest.approx(20, rel=0.05)
    assert np.mean(drawn) == pytest.approx(500, abs=2)


def test_lookahead_is_the_direction_of_the_mean_and_a_text_without_variations_stands_for_itself() -> None:
    own, varied, parent = unit_rows(0, 3), unit_rows(1, 6), np.repeat([0, 1, 2], 2)
    varied[[1, 4, 5]] = 0.0
    ahead = lookahead_mean(own, varied, parent)
    mean = varied[2:4].mean(axis=0)
    assert np.allclose(ahead, [varied[0], mean / np.linalg.norm(mean), own[2]])


def test_an_empty_variation_is_left_out_and_aug_pe_keeps_the_parents_first() -> None:
    survivors = table(["a", "b"], votes=[2.0, 1.0])
    varied = table(["a1", "", "b1", "b2"], parent=[0, 0, 1, 1])
    assert next_population(survivors, varied, evolution(variations=2))["text"].tolist() == ["a1", "b1", "b2"]
    kept = next_population(survivors, varied, evolution(form="aug_pe", variations=2))
    assert kept["text"].tolist() == ["a", "b", "a1", "b1", "b2"]
    assert list(kept.columns) == ["text", "label"]


def test_a_masked_model_fills_every_parent_s_copies_each_in_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def fill(_: Any, __: Any, texts: list[str], params: Any, *, length: int, seed: int, label: str) -> list[str]:
        seen[label] = texts, length, seed
        return [f"{text}{i}" for i, text in enumerate(texts)]

    monkeypatch.setattr(MaskedModel, "load", lambda _: (None, None))
    monkeypatch.setattr(module, "fill_masks", fill)
    parameters = evolution(variation="mask_filling")
    made = variations(
        MaskedModel("x"),
        table(["a", "b"], ["t", "r"]),
        2,
        "round 2",
        parameters,
        conf_base(Chunking, length=9, min_tokens=1),
    )
    assert made["text"].tolist() == ["a0", "a1", "b2", "b3"]
    assert made["parent"].tolist() == [0, 0, 1, 1]
    assert made["label"].tolist() == ["t", "t", "r", "r"]
    variations(MaskedModel("x"), table(["a"]), 1, "round 3", parameters, conf_base(Chunking))
    assert seen["variations, round 2"][:2] == (["a", "a", "b", "b"], 9)
    assert seen["variations, round 2"][2] != seen["variations, round 3"][2]


def test_seed_prompts_show_survivors_of_any_round_of_the_prompt_s_class() -> None:
    rounds = [table(["a", "b", "x"], ["t", "t", "r"]), table(["b", "c", "y", "z"], ["t", "t", "r", "r"])]
    drawn = seed_prompts(PUBLIC_VARIATION, rounds, evolution(labels=("t", "r"), synthetic_texts=7, final_responses=2))
    assert drawn["label"].tolist() == ["t", "r"] * 3
    assert drawn["prompt_id"].tolist() == [*range(6)]
    for label, prompt in zip(drawn["label"], drawn["prompt"], strict=True):
        assert sorted(shown(prompt)) == (["a", "b", "c"] if label == "t" else ["x", "y", "z"])


def test_too_few_distinct_survivors_borrow_public_texts() -> None:
    drawn = seed_prompts(PUBLIC_VARIATION, [table(["a", "a", "a"])], evolution(synthetic_texts=4))
    for prompt in drawn["prompt"]:
        samples = shown(prompt)
        assert "a" in samples
        assert sum(text.startswith("public") for text in samples) == 2

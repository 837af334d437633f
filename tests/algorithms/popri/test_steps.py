"""Prompts, scores from the release, pairs, the matched pool and the final selection."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedtext.algorithms.popri.labels import label_index
from fedtext.algorithms.popri.scoring.by_name import single_release
from fedtext.algorithms.popri.steps import (
    draw_prompts,
    final_selection,
    matched_pool,
    preference_pairs,
    score_by_release,
)
from fedtext.params.popri import Popri
from tests.algorithms.popri.examples import TEXTS, candidates, popri, unit_rows

PUBLIC = pd.DataFrame({"text": [f"public text {i:02d}" for i in range(20)]})
POOL = np.arange(5, 15)


def test_prompts_show_three_distinct_samples_of_the_pool_and_repeat_by_stage() -> None:
    drawn = draw_prompts(PUBLIC, POOL, popri(), "round 1", 12)
    for prompt in drawn["prompt"]:
        shown = [line for line in prompt.splitlines() if line.startswith("public text")]
        assert len(set(shown)) == len(shown) == 3
        assert {int(line[-2:]) for line in shown} <= set(POOL.tolist())
    pd.testing.assert_frame_equal(drawn, draw_prompts(PUBLIC, POOL, popri(), "round 1", 12))
    assert set(drawn["prompt"]) != set(draw_prompts(PUBLIC, POOL, popri(), "round 2", 12)["prompt"])
    assert set(drawn["prompt"]) != set(draw_prompts(PUBLIC, POOL, popri(seed=1), "round 1", 12)["prompt"])


def test_more_prompts_begin_with_the_same_ones() -> None:
    few, many = (draw_prompts(PUBLIC, POOL, popri(), "final", n) for n in (4, 9))
    pd.testing.assert_frame_equal(few, many[:4])


def test_classes_take_turns_and_are_named_in_the_prompt() -> None:
    drawn = draw_prompts(PUBLIC, POOL, popri(labels=("tea", "rum")), "round 1", 5)
    assert drawn["label"].tolist() == ["tea", "rum", "tea", "rum", "tea"]
    assert all(label in prompt.splitlines()[0] for label, prompt in zip(drawn["label"], drawn["prompt"], strict=True))
    assert draw_prompts(PUBLIC, POOL, popri(), "round 1", 2)["label"].isna().all()


def test_no_prompts_and_too_few_public_samples() -> None:
    assert list(draw_prompts(PUBLIC, POOL, popri(), "round 1", 0).columns) == ["prompt_id", "prompt", "label"]
    with pytest.raises(ValueError, match="2 samples to draw"):
        draw_prompts(PUBLIC, POOL[:2], popri(), "round 1", 1)


def test_labels_are_positions_among_the_declared() -> None:
    assert label_index(["b", None, "a", "z"], popri(labels=("a", "b"))).tolist() == [1, -1, 0, -1]
    assert label_index(["b", None], popri()).tolist() == [0, 0]
    assert label_index([], popri(labels=("a", "b"))).dtype == np.int64


@pytest.mark.parametrize("scoring", ["witness_linear", "witness_rff", "witness_words"])
def test_the_witness_leaves_empty_candidates_out_of_the_mean(scoring: str) -> None:
    parameters, rows = popri(scoring=scoring), unit_rows(0, 6)
    rows[[1, 4]] = 0
    released = features(unit_rows(1, 1), TEXTS[6:7], parameters)
    phi = features(rows[[0, 2, 3, 5]], [TEXTS[i] for i in (0, 2, 3, 5)], parameters)
    scores = score_by_release(TEXTS[: len(rows)], rows, np.zeros(6, dtype=np.int64), released, parameters)
    assert np.allclose(scores[[0, 2, 3, 5]], phi @ (released[0] - phi.mean(axis=0)))
    assert (scores[[1, 4]] == 0).all()


def test_each_class_is_scored_against_its_own_mean() -> None:
    rows, released, label = unit_rows(0, 6), unit_rows(1, 2), np.array([0, 0, 0, 1, 1, 1])
    scores = score_by_release(
        TEXTS[: len(rows)], rows, label, released, popri(scoring="mean_embedding", labels=("a", "b"))
    )
    assert np.allclose(scores, np.concatenate([rows[:3] @ released[0], rows[3:] @ released[1]]))


def test_a_broken_release_is_an_error() -> None:
    rows, label = unit_rows(0, 6), np.zeros(6, dtype=np.int64)
    with pytest.raises(ValueError, match="NaN"):
        score_by_release(TEXTS[: len(rows)], rows, label, np.full((1, 6), np.nan), popri())


PROMPTS = pd.DataFrame({"prompt_id": [0, 1], "prompt": ["p", "q"], "label": [None, None]})


def test_pairs_are_first_against_rank_within_a_prompt() -> None:
    scores = np.array([0.1, 0.9, 0.5, 0.2, 0.3, 0.1])
    pairs = preference_pairs(PROMPTS, candidates(list("abcdef")), scores, popri())
    assert pairs[["prompt", "chosen", "rejected"]].to_numpy().tolist() == [["p", "b", "c"], ["q", "e", "d"]]
    assert np.allclose(pairs["chosen_score"] - pairs["rejected_score"], [0.4, 0.1])


def test_an_empty_candidate_is_never_in_a_pair_whatever_its_score() -> None:
    texts = ["", "b", "c", "", "", "f"]
    pairs = preference_pairs(PROMPTS, candidates(texts), np.array([9.0, 1, 2, 9, np.nan, 1]), popri())
    assert pairs[["chosen", "rejected"]].to_numpy().tolist() == [["c", "b"]]


def test_duplicates_keep_their_places_and_make_no_pair_with_themselves() -> None:
    texts, scores = ["a", "a", "b", "c", "c", "d"], np.array([3.0, 1, 2, 3, 2, 1])
    pairs = preference_pairs(PROMPTS, candidates(texts), scores, popri())
    assert pairs[["chosen", "rejected"]].to_numpy().tolist() == [["a", "b"]]


def test_a_score_that_is_not_a_number_is_an_error() -> None:
    with pytest.raises(ValueError, match="NaN"):
        preference_pairs(PROMPTS, candidates(list("abcdef")), np.array([1, np.nan, 2, 3, 4, 5]), popri())


def test_no_candidates_make_no_pairs() -> None:
    pairs = preference_pairs(PROMPTS[:0], candidates([]), np.zeros(0), popri())
    assert pairs.empty
    assert {"prompt", "chosen", "rejected", "chosen_score", "rejected_score"} <= set(pairs.columns)


def features(rows: np.ndarray, texts: list[str], parameters: Popri) -> np.ndarray:
    scoring = single_release(parameters)
    return scoring.features(scoring.seen(texts, rows, parameters), parameters)


def gap(rows: np.ndarray, target: np.ndarray) -> float:
    return float(np.linalg.norm(rows.mean(axis=0) - target))


@pytest.mark.parametrize("scoring", ["witness_linear", "witness_rff", "witness_words"])
def test_the_matched_pool_is_nearer_to_the_release_than_any_random_one(scoring: str) -> None:
    parameters, rows = popri(scoring=scoring), unit_rows(0, 80)
    phi = features(rows, TEXTS[:80], parameters)
    released = 0.6 * phi[:10].mean(axis=0, keepdims=True)
    pool = matched_pool(TEXTS[: len(rows)], rows, released, parameters, 20)
    assert len(set(pool.tolist())) == 20
    rng = np.random.default_rng(1)
    random = [gap(phi[rng.choice(80, 20, replace=False)], released[0]) for _ in range(200)]
    assert gap(phi[pool], released[0]) < min(random)


def test_the_pool_of_several_classes_matches_the_mean_of_their_means() -> None:
    rows, parameters = unit_rows(0, 80), popri(labels=("a", "b", "c"))
    released = np.stack([rows[s : s + 20].mean(axis=0) for s in (0, 20, 40)])
    pool = matched_pool(TEXTS[: len(rows)], rows, released, parameters, 30)
    assert gap(rows[pool], released.mean(axis=0)) < 0.05
    assert len(matched_pool(TEXTS[: len(rows)], rows, released, parameters, 500)) == 80


def test_the_final_set_is_the_oversampled_texts_that_match_best_and_none_is_empty() -> None:
    rows, parameters = unit_rows(2, 40), popri(oversample=5.0)
    texts = candidates([f"t{i}" if i % 7 else "" for i in range(40)], responses=1)
    rows[texts["text"] == ""] = 0
    released = 0.5 * unit_rows(3, 5).mean(axis=0, keepdims=True)
    kept = final_selection(texts, rows, released, parameters)
    assert len(kept) == 8
    assert (texts["text"].iloc[kept] != "").all()
    assert gap(rows[kept], released[0]) < gap(rows[np.flatnonzero(texts["text"] != "")[:8]], released[0])


def test_without_oversampling_or_a_release_the_first_texts_are_the_final_set() -> None:
    texts, rows = candidates(["", *"abcdefghijk"], responses=1), unit_rows(0, 12)
    assert final_selection(texts, rows, unit_rows(1, 1), popri()).tolist() == list(range(1, 9))
    assert final_selection(texts, rows, None, popri(scoring="mean_cosine")).tolist() == list(range(1, 9))


def test_classes_share_the_final_set_equally() -> None:
    labels: list[str | None] = [*"abc"] * 10
    texts = candidates([f"t{i}" for i in range(30)], 1, labels)
    kept = final_selection(texts, unit_rows(0, 30), unit_rows(1, 3), popri(labels=("a", "b", "c"), oversample=3.75))
    assert sorted(texts["label"].iloc[kept].value_counts().tolist()) == [2, 3, 3]

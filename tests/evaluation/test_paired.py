from __future__ import annotations

import numpy as np
import pytest

from fedtext.evaluation.measures.measure import Counts, Direction, PerText
from fedtext.evaluation.measures.next_token_accuracy import ACCURACY, CROSS_ENTROPY, top
from fedtext.evaluation.paired import compare_conditions, compare_scored, gap_closed, remaining_gap
from fedtext.evaluation.ratios import clustered_ratio
from tests.refusals import refuses

TOKENS = 60


def counts(accuracy: float, texts: int = 400, seed: int = 0, shared: int = 9) -> Counts:
    """Texts whose difficulty all conditions share, so that differences are far less noisy than accuracies."""
    difficulty = np.random.default_rng(shared).normal(0, 0.08, texts)
    right = np.random.default_rng(seed).binomial(TOKENS, np.clip(accuracy + difficulty, 0, 1))
    return Counts(right, np.full(texts, TOKENS))


def test_share_of_the_gap_is_its_definition():
    public, private, ours = counts(0.10, seed=1), counts(0.20, seed=2), counts(0.15, seed=3)
    expected = (ours.numerator.sum() - public.numerator.sum()) / (private.numerator.sum() - public.numerator.sum())
    closed = gap_closed(ACCURACY, ours, public, private)
    assert closed["share"] == pytest.approx(expected)
    assert closed["low"] < 0.5 < closed["high"]
    assert closed["high"] - closed["low"] < 0.3


def test_gap_within_noise_has_no_share_and_says_why():
    closed = gap_closed(ACCURACY, counts(0.15, seed=3), counts(0.15, seed=1), counts(0.15, seed=2))
    assert closed["share"] is None
    assert "no gap to close" in closed["reason"]


def test_gap_of_the_wrong_sign_has_no_share():
    assert gap_closed(ACCURACY, counts(0.15, seed=3), counts(0.20, seed=1), counts(0.10, seed=2))["share"] is None


def test_paired_differences_see_what_separate_intervals_would_miss():
    a, b = counts(0.155, seed=1), counts(0.145, seed=2)
    gain = compare_conditions(ACCURACY, {"eps0": b, "synthetic": a})["gains"]["synthetic"]["eps0"]
    assert gain["measurable"]
    separate = np.hypot(*(ratio.high - ratio.estimate for ratio in (clustered_ratio(*a), clustered_ratio(*b))))
    assert gain["high"] - gain["estimate"] < 0.8 * separate


def test_equal_conditions_are_rarely_called_different():
    called = [
        compare_conditions(ACCURACY, {"eps0": counts(0.15, seed=2 * s), "synthetic": counts(0.15, seed=2 * s + 1)})[
            "gains"
        ]["synthetic"]["eps0"]["measurable"]
        for s in range(200)
    ]
    assert np.mean(called) < 0.1


def test_conditions_scored_on_different_texts_are_refused():
    with refuses("held-out-texts-differ"):
        compare_conditions(ACCURACY, {"eps0": counts(0.1), "synthetic": counts(0.1, texts=399)})


def test_the_judged_condition_is_the_algorithm_s_own():
    compared = compare_conditions(ACCURACY, {"eps0": counts(0.1), "trained_model": counts(0.12, seed=1)})
    assert compared["judged"] == "trained_model"
    assert compare_conditions(ACCURACY, {"eps0": counts(0.1), "private": counts(0.2, seed=1)})["judged"] is None


def errors(level: float, seed: int) -> Counts:
    """Of a measure of which less is better."""
    right = counts(level, seed=seed)
    return Counts(TOKENS - right.numerator, right.denominator)


def test_where_lower_is_better_a_fall_closes_the_gap() -> None:
    wrong = PerText(
        name="w", title="errors", direction=Direction.LOWER, counts=lambda scored: errors(0.1, 1), counted="x"
    )
    public, private, ours = errors(0.10, 1), errors(0.20, 2), errors(0.15, 3)
    closed = gap_closed(wrong, ours, public, private)
    assert closed["low"] < 0.5 < closed["high"]
    assert gap_closed(wrong, ours, private, public)["share"] is None, "what grows has closed nothing"
    assert gap_closed(ACCURACY, ours, public, private)["share"] is None


def test_the_reason_is_written_in_the_measure_s_own_unit() -> None:
    public, private = counts(0.15, seed=1), counts(0.15, seed=2)
    assert "changes accuracy by" in (reason := gap_closed(ACCURACY, public, public, private)["reason"])
    assert " points (95% interval" in reason
    reason = gap_closed(CROSS_ENTROPY, public, public, private)["reason"]
    assert "changes cross-entropy by" in reason
    assert " nats (95% interval" in reason


def test_a_document_names_its_measures_the_leading_one_first() -> None:
    scored = {
        name: {
            "top": np.array([1, 3]),
            "correct": np.stack([(one := counts(level, seed=seed)).numerator] * 2, axis=1),
            "tokens": one.denominator,
            "nats": np.full(400, 120.0),
            "texts": np.asarray(9),
        }
        for seed, (name, level) in enumerate({"eps0": 0.1, "synthetic": 0.2}.items())
    }
    found = compare_scored(scored, [top(1), top(3)], beside=[CROSS_ENTROPY])
    assert found["measures"] == ["top_1", "top_3"]
    row = found["conditions"]["synthetic"]
    assert row["top_1"] == scored["synthetic"]["correct"][:, 0].sum() / (400 * TOKENS)
    assert row["low"] < row["top_1"] < row["high"]
    assert (row["cross_entropy"], row["tokens"], row["texts"]) == (2.0, 400 * TOKENS, 9)
    gain = found["gains"]["synthetic"]["eps0"]["estimate"]
    assert gain == pytest.approx(row["top_1"] - found["conditions"]["eps0"]["top_1"])


def test_the_remaining_gap_is_measured_from_the_best_control():
    found = {
        "eps0": counts(0.05, seed=1),
        "public_control": counts(0.10, seed=2),
        "matched_control": counts(0.14, seed=3),
        "synthetic": counts(0.16, seed=4),
        "private": counts(0.22, seed=5),
    }
    left = compare_conditions(ACCURACY, found)["remaining_gap"][ACCURACY.name]
    right = {name: one.numerator.sum() for name, one in found.items()}
    assert left["control"] == "matched_control"
    assert left["share"] == pytest.approx(
        (right["synthetic"] - right["matched_control"]) / (right["private"] - right["matched_control"])
    )
    assert left["low"] < left["share"] < left["high"]
    assert left["share"] < gap_closed(ACCURACY, *(found[name] for name in ("synthetic", "eps0", "private")))["share"]


def test_a_remaining_gap_that_is_none_has_no_share():
    found = {name: counts(level, seed=i) for i, (name, level) in enumerate(
        [("public_control", 0.20), ("synthetic", 0.16), ("private", 0.18)])}  # fmt: skip
    left = remaining_gap(ACCURACY, found)
    assert left is not None
    assert left["share"] is left["low"] is left["high"] is None
    assert left["reason"]


@pytest.mark.parametrize("missing", ["public_control", "synthetic", "private"])
def test_without_control_texts_or_private_samples_nothing_is_left_to_share(missing):
    levels = {"eps0": 0.05, "public_control": 0.10, "synthetic": 0.16, "private": 0.22}
    found = {name: counts(level, seed=i) for i, (name, level) in enumerate(levels.items()) if name != missing}
    assert compare_conditions(ACCURACY, found)["remaining_gap"] == {}

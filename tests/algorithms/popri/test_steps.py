"""Prompts, scores from the release, pairs, the matched pool and the final selection.

- Early stopping and the choice of an adapter, by released values alone.
- Guidance by words: from a release to what each prompt favours, class by class.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedtext.algorithms.popri.scoring import single_release
from fedtext.algorithms.popri.steps import (
    chosen_adapter,
    draw_prompts,
    final_selection,
    label_index,
    matched_pool,
    next_state,
    paired_rows,
    preference_pairs,
    prompt_word_weights,
    public_word_weights,
    released_score,
    score_by_release,
    stopped_early,
    word_weights,
)
from fedtext.generation.few_shot import sampled_texts
from fedtext.generation.generators.local import LocalGenerator
from fedtext.generation.prompt_forms import heading, sample_list
from fedtext.models.generator import WordWeights
from fedtext.params.generation import Sampler
from fedtext.params.popri import Popri
from tests.algorithms.popri.examples import BALLOTS, TEXTS, candidates, popri, unit_rows
from tests.parameters import conf_base
from tests.refusals import refuses

PUBLIC = pd.DataFrame({"text": [f"public text {i:02d}" for i in range(20)]})
POOL = np.arange(5, 15)


@pytest.mark.parametrize("shots", [1, 2, 5])
def test_prompts_show_as_many_samples_as_declared(shots: int) -> None:
    drawn = draw_prompts(PUBLIC, POOL, popri(sampler={"shots": shots}), "round 1", 6)
    for prompt in drawn["prompt"]:
        assert prompt.count("public text") == shots
        assert prompt.endswith(heading(shots + 1))


def test_rows_of_pairs_are_those_of_the_candidates_that_are_not_empty() -> None:
    table = pd.DataFrame({"text": ["a", "", "b", "c", "b"]})
    embeddings = np.eye(5)
    embeddings[1] = 0.0
    pairs = pd.DataFrame({"chosen": ["c", "b"], "rejected": ["a", "c"]})
    assert paired_rows(table, embeddings, pairs) == ([2, 1], [0, 2])
    assert paired_rows(table[:0], embeddings[:0], pairs[:0]) == ([], [])


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
    with refuses("too-few-samples-to-show"):
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
    with refuses("embeddings-not-finite", parameter="private_mean"):
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
    with refuses("scores-not-finite"):
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


START = {"round": 0, "stopped": False, "released_scores": []}
PAIRS = pd.DataFrame({"chosen_score": [0.5, 0.3], "rejected_score": [0.1, 0.1]})
LABEL = np.zeros(6, dtype=np.int64)


@pytest.mark.parametrize(
    ("history", "patience", "stops"),
    [
        ([0.1, 0.2, 0.3], 1, False),
        ([0.1, 0.3, 0.2], 1, True),
        ([0.1, 0.3, 0.3], 1, True),
        ([0.1, 0.3, 0.2], 2, False),
        ([0.3, 0.1, 0.2], 2, True),
        ([0.3, 0.1, 0.4], 2, False),
        ([0.3], 1, False),
        ([], 1, False),
        ([0.3, 0.1, 0.1, 0.1], None, False),
    ],
)
def test_stops_after_that_many_rounds_without_a_new_best(history: list[float], patience: int, stops: bool) -> None:
    assert stopped_early(history, popri(patience=patience)) is stops


@pytest.mark.parametrize(
    ("scored", "adapter"),
    [
        ([-0.3, -0.1, -0.2, -0.4], 1),
        ([-0.1, -0.2, -0.3, -0.4], 0),
        ([-0.3, -0.1, -0.1, -0.4], 2),  # a tie goes to the one trained longer
        ([-0.3, -0.2, -0.1, None], 3),  # still rising where scores end
        ([-0.3, -0.1, -0.2, None], 1),
        ([-0.3, float("nan"), -0.5, -0.4], 0),
        ([None, None, None, None], 3),
    ],
)
def test_the_adapter_with_the_best_released_score_is_chosen(scored: list[float | None], adapter: int) -> None:
    assert chosen_adapter(scored, popri()) == adapter
    assert chosen_adapter(scored, popri(checkpoint="last")) == 3


def test_the_witness_s_score_is_minus_the_squared_gap_of_the_texts_there_are() -> None:
    rows = unit_rows(0, 6)
    released = unit_rows(1, 1)
    gap = rows.mean(axis=0) - released[0]
    assert released_score(TEXTS[:6], rows, LABEL, LABEL, released, popri()) == pytest.approx(-(gap @ gap))
    with_blank = np.concatenate([rows, np.zeros((1, 6))])
    label = np.zeros(7, dtype=np.int64)
    assert released_score(TEXTS[:7], with_blank, label, label, released, popri()) == pytest.approx(-(gap @ gap))


def test_classes_count_alike() -> None:
    rows, released = unit_rows(0, 6), unit_rows(1, 3)
    label = np.array([0, 0, 0, 0, 0, 1])
    gaps = [rows[:5].mean(axis=0) - released[0], rows[5] - released[1]]
    expected = -np.mean([g @ g for g in gaps])
    assert released_score(TEXTS[:6], rows, label, label, released, popri(labels=("a", "b", "c"))) == pytest.approx(
        expected
    )


def test_mean_scores_leave_empty_candidates_out() -> None:
    rows = unit_rows(0, 6)
    rows[0] = 0
    scores = np.array([9.0, 1, 2, 3, 4, 5])
    assert released_score(TEXTS[:6], rows, LABEL, scores, unit_rows(1, 1), popri(scoring="mean_embedding")) == 3


def test_no_score_where_rounds_cannot_be_compared_or_nothing_was_written() -> None:
    rows, scores = unit_rows(0, 6), np.arange(6.0)
    for scoring in BALLOTS:
        assert released_score(TEXTS[:6], rows, LABEL, scores, None, popri(scoring=scoring)) is None
    assert released_score(TEXTS[:6], np.zeros((6, 6)), LABEL, scores, unit_rows(1, 1), popri()) is None


def test_a_state_counts_rounds_texts_and_pairs() -> None:
    rows = unit_rows(0, 6)
    rows[5] = 0
    texts = candidates(["a", "a", "b", "c", "d", ""])
    state = next_state(START, texts, rows, np.ones(6), np.ones((1, 6)), PAIRS, popri(scoring="mean_embedding"))
    assert state == {
        "round": 1, "stopped": False, "released_scores": [1.0], "released_score": 1.0, "pairs": 2, "candidates": 5,
        "distinct_candidates": 4, "score_gap": pytest.approx(0.3),
    }  # fmt: skip


def test_a_skipped_round_has_no_score_and_stays_stopped() -> None:
    before = {**START, "round": 2, "stopped": True, "released_scores": [0.3, 0.1]}
    none = candidates([])
    state = next_state(before, none, np.zeros((0, 6)), np.zeros(0), None, PAIRS[:0], popri(patience=1))
    assert (state["round"], state["stopped"], state["released_scores"]) == (3, True, [0.3, 0.1, None])
    assert (state["candidates"], state["pairs"], state["score_gap"]) == (0, 0, 0.0)


WORDS = {"scoring": "witness_words", "word_buckets": 1024, "word_guidance": 1.0}
PLAIN, LABELLED = popri(**WORDS), popri(**WORDS, labels=["tea", "rum"])
WRITTEN = ["This is the cup", "This is the glass", "This is the pot", "This is the jug", ""] * 10


PROMPTS_WORD_GUIDANCE = [
    sample_list([f"{start} {what}." for what in ("a value", "the number of items", "some text")], None, None)
    + heading(4)
    for start in ("Make", "This is", "Get", "The class of")
]


def released(texts: list[str], parameters: object = PLAIN) -> np.ndarray:
    scoring = single_release(parameters)
    phi = scoring.features(scoring.seen(texts, unit_rows(0, len(texts)), parameters), parameters)
    return np.asarray(phi.mean(axis=0))


def table(texts: list[str], label: list[str | None] | None = None) -> pd.DataFrame:
    return pd.DataFrame({"text": texts, "label": label or [None] * len(texts)})


def test_the_release_s_words_come_first_and_the_written_ones_last() -> None:
    mean = released([text.replace("This is", "Fill") for text in WRITTEN if text])
    found = word_weights(table(WRITTEN), ["Fill it", "Fill that", "Fill up"], mean[None], PLAIN)
    pairs, found = found[found["previous"].notna()], found[found["previous"].isna()]
    assert {"this is", "is the"} == set((pairs["previous"] + " " + pairs["word"]).iloc[-2:])
    assert found["word"].iloc[0] == "fill"
    assert {"this", "is"} == set(found["word"].iloc[-2:])
    assert found["label"].isna().all()
    assert found.set_index("word").loc["fill", "first"] > found.set_index("word").loc["fill", "anywhere"]


def test_the_same_words_whatever_share_of_the_norm_they_have() -> None:
    for share in (0.2, 0.9):
        parameters = popri(**WORDS, word_share=share)
        mean = released([text.replace("This is", "Fill") for text in WRITTEN if text], parameters)
        known = ["Fill it", "Fill that", "Fill up"]
        found = word_weights(table(WRITTEN), known, mean[None], parameters)
        found = found[found["previous"].isna()].set_index("word")["anywhere"]
        assert found["fill"] == pytest.approx(1.5)


def test_each_class_has_words_of_its_own() -> None:
    both = table(WRITTEN * 2, ["tea"] * len(WRITTEN) + ["rum"] * len(WRITTEN))
    means = np.stack(
        [released([text.replace("cup", name) for text in WRITTEN if text], LABELLED) for name in ("cup", "keg")]
    )
    table_of_both = word_weights(both, ["keg one", "keg two", "keg six"], means, LABELLED)
    found = table_of_both[table_of_both["previous"].isna()]
    rum = found[found["label"] == "rum"].set_index("word")["anywhere"]
    tea = found[found["label"] == "tea"].set_index("word")["anywhere"]
    assert rum["keg"] > 0.5
    assert rum["cup"] < -0.5
    assert abs(tea.get("cup", 0.0)) < 0.1
    prompts = pd.DataFrame({"prompt": ["a", "b", "c"], "label": ["rum", "tea", "rum"]})
    first, second, third = prompt_word_weights(prompts, found, LABELLED)
    assert first is third
    assert first.anywhere["keg"] == rum["keg"]
    assert second.anywhere.get("keg", 0.0) == tea.get("keg", 0.0)


def test_the_public_texts_of_a_class_are_compared_with_its_release_and_all_where_it_has_none() -> None:
    tea, other = ["Make the tea", "Pour the tea"] * 9, ["Sell the hat", "Fold the hat"] * 9
    public = table(tea + other, ["tea"] * len(tea) + [None] * len(other))
    means = np.stack([released(tea, LABELLED), released(tea, LABELLED)])
    found = public_word_weights(public, means, LABELLED)
    weights = {
        label: found[(found["label"] == label) & found["previous"].isna()].set_index("word")["anywhere"]
        for label in ("tea", "rum")
    }
    assert weights["tea"].abs().max() < 0.01, "its own texts have its words"
    assert "hat" not in weights["tea"]
    assert weights["rum"]["tea"] > 0.3
    assert weights["rum"]["hat"] < -0.3


def test_strength_multiplies_and_none_favours_nothing() -> None:
    words = pd.DataFrame(
        {"word": ["fill", "it"], "previous": [None, "fill"], "anywhere": [1.0, 3.0], "first": [2.0, 0.0], "label": None}
    )
    prompts = pd.DataFrame({"prompt": ["a", "b"], "label": [None, None]})
    half = popri(**{**WORDS, "word_guidance": 0.5, "pair_guidance": 2.0})
    assert (
        prompt_word_weights(prompts, words, half)
        == [WordWeights({"fill": 0.5}, {"fill": 1.0}, {"fill": {"it": 6.0}})] * 2
    )
    alone = popri(**{**WORDS, "word_guidance": 0.5, "pair_guidance": 0.0})
    assert prompt_word_weights(prompts, words, alone) == [WordWeights({"fill": 0.5}, {"fill": 1.0})] * 2
    assert prompt_word_weights(prompts, words, popri(**{**WORDS, "word_guidance": 0.0})) == []


def test_a_class_of_which_nothing_was_written_has_no_weights() -> None:
    both = table(WRITTEN, ["tea"] * len(WRITTEN))
    found = word_weights(both, [], np.stack([released(WRITTEN[:4], LABELLED)] * 2), LABELLED)
    prompts = pd.DataFrame({"prompt": ["a"], "label": ["rum"]})
    assert prompt_word_weights(prompts, found, LABELLED) == [WordWeights()]


@pytest.mark.slow
def test_a_language_model_that_is_guided_writes_words_as_often_as_the_release_wants_them() -> None:
    """The bundled generator, twice the same prompts and seeds: its words come nearer, and its texts stay legible."""
    private = [text for word in ("path", "file", "list", "name", "error") for text in (
        f"Return the {word} of the object.", f"If the {word} is not given, raise ValueError.")] * 5  # fmt: skip
    mean = released(private)
    prompts = pd.DataFrame(
        {"prompt_id": range(len(PROMPTS_WORD_GUIDANCE)), "prompt": PROMPTS_WORD_GUIDANCE, "label": None}
    )
    generator = LocalGenerator("bundled:generator")
    sampler = conf_base(Sampler, max_new_tokens=24, prompt="list")

    def written(by: LocalGenerator, seed: int) -> list[str]:
        texts = sampled_texts(by, prompts, responses=36, sampler=sampler, length=24, seed=seed, label="texts")
        return [text for text in texts["text"] if text]

    words = word_weights(table(written(generator, 1)), private, mean[None], PLAIN)
    plain, guided = (
        written(generator, 2),
        written(generator.with_word_weights(prompt_word_weights(prompts, words, PLAIN)), 2),
    )
    target = single_release(PLAIN).of_words(mean, PLAIN)
    far, near = (
        np.sum((single_release(PLAIN).of_words(released(texts), PLAIN) - target) ** 2) for texts in (plain, guided)
    )
    assert near < 0.8 * far
    assert len(guided) > 0.7 * len(plain)  # of 36 a prompt 0.79; of 12, 0.71 on one kind of processor
    begun = [np.mean([text.startswith(("Return", "If")) for text in texts]) for texts in (plain, guided)]
    assert begun[1] > begun[0] + 0.1

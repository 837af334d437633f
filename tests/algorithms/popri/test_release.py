"""The single release: sensitivity by search, classes that are never counted, and who takes part.

Ballots: sensitivity by search, empty candidates that cost nothing, classes, projection and participation.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.algorithms.popri import release
from fedtext.algorithms.popri.release import release_private_mean, score_by_ballots
from fedtext.algorithms.popri.scoring import every_round, single_release
from fedtext.federation import charged_release
from fedtext.federation.federation import Simulated
from fedtext.federation.private_samples import PrivateSamples, sampled_units
from fedtext.federation.query import Query
from fedtext.federation.question import Question
from fedtext.federation.secure_sum import NoisySum
from fedtext.federation.units import digest
from fedtext.params.popri import SINGLE_RELEASE, Popri
from fedtext.privacy.clipping import clip_rows
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.noise import NoiseKey, new_noise_key
from fedtext.voting.tally import Ballot, Candidates, joint_ballots
from tests.algorithms.popri.examples import (
    BALLOTS,
    DIM,
    KEY,
    QUIET,
    TEXTS,
    asked,
    ledger,
    popri,
    samples,
    seen,
    unit_rows,
    without,
)
from tests.refusals import refuses

CONDITIONAL = {"labels": ("a", "b", "c")}


def sent(held: PrivateSamples, parameters: Popri) -> np.ndarray:
    """What each unit hands to the mechanism; one without samples hands over nothing, which counts as zeros."""
    blocks = list(release.sent_blocks(held, parameters, block=5))
    rows = np.zeros((len(held.enrolled), blocks[0].rows.shape[1]))
    for block in blocks:
        rows[np.searchsorted(held.enrolled, block.unit)] = block.rows
    assert sum(len(block.unit) for block in blocks) == len(np.unique(held.unit))
    return rows


@pytest.mark.parametrize("scoring", sorted(SINGLE_RELEASE))
@pytest.mark.parametrize("labels", [(), ("a",), ("a", "b", "c")])
@pytest.mark.parametrize("unit", ["client", "record"])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=8)
def test_one_unit_moves_the_sum_by_at_most_the_clip_and_no_other_row(
    scoring: str, labels: tuple[str, ...], unit: str, seed: int
) -> None:
    parameters = popri(scoring=scoring, labels=labels)
    held = seen(samples(seed, clients=7, classes=len(labels) or 1, unit=unit), parameters)
    gone = seed % len(held.enrolled)
    before, after = sent(held, parameters), sent(without(held, gone), parameters)
    assert np.linalg.norm(before.sum(axis=0) - after.sum(axis=0)) <= 1 + 1e-6
    assert np.array_equal(np.delete(before, gone, axis=0), np.delete(after, gone, axis=0)), "bit by bit"


def test_the_bound_is_reached_so_the_search_could_fail() -> None:
    same = PrivateSamples(
        np.tile(unit_rows(0, 1), (4, 1)), np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.int64), np.arange(2)
    )
    assert np.linalg.norm(sent(same, popri()), axis=1) == pytest.approx(np.ones(2), abs=1e-6)


def test_a_quiet_release_is_the_mean_over_units_of_the_mean_over_samples() -> None:
    held = samples(1)
    mean, charged = release_private_mean(
        asked(popri(), QUIET, 0), Simulated(held, KEY), popri(), ledger(len(held.enrolled))
    )
    by_unit = [held.features[held.unit == u].mean(axis=0) for u in held.enrolled]
    assert np.allclose(mean, np.mean(by_unit, axis=0)[None], atol=1e-3)
    assert [(r.name, r.round) for r in charged.releases] == [("popri.mean_features", 0)]


def test_a_quiet_conditional_release_is_each_class_s_own_mean() -> None:
    held, parameters = samples(2, clients=30, classes=3), popri(**CONDITIONAL)
    mean, _ = release_private_mean(
        asked(parameters, QUIET, 0), Simulated(held, KEY), parameters, ledger(len(held.enrolled))
    )
    counts = np.bincount(held.unit)[held.unit]
    for c in range(3):
        own = held.label == c
        assert np.allclose(mean[c], np.average(held.features[own], axis=0, weights=1 / counts[own]), atol=3e-3)


def test_one_class_that_holds_everything_equals_no_classes() -> None:
    held = samples(3)
    plain, _ = release_private_mean(asked(popri(), QUIET, 0), Simulated(held, KEY), popri(), ledger(len(held.enrolled)))
    one, _ = release_private_mean(
        asked(popri(labels=("a",)), QUIET, 0), Simulated(held, KEY), popri(labels=("a",)), ledger(len(held.enrolled))
    )
    assert np.allclose(plain, one, atol=1e-3)


def test_one_declared_class_among_others_is_not_shrunk_by_their_samples() -> None:
    features = np.repeat(unit_rows(4, 1), 10, axis=0)
    held = PrivateSamples(features, np.arange(10), np.array([0] * 3 + [-1] * 7), np.arange(10))
    mean, _ = release_private_mean(
        asked(popri(labels=("a",)), QUIET, 0), Simulated(held, KEY), popri(labels=("a",)), ledger(10)
    )
    assert np.allclose(mean[0], features[0], atol=1e-3)


class SameSum:
    """A mechanism whose sum is always the same, for units of any class."""

    def __init__(self, held: PrivateSamples, example: Release) -> None:
        self.held, self.example = held, example

    def summed(self, query: Query, question: Question, ledger: Ledger) -> NoisySum:
        assert sum(len(block.rows) for block in question.blocks(self.held)) == 12
        fixed = np.random.default_rng(0).normal(size=3 * (DIM + 1))
        return NoisySum(fixed, ledger.model_copy(update={"releases": (self.example,)}))


def test_class_sizes_reach_the_outside_through_the_noised_sum_only() -> None:
    """With the mechanism's output held fixed, other labels change nothing."""
    _, charged = release_private_mean(asked(popri(), 1.0, 0), Simulated(samples(5), KEY), popri(), ledger(12))
    held = samples(5, classes=3)
    relabelled = PrivateSamples(held.features, held.unit, np.zeros_like(held.label), held.enrolled)
    conditional, query = popri(**CONDITIONAL), asked(popri(**CONDITIONAL), 1.0, 0)
    outputs = [
        release_private_mean(query, SameSum(s, charged.releases[0]), conditional, ledger(12))[0]
        for s in (held, relabelled)
    ]
    assert np.array_equal(outputs[0], outputs[1])


def test_a_class_that_nobody_has_stays_finite_and_bounded() -> None:
    held = samples(6)
    mean, _ = release_private_mean(
        asked(popri(**CONDITIONAL), 2.0, 0), Simulated(held, KEY), popri(**CONDITIONAL), ledger(12)
    )
    assert np.isfinite(mean).all()
    assert np.abs(mean[1:]).max() < 40  # at most the noise over its own deviation


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_sampled_means_are_scaled_by_the_rate(sampling: str) -> None:
    held = samples(8, clients=400)
    opened = ledger(400, sampling=sampling, clients_per_round=200)
    mean, charged = release_private_mean(asked(popri(), 1e-3, 0), Simulated(held, KEY), popri(), opened)
    everybody, _ = release_private_mean(asked(popri(), 1e-3, 0), Simulated(held, KEY), popri(), ledger(400))
    assert charged.releases[0].sampling == sampling
    assert charged.releases[0].rate == 0.5
    assert np.linalg.norm(mean - everybody) < 0.25 * np.linalg.norm(everybody)


def test_nobody_drawn_is_pure_noise() -> None:
    held, opened = samples(9, clients=3), ledger(3, sampling="poisson", clients_per_round=1)
    drawn = replace(asked(popri(), 1.0, 0), draw=(popri().model_dump_json(), ""))
    empty = next(k for k in map(new_noise_key, range(50)) if not len(sampled_units(held, opened, k, drawn)))
    mean, charged = release_private_mean(asked(popri(), 1.0, 0), Simulated(held, empty), popri(), opened)
    assert np.isfinite(mean).all()
    assert mean.any()
    assert len(charged.releases) == 1


def test_more_units_than_the_ledger_prices_are_refused() -> None:
    with refuses("more-units-than-declared", value=5):
        release_private_mean(asked(popri(), 1.0, 0), Simulated(samples(0, clients=6), KEY), popri(), ledger(5))


def test_the_feature_map_has_norm_one() -> None:
    for scoring in ("witness_rff", "witness_words"):
        parameters = popri(scoring=scoring)
        made = single_release(parameters)
        phi = made.features(made.seen(TEXTS[:20], unit_rows(1, 20), parameters), parameters)
        assert np.linalg.norm(phi, axis=1) == pytest.approx(np.ones(20)), scoring


GRID = 3e-3  # twelve rounded ballots and the least noise there is
ONE_CLASS = np.zeros(12, dtype=np.int64)
MODES = [("mean_cosine", "none"), ("mean_cosine_centred", "all"), ("mean_cosine_centred", "prompt"),
         ("nearest_histogram", "none")]  # fmt: skip


def unclipped(held: PrivateSamples, texts: np.ndarray, label: np.ndarray, parameters: Popri) -> np.ndarray:
    scoring = every_round(parameters)
    ballot = Ballot({"score": partial(scoring.ballots, popri=parameters)}, settings="", rule="")
    blocks = joint_ballots(held, Candidates(texts, label, scoring.voted_on(texts)), ballot)
    return np.concatenate([np.zeros((0, len(texts))), *(block.rows for block in blocks)])


def clipped_sum(held: PrivateSamples, texts: np.ndarray, label: np.ndarray, parameters: Popri) -> np.ndarray:
    """What the mechanism adds noise to."""
    total: np.ndarray = clip_rows(unclipped(held, texts, label, parameters), 1.0).sum(axis=0)
    return total


def score(
    held: PrivateSamples, texts: np.ndarray, parameters: Popri, noise: float = QUIET, key: NoiseKey = KEY
) -> np.ndarray:
    label = np.zeros(len(texts), dtype=np.int64)
    return score_by_ballots(
        asked(parameters, noise), Simulated(held, key), texts, label, parameters, ledger(len(held.enrolled))
    )[0]


@pytest.mark.parametrize(("scoring", "centre"), MODES)
@pytest.mark.parametrize("unit", ["client", "record"])
@pytest.mark.parametrize("classes", [1, 3])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=6)
def test_one_unit_moves_the_joint_vector_by_at_most_the_clip(
    scoring: str, centre: str, unit: str, classes: int, seed: int
) -> None:
    parameters = popri(scoring=scoring, centre=centre, labels=("a", "b", "c")[: classes if classes > 1 else 0])
    held, texts = samples(seed, clients=6, classes=classes, unit=unit), unit_rows(seed + 7, 18)
    texts[seed % 18] = 0.0  # one empty candidate
    label = np.repeat(np.arange(classes), 18 // classes)
    fewer = without(held, seed % len(held.enrolled))
    gap = clipped_sum(held, texts, label, parameters) - clipped_sum(fewer, texts, label, parameters)
    assert np.linalg.norm(gap) <= 1 + 1e-6


def test_an_unclipped_sum_would_move_by_more() -> None:
    held, texts = samples(1, clients=6), np.repeat(unit_rows(2, 1), 12, axis=0)
    cast = unclipped(held, texts, ONE_CLASS, popri(scoring="mean_cosine"))
    assert np.linalg.norm(cast, axis=1).max() > 1.5


@pytest.mark.parametrize(("scoring", "centre"), MODES)
def test_an_empty_candidate_scores_zero_and_changes_no_other_score(scoring: str, centre: str) -> None:
    """As if a third response, equal to the mean of its siblings (or absent), had been written."""
    held, texts = samples(3), unit_rows(4, 12)
    texts[[2, 7]] = 0.0
    scored = score(held, texts, popri(scoring=scoring, centre=centre))
    assert (scored[[2, 7]] == 0).all()
    full = np.delete(np.arange(12), [2, 7])
    if centre == "prompt":
        rows = texts.copy()
        for t in (2, 7):
            rows[t] = texts[[s for s in range(t // 3 * 3, t // 3 * 3 + 3) if s != t]].mean(axis=0)
        assert np.allclose(scored[full], score(held, rows, popri(scoring=scoring, centre=centre))[full], atol=GRID)
    else:
        alone = score(held, texts[full], popri(scoring=scoring, centre=centre))
        assert np.allclose(scored[full], alone, atol=GRID)


@pytest.mark.parametrize("scoring", BALLOTS)
def test_one_class_equals_no_classes(monkeypatch: pytest.MonkeyPatch, scoring: str) -> None:
    """But for noise and rounding: a class that is declared is another question, with coins of its own."""
    monkeypatch.setattr(
        charged_release, "discrete_gaussian", lambda key, *, stddev_on_grid, size, stream: np.zeros(size, int)
    )
    held, texts = samples(5), unit_rows(6, 12)
    without, with_one = (score(held, texts, popri(scoring=scoring, labels=told), 1.0) for told in ((), ("a",)))
    np.testing.assert_allclose(without, with_one, atol=2e-3)
    assert np.ptp(without) > 1


@pytest.mark.parametrize("scoring", BALLOTS)
def test_a_sample_scores_candidates_of_its_own_class_only(monkeypatch: pytest.MonkeyPatch, scoring: str) -> None:
    monkeypatch.setattr(
        charged_release, "discrete_gaussian", lambda key, *, stddev_on_grid, size, stream: np.zeros(size, int)
    )
    texts, label = unit_rows(8, 12), np.repeat([0, 1], 6)
    held = PrivateSamples(unit_rows(9, 4), np.arange(4), np.array([0, 0, -1, 0]), np.arange(4))
    parameters = popri(scoring=scoring, labels=("a", "b"))
    scored, _ = score_by_ballots(asked(parameters, QUIET), Simulated(held, KEY), texts, label, parameters, ledger(4))
    assert np.abs(scored[:6]).max() > 0.05
    assert not scored[6:].any()


def test_a_class_without_candidates_is_passed_over() -> None:
    held, texts = samples(10, classes=3), unit_rows(11, 6)
    parameters = popri(scoring="nearest_histogram", labels=("a", "b", "c"))
    scored, _ = score_by_ballots(
        asked(parameters, QUIET), Simulated(held, KEY), texts, np.repeat([0, 2], 3), parameters, ledger(12)
    )
    assert np.isfinite(scored).all()


def test_duplicates_have_scores_of_their_own() -> None:
    held, texts = samples(12), unit_rows(13, 12)
    texts[1] = texts[0]
    cosine = score(held, texts, popri(scoring="mean_cosine"))
    assert cosine[0] == pytest.approx(cosine[1], abs=GRID)
    votes = score(held, texts, popri(scoring="nearest_histogram"))
    assert votes[1] == pytest.approx(0, abs=GRID)


@pytest.mark.parametrize("centre", ["none", "all", "prompt"])
def test_projection_keeps_noiseless_scores_and_loses_most_of_the_noise(centre: str) -> None:
    scoring = "mean_cosine" if centre == "none" else "mean_cosine_centred"
    held, texts = samples(14), unit_rows(15, 90)
    texts[4] = 0.0
    plain, projected = (popri(scoring=scoring, centre=centre, projection=p) for p in (False, True))
    truth = score(held, texts, plain)
    assert np.allclose(score(held, texts, projected), truth, atol=GRID)
    keys = [new_noise_key(k) for k in range(20)]
    noisy, cleaned = (np.mean([(score(held, texts, p, 3.0, k) - truth) ** 2 for k in keys]) for p in (plain, projected))
    assert cleaned / noisy == pytest.approx(DIM / 90, rel=0.45)  # what is left is the share of the span


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_only_the_asked_units_vote_and_rounds_ask_others(sampling: str) -> None:
    held, texts, parameters = samples(16, clients=40), unit_rows(17, 12), popri(scoring="mean_cosine")
    opened = ledger(40, sampling=sampling, clients_per_round=10)
    rule = repr((parameters.scoring, parameters.centre, parameters.responses))
    told = f"{digest(texts, ONE_CLASS)} {rule}", parameters.model_dump_json()
    drawn = [sampled_units(held, opened, KEY, asked(parameters, 0.05, t).about(*told)) for t in (1, 2)]
    assert set(drawn[0]) != set(drawn[1])
    scored, charged = score_by_ballots(
        asked(parameters, 0.05), Simulated(held, KEY), texts, ONE_CLASS, parameters, opened
    )
    truths = [clipped_sum(held.of_units(units), texts, ONE_CLASS, parameters) for units in drawn]
    assert np.linalg.norm(scored - truths[0]) < 0.4 < np.linalg.norm(scored - truths[1])
    assert (charged.releases[0].sampling, charged.releases[0].rate) == (sampling, 0.25)


def test_every_round_is_charged_once() -> None:
    held, texts, parameters, book = samples(18), unit_rows(19, 12), popri(scoring="mean_cosine"), ledger(12)
    for t in (1, 2, 3):
        _, book = score_by_ballots(asked(parameters, 2.0, t), Simulated(held, KEY), texts, ONE_CLASS, parameters, book)
    assert [(r.name, r.round) for r in book.releases] == [("popri.scores", t) for t in (1, 2, 3)]
    with refuses("release-repeated"):
        score_by_ballots(asked(parameters, 2.0, 3), Simulated(held, KEY), texts, ONE_CLASS, parameters, book)

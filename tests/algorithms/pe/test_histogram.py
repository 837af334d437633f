"""The vote: sensitivity by search, the clip that enforces it, noise by test, an audit, classes, who is asked.

Survivors: in proportion to what is above the threshold, or by rank; a threshold that means what it says.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fedtext.algorithms.pe.histogram import next_state, noised_histogram, select_survivors, weights
from fedtext.federation import mechanism
from fedtext.federation.federation import Simulated
from fedtext.federation.private_samples import PrivateSamples, sampled_units
from fedtext.federation.units import digest
from fedtext.params.pe import Pe
from fedtext.privacy.clipping import clip_rows
from fedtext.privacy.noise import NoiseKey, new_noise_key
from fedtext.voting.ballots import nearest_histogram_blocks
from fedtext.voting.tally import UNCLIPPED, Ballot, Candidates, joint_ballots
from tests.algorithms.pe.examples import KEY, QUIET, asked, evolution, ledger, table
from tests.algorithms.popri.examples import samples, unit_rows, without
from tests.refusals import refuses

GRID = 3e-3


def ballots(held: PrivateSamples, texts: np.ndarray, label: np.ndarray) -> np.ndarray:
    """What the units hand to the mechanism."""
    ballot = Ballot({"votes": partial(nearest_histogram_blocks, clip_norm=UNCLIPPED)}, settings="", rule="")
    blocks = joint_ballots(held, Candidates(texts, label, np.ones(len(texts), dtype=bool)), ballot)
    return np.concatenate([np.zeros((0, len(texts))), *(block.rows for block in blocks)])


def votes(
    held: PrivateSamples, texts: np.ndarray, parameters: Pe, noise: float = QUIET, key: NoiseKey = KEY
) -> np.ndarray:
    label = np.zeros(len(texts), dtype=np.int64)
    return noised_histogram(
        asked(parameters, noise, 1), Simulated(held, key), texts, label, parameters, ledger(len(held.enrolled))
    )[0]


@pytest.mark.parametrize("unit", ["client", "record"])
@pytest.mark.parametrize("classes", [1, 3])
@given(seed=st.integers(0, 10_000), clip_norm=st.floats(0.2, 5))
@settings(max_examples=12)
def test_one_unit_moves_the_sum_by_at_most_the_clip(unit: str, classes: int, seed: int, clip_norm: float) -> None:
    held, texts = samples(seed, clients=6, classes=classes, unit=unit), unit_rows(seed + 7, 18)
    label = np.repeat(np.arange(classes), 18 // classes)
    fewer = without(held, seed % len(held.enrolled))
    sums = [clip_rows(ballots(h, texts, label), clip_norm).sum(axis=0) for h in (held, fewer)]
    assert np.linalg.norm(sums[0] - sums[1]) <= clip_norm + 1e-6


def test_a_record_moves_it_by_one_vote_and_a_client_without_the_clip_by_its_number_of_samples() -> None:
    held, texts = samples(1, clients=6, unit="record"), unit_rows(2, 12)
    assert np.linalg.norm(ballots(held, texts, np.zeros(12, dtype=np.int64)), axis=1) == pytest.approx(1.0)
    many = PrivateSamples(
        np.repeat(unit_rows(3, 1), 9, axis=0), np.zeros(9, dtype=np.int64), np.zeros(9, dtype=np.int64), np.arange(1)
    )
    assert np.linalg.norm(ballots(many, texts, np.zeros(12, dtype=np.int64)), axis=1).max() == 9


def test_the_mechanism_itself_enforces_the_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client with a thousand samples is heard as loudly as the clip allows, and a thousand times without it."""
    nobody_else, zeros = np.arange(1), np.zeros(1000, dtype=np.int64)
    greedy = PrivateSamples(np.repeat(unit_rows(3, 1), 1000, axis=0), zeros, zeros, nobody_else)
    texts = unit_rows(2, 12)
    for clip_norm in (0.5, 1.0, 7.0):
        heard = votes(greedy, texts, evolution(clip_norm=clip_norm))
        assert np.linalg.norm(heard) == pytest.approx(clip_norm, abs=2 * GRID * clip_norm)
    monkeypatch.setattr(mechanism, "clip_rows", lambda rows, clip_norm: rows)
    assert np.linalg.norm(votes(greedy, texts, evolution())) > 900


def test_a_declared_largest_number_of_samples_leaves_every_vote_whole() -> None:
    held, texts = samples(4, clients=20), unit_rows(5, 12)
    largest = np.bincount(held.unit).max()
    counted = np.bincount((held.features @ texts.T).argmax(axis=1), minlength=12)
    assert votes(held, texts, evolution(clip_norm=float(largest))) == pytest.approx(counted, abs=GRID * largest * 5)


@pytest.mark.parametrize("clip_norm", [1.0, 3.0])
def test_the_noise_has_the_stated_deviation_and_no_other(clip_norm: float) -> None:
    held, texts = samples(6, clients=4), unit_rows(7, 400)
    parameters, noise = evolution(clip_norm=clip_norm), 5.0
    truth = votes(held, texts, parameters)
    label = np.zeros(400, dtype=np.int64)
    drawn = []
    for key in map(new_noise_key, range(40)):
        scores, charged = noised_histogram(
            asked(parameters, noise, 1), Simulated(held, key), texts, label, parameters, ledger(len(held.enrolled))
        )
        drawn.append(scores - truth)
    stddev = charged.releases[0].noise_stddev
    assert stddev == pytest.approx(noise * clip_norm, rel=2e-3)
    noises = np.concatenate(drawn)
    assert stats.kstest(noises, stats.norm(scale=stddev).cdf).pvalue > 1e-3
    for scale, right in ((1.0, True), (0.93, False), (1.07, False)):
        energy = float(np.square(noises / (scale * stddev)).sum())
        tail = min(stats.chi2.cdf(energy, len(noises)), stats.chi2.sf(energy, len(noises)))
        assert (tail > 1e-4) == right


def audited_right(clients: int = 600) -> int:
    """Canaries with a candidate each and ten samples on it vote on a coin's toss; how many coins the server guesses."""
    texts = np.eye(clients)
    present = np.random.default_rng(0).integers(0, 2, clients).astype(bool)
    who = np.repeat(np.flatnonzero(present), 10)
    held = PrivateSamples(texts[who], who, np.zeros(len(who), dtype=np.int64), np.arange(clients))
    return int(((votes(held, texts, evolution(), noise=2.0) > 0.5) == present).sum())


def test_the_audit_passes_with_the_clip_and_fails_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each guess at multiplier 2 is right with probability at most Phi(1/4) (tests/privacy/test_audit.py)."""
    assert stats.binom.sf(audited_right() - 1, 600, stats.norm.cdf(0.25)) > 1e-6
    monkeypatch.setattr(mechanism, "clip_rows", lambda rows, clip_norm: rows)
    assert stats.binom.sf(audited_right() - 1, 600, stats.norm.cdf(0.25)) < 1e-6


def test_a_sample_votes_in_its_own_class_only_and_one_of_no_class_not_at_all() -> None:
    texts, label = unit_rows(8, 12), np.repeat([0, 1], 6)
    held = PrivateSamples(unit_rows(9, 4), np.arange(4), np.array([0, 0, -1, 0]), np.arange(4))
    scored, _ = noised_histogram(
        asked(evolution(labels=("a", "b")), QUIET, 1),
        Simulated(held, KEY),
        texts,
        label,
        evolution(labels=("a", "b")),
        ledger(4),
    )
    assert scored[:6].sum() == pytest.approx(3, abs=GRID * 6)
    assert np.abs(scored[6:]).max() < GRID


def test_class_sizes_are_read_through_the_noised_sum_alone() -> None:
    """A client whose samples are of several classes still has one ballot of one clip."""
    texts, label = np.eye(6), np.repeat([0, 1, 2], 2)
    held = PrivateSamples(np.eye(6), np.zeros(6, dtype=np.int64), label, np.arange(1))
    scored, _ = noised_histogram(
        asked(evolution(labels=("a", "b", "c")), QUIET, 1),
        Simulated(held, KEY),
        texts,
        label,
        evolution(labels=("a", "b", "c")),
        ledger(1),
    )
    assert np.linalg.norm(scored) == pytest.approx(1.0, abs=GRID * 3)


def test_only_the_asked_clients_vote_and_every_round_is_charged() -> None:
    held, texts, label = samples(16, clients=40), unit_rows(17, 12), np.zeros(12, dtype=np.int64)
    book = ledger(40, sampling="poisson", clients_per_round=10)
    for t in (1, 2):
        told = f"{digest(texts, label)} nearest 1", evolution().model_dump_json()
        drawn = sampled_units(held, book, KEY, asked(evolution(), 1e-4, t).about(*told))
        scored, book = noised_histogram(
            asked(evolution(), 1e-4, t), Simulated(held, KEY), texts, label, evolution(), book
        )
        truth = clip_rows(ballots(held.of_units(drawn), texts, label), 1.0).sum(axis=0)
        assert scored == pytest.approx(truth, abs=0.02)
    assert [(r.name, r.round, r.sampling, r.rate) for r in book.releases] == [
        ("pe.histogram", 1, "poisson", 0.25), ("pe.histogram", 2, "poisson", 0.25),
    ]  # fmt: skip


START = {"round": 0, "stopped": False, "released_scores": []}


@given(
    histogram=st.lists(st.floats(-50, 50), min_size=1, max_size=30),
    threshold=st.floats(0, 60),
    selection=st.sampled_from(["probability", "rank"]),
    seed=st.integers(0, 99),
)
def test_survivors_are_candidates_above_the_threshold_if_any_is(
    histogram: list[float], threshold: float, selection: str, seed: int
) -> None:
    votes = np.array(histogram)
    candidates = table([f"text {i}" for i in range(len(votes))])
    parameters = evolution(threshold=threshold, selection=selection, seed=seed)
    kept = select_survivors(candidates, votes, 1.0, parameters, 1)
    rows = [int(text.split()[1]) for text in kept["text"]]
    assert rows == sorted(rows)
    assert np.array_equal(kept["votes"], votes[rows])
    if selection == "probability":
        assert len(rows) == parameters.survivors
        if (votes > threshold).any():
            assert (votes[rows] > threshold).all()
    else:
        assert len(set(rows)) == len(rows) == min(parameters.survivors, len(votes))
        left = np.delete(votes, rows)
        assert not len(left) or votes[rows].min() >= left.max()


@given(votes=st.lists(st.floats(-9, 9), min_size=1, max_size=20), threshold=st.floats(0, 10))
def test_weights_are_shares(votes: list[float], threshold: float) -> None:
    shares = weights(np.array(votes), threshold)
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1.0)


def test_survivors_come_in_proportion_to_the_votes_above_the_threshold() -> None:
    votes = np.array([3.0, 5.0, 9.0, 1.0, -4.0])
    drawn = select_survivors(table(list("abcde")), votes, 1.0, evolution(population=6000, threshold=2.0), 1)
    counts = drawn["text"].value_counts()
    assert set(counts.index) == {"a", "b", "c"}
    expected = 6000 * np.array([1, 3, 7]) / 11
    assert stats.chisquare([counts["a"], counts["b"], counts["c"]], expected).pvalue > 1e-3
    by_votes = 6000 * np.array([3, 5, 9]) / 17  # what forgetting to take the threshold off would give
    assert stats.chisquare([counts["a"], counts["b"], counts["c"]], by_votes).pvalue < 1e-6


def test_the_threshold_is_in_deviations_of_the_noise() -> None:
    """Of cells that hold noise alone 2.3% pass two deviations, whatever the noise is; the paper's 0.1626 lets 44% pass."""
    noise = np.random.default_rng(0).standard_normal(20_000)
    for stddev in (0.1, 40.0):
        for threshold in (2.0, 0.1626):
            state = next_state(
                START, table(["x"] * 20_000), stddev * noise, stddev, table(["x"]), evolution(threshold=threshold)
            )
            assert state["share_above_threshold"] == pytest.approx(stats.norm.sf(threshold), abs=0.01)


def test_rank_prefers_the_first_of_equals_and_asks_for_no_threshold() -> None:
    kept = select_survivors(
        table(list("abcd")), np.array([-3.0, 1.0, 1.0, 1.0]), 1.0, evolution(population=3, selection="rank"), 1
    )
    assert kept["text"].tolist() == ["b", "c", "d"]


def test_every_class_survives_in_equal_numbers_however_few_votes_it_has() -> None:
    candidates = table(list("abcdef"), ["tea", "tea", "tea", "rum", "rum", "rum"])
    votes = np.array([90.0, 80, 70, 0, 0, 0])
    kept = select_survivors(candidates, votes, 1.0, evolution(labels=("tea", "rum")), 1)
    assert kept["label"].value_counts().to_dict() == {"tea": 6, "rum": 6}
    with refuses("no-candidate"):
        select_survivors(candidates[:3], votes[:3], 1.0, evolution(labels=("tea", "rum")), 2)


def test_rounds_draw_differently_and_repeat() -> None:
    candidates, votes = table([str(i) for i in range(50)]), np.full(50, 9.0)
    first, again, other = (select_survivors(candidates, votes, 1.0, evolution(), t)["text"].tolist() for t in (1, 1, 2))
    assert first == again != other


def test_broken_votes_are_an_error() -> None:
    with refuses("votes-not-finite"):
        select_survivors(table(["a", "b"]), np.array([1.0, np.nan]), 1.0, evolution(), 1)


def test_a_state_counts_and_scores_nothing() -> None:
    state = next_state(START, table(list("aabc")), np.array([9.0, 1, 0, 5]), 1.0, table(list("aac")), evolution())
    assert state == {
        "round": 1, "stopped": False, "released_scores": [None], "candidates": 4, "distinct_candidates": 3,
        "share_above_threshold": 0.5, "distinct_survivors": 2,
    }  # fmt: skip


@given(seed=st.integers(0, 10_000), nearest=st.integers(2, 6))
@settings(max_examples=15)
def test_every_sample_votes_for_its_nearest_few_and_a_unit_is_clipped_as_one(seed: int, nearest: int) -> None:
    held, texts = samples(seed, clients=5), unit_rows(seed + 7, 9)
    found = votes(held, texts, evolution(nearest=nearest, clip_norm=1.0))
    ballot = np.zeros((len(held.enrolled), 9))
    for feature, unit in zip(held.features, held.unit, strict=True):
        ballot[np.searchsorted(held.enrolled, unit), np.argsort(-(texts @ feature), kind="stable")[:nearest]] += 1
    norms = np.maximum(np.linalg.norm(ballot, axis=1, keepdims=True), 1.0)
    assert found == pytest.approx((ballot / norms).sum(axis=0), abs=len(held.enrolled) * GRID)
    fewer = votes(without(held, 0), texts, evolution(nearest=nearest, clip_norm=1.0))
    assert np.linalg.norm(found - fewer) <= 1 + 5 * GRID

"""From noised counts to texts a code, and from noised votes to the texts that are kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.algorithms.flexible import plan, profile, selection, unprotected
from fedtext.federation import charged_release
from fedtext.federation.federation import Simulated
from fedtext.federation.mechanism import summed_stddev
from fedtext.federation.private_samples import UNLABELLED, PrivateSamples
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey, new_noise_key
from fedtext.voting.ballots import nearest_histogram_blocks
from fedtext.voting.tally import joint_ballots
from tests.algorithms.flexible.examples import CODES, DIM, candidates, declared, held, params, parties, units_of

KEY = new_noise_key(5)
UNITS = units_of(4)
CHOSEN = params()


def opened(**changes: Any) -> Ledger:
    return plan.planned_ledger(parties(UNITS), CHOSEN, declared(**changes), dim=10, embedding_dim=DIM)


def silent(key: NoiseKey, *, stddev_on_grid: float, size: int, stream: tuple[str, ...]) -> np.ndarray:
    return np.zeros(size, dtype=np.int64)


@settings(max_examples=100)
@given(counts=st.lists(st.floats(-50, 500), min_size=1, max_size=30), texts=st.integers(1, 400))
def test_counts_become_exactly_as_many_texts(counts: list[float], texts: int) -> None:
    chosen = params(texts=texts)
    written = profile.text_counts(np.array(counts), chosen)
    picks = profile.pick_counts(written, chosen)
    assert sum(written) == texts
    assert sum(picks) == chosen.synthetic_texts
    assert all(pick <= count for pick, count in zip(picks, written, strict=True))


@pytest.mark.parametrize(("aggregation", "carried"), [("secure", 2.0), ("local", 4.0)])
def test_every_silo_s_counts_are_added_with_the_noise_that_the_placement_has(
    aggregation: str, carried: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four silos that noise their own counts put twice the deviation into the sum, at the same price."""
    ledger, samples = opened(aggregation=aggregation), held(UNITS)
    query = plan.profile_query(CHOSEN, ledger.declaration)
    _, charged = profile.noised_profile(query, Simulated(samples, KEY), CHOSEN, ledger)
    assert summed_stddev(charged) == pytest.approx(carried, rel=0.01)
    assert charged.releases[-1].noise_stddev == pytest.approx(2.0, rel=0.01)
    monkeypatch.setattr(charged_release, "discrete_gaussian", silent)
    plain, _ = profile.noised_profile(query, Simulated(samples, KEY), CHOSEN, ledger)
    np.testing.assert_allclose(plain, [56, 52, 52], atol=1e-9)
    np.testing.assert_allclose(unprotected.plain_profile(samples, CHOSEN), plain)


def test_a_record_of_an_undeclared_code_counts_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, ledger = held(UNITS), opened()
    label = np.where(samples.label == 0, UNLABELLED, samples.label)
    silenced = PrivateSamples(samples.features, samples.unit, label, samples.enrolled, samples.holder)
    monkeypatch.setattr(charged_release, "discrete_gaussian", silent)
    query = plan.profile_query(CHOSEN, ledger.declaration)
    counted, _ = profile.noised_profile(query, Simulated(silenced, KEY), CHOSEN, ledger)
    np.testing.assert_allclose(counted, [0, 52, 52], atol=1e-9)


def votes(samples: PrivateSamples, ledger: Ledger, **changes: Any) -> tuple[np.ndarray, Ledger]:
    chosen = CHOSEN.model_copy(update=changes)
    query = plan.votes_query(chosen, ledger.declaration, ledger.parties)
    assert query is not None
    return selection.noised_votes(
        query, Simulated(samples, KEY), selection.candidates_of(*candidates()), chosen, ledger
    )


def test_weak_silos_alone_vote_within_their_code_for_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charged_release, "discrete_gaussian", silent)
    samples, (texts, label) = held(UNITS), candidates()
    scores, charged = votes(samples, opened())
    weak = unprotected.of_silos(samples, ["silo-02", "silo-03"])
    expected = np.zeros(len(label))
    for row, code in zip(weak.features, weak.label, strict=True):
        own = np.flatnonzero(label == code)
        expected[own[np.argsort(-(texts[own] @ row), kind="stable")[:3]]] += 1
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    np.testing.assert_allclose(scores, unprotected.plain_votes(weak, selection.candidates_of(texts, label), CHOSEN))
    assert charged.releases[-1].parties == ("silo-02", "silo-03")
    shuffled = np.random.default_rng(0).permutation(len(samples.unit))
    other = replace(
        samples,
        features=samples.features[shuffled],
        unit=samples.unit[shuffled],
        label=samples.label[shuffled],
        holder=np.asarray(samples.holder)[shuffled],
    )
    assert votes(other, opened())[0].tobytes() == scores.tobytes()


def test_one_vote_a_record_is_private_evolution_s_histogram() -> None:
    samples, (texts, _) = held(UNITS), candidates()
    doubled = np.concatenate([texts, texts[:7]])  # of equal texts the first gets the vote in both
    ballots = selection.ballot(len(doubled), CHOSEN.model_copy(update={"votes_per_record": 1})).parts["near"]
    unit = np.arange(len(samples.unit))
    ours = np.concatenate(list(ballots(samples.features, unit, len(unit), doubled)))
    theirs = np.concatenate(list(nearest_histogram_blocks(samples.features, unit, len(unit), doubled, clip_norm=10.0)))
    assert np.array_equal(ours, theirs)


def test_more_votes_than_texts_and_codes_without_texts_work() -> None:
    texts, label = candidates(4)
    some = label != 1
    voted = selection.candidates_of(texts[some], label[some])
    ledger = opened()
    query = plan.votes_query(CHOSEN, ledger.declaration, ledger.parties)
    assert query is not None
    scores, _ = selection.noised_votes(query, Simulated(held(UNITS), KEY), voted, CHOSEN, ledger)
    assert scores.shape == (3,)
    kept = selection.kept_by_votes(scores, label[some], params(kept=1.0))
    assert kept.tolist() == [0, 1, 2]


@pytest.mark.parametrize("scores", [np.zeros(0), np.full(60, -1.0)])
def test_without_a_positive_vote_texts_are_kept_at_random_as_many_of_each_code(scores: np.ndarray) -> None:
    _, label = candidates()
    kept = selection.kept_by_votes(scores, label, CHOSEN)
    assert np.bincount(label[kept]).tolist() == [5, 5, 5]
    other = selection.kept_by_votes(scores, label, params(seed=1))
    assert kept.tolist() != other.tolist()
    assert kept.tolist() == selection.kept_by_votes(scores, label, CHOSEN).tolist()


def test_herding_follows_the_released_direction_of_each_code() -> None:
    texts, label = candidates()
    means = np.eye(len(CODES), DIM) * 40
    kept = selection.kept_by_means(means, texts, label, CHOSEN)
    assert np.bincount(label[kept]).tolist() == [5, 5, 5]
    for code in range(len(CODES)):
        own = texts[kept[label[kept] == code]].mean(axis=0)
        assert own[code] > texts[label == code].mean(axis=0)[code] + 0.05
    assert len(selection.kept_by_means(np.zeros(0), texts, label, CHOSEN)) == 15
    assert len(selection.kept_by_votes(np.zeros(0), np.zeros(0, dtype=np.int64), CHOSEN)) == 0


@settings(max_examples=60)
@given(votes_each=st.integers(1, 8), texts=st.integers(1, 20), seed=st.integers(0, 10**6))
def test_no_record_moves_counts_by_more_than_1_nor_votes_by_more_than_the_root_of_k(
    votes_each: int, texts: int, seed: int
) -> None:
    """A search for a record, and for one in its place, that does worse than the sensitivities that are priced."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(texts + 12, DIM)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    written, records = rows[:texts], rows[texts:]
    label = rng.integers(-1, len(CODES), 12)
    samples = PrivateSamples(records, np.arange(12), label, np.arange(12))
    voted = selection.candidates_of(written, np.arange(texts) % len(CODES))
    chosen = params(votes_per_record=votes_each)
    ballots = np.concatenate([b.rows for b in joint_ballots(samples, voted, selection.ballot(texts, chosen))])
    counts = np.concatenate([block.rows for block in profile.code_counts(samples, len(CODES))])
    for found, norm in ((ballots, np.sqrt(votes_each)), (counts, 1.0)):
        assert found.min() >= 0
        assert np.linalg.norm(found, axis=1).max() <= norm + 1e-9
        apart = np.linalg.norm(found[:, None] - found[None], axis=2).max()
        assert apart <= np.sqrt(2) * norm + 1e-9


def test_the_sensitivities_are_reached() -> None:
    """Two records of two codes, each with as many texts as it has votes: what is priced is not too much."""
    texts = np.eye(6, DIM, dtype=np.float32)
    samples = PrivateSamples(texts[[0, 1]], np.arange(2), np.array([0, 1]), np.arange(2))
    voted = selection.candidates_of(texts, np.array([0, 0, 0, 1, 1, 1]))
    (block,) = joint_ballots(samples, voted, selection.ballot(6, CHOSEN))
    assert np.linalg.norm(block.rows, axis=1) == pytest.approx([np.sqrt(3)] * 2)
    assert np.linalg.norm(block.rows[0] - block.rows[1]) == pytest.approx(np.sqrt(2 * 3))

"""Weights and counts: nothing is lost or over-counted, weights are shares, and noise alone gives equal ones.

The releases: the clip is the mechanism's, noise is as stated, sums of models are of the votes, a direction comes out.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.algorithms.wasp import judging, plan
from fedtext.algorithms.wasp.judging import counts, exceed_noise, importance, votes_of_best
from fedtext.federation import mechanism
from fedtext.federation.federation import Simulated
from fedtext.federation.mechanism import planned_release
from fedtext.federation.private_samples import PrivateSamples
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from fedtext.voting.ballots import ballot_norm
from fedtext.voting.class_means import noised_class_means
from fedtext.voting.tally import Candidates
from tests.algorithms.popri.examples import samples, unit_rows
from tests.algorithms.wasp.examples import KEY, privacy, quiet, wasp

# A sum that is nearly 0 has no share to keep: scaled, it falls below the smallest float.
votes_of_one = st.floats(-50, 50).filter(lambda votes: votes == 0 or abs(votes) > 1e-9)
sums = st.lists(votes_of_one, min_size=1, max_size=6).map(np.array)


@given(votes=sums, scale=st.floats(0.01, 100))
def test_weights_are_shares_and_do_not_depend_on_the_scale(votes: np.ndarray, scale: float) -> None:
    written = np.arange(len(votes))
    weight = importance(votes, written, wasp(), seen=True)
    assert weight.min() >= 0
    assert weight.sum() == pytest.approx(1.0)
    assert importance(votes * scale, written, wasp(), seen=True) == pytest.approx(weight, abs=1e-9)


def test_a_weight_is_the_share_of_votes_over_the_share_of_texts() -> None:
    votes, written = np.array([30.0, 10.0, -4.0]), np.array([10, 10, 20])
    assert importance(votes, written, wasp(), seen=True) == pytest.approx([0.75, 0.25, 0.0])
    assert importance(votes, np.array([30, 10, 20]), wasp(), seen=True) == pytest.approx([0.5, 0.5, 0.0])
    raw = np.array([3.0, 1.0, 0.0])  # w_k as the paper has them, whose shares softmax takes
    soft = importance(votes, written, wasp(weighting="softmax"), seen=True)
    assert soft == pytest.approx(np.exp(raw) / np.exp(raw).sum())


def test_weights_are_equal_where_nothing_is_known() -> None:
    votes, written = np.array([3.0, 1.0]), np.array([5, 5])
    assert importance(votes, written, wasp(weighting="uniform"), seen=True).tolist() == [0.5, 0.5]
    assert importance(votes, written, wasp(), seen=False).tolist() == [0.5, 0.5]
    assert importance(-votes, written, wasp(), seen=True).tolist() == [0.5, 0.5]
    assert not exceed_noise(199.2, 751.0)  # M = 100 at the published noise on 6,000 texts
    assert exceed_noise(199.2, 13.6 * np.sqrt(6))


def test_a_silent_model_gets_its_floor_and_no_more() -> None:
    weight = importance(np.array([9.0, 0.4]), np.array([12, 0]), wasp(), seen=True)
    assert weight.tolist() == [1.0, 0.0]
    assert counts(weight, wasp(texts=300, weight_floor=0.1), 2).sum(axis=1).tolist() == [91, 9]


@given(votes=sums, texts=st.integers(9, 200), labels=st.integers(1, 3), floor=st.floats(0, 0.5))
def test_counts_add_up_to_the_texts_of_a_round_and_classes_are_as_large(
    votes: np.ndarray, texts: int, labels: int, floor: float
) -> None:
    parameters = wasp(texts=texts, labels=tuple("abc"[:labels]), weight_floor=floor)
    weight = importance(votes, np.ones(len(votes), dtype=int), parameters, seen=True)
    rounds = [counts(weight, parameters, t) for t in (1, 2, 3)]
    assert [round_counts.sum() for round_counts in rounds] == [parameters.texts_of_round(t) for t in (1, 2, 3)]
    assert sum(round_counts.sum() for round_counts in rounds) == texts
    assert np.ptp(sum(round_counts.sum(axis=0) for round_counts in rounds)) <= 1
    assert min(round_counts.min() for round_counts in rounds) >= 0


def test_votes_of_a_single_release_are_shares_of_each_class_s_best_tenth() -> None:
    score, label = np.arange(40.0), np.arange(40) % 2
    model = np.array([0] * 34 + [1] * 6)
    assert votes_of_best(score, label, model, 2).tolist() == [0, 4]
    assert votes_of_best(np.zeros(40), label, model, 2).tolist() == [4, 0]


TEXTS = 12


def candidates(seed: int = 2, classes: int = 1) -> Candidates:
    return judging.candidates_of(unit_rows(seed, TEXTS), np.arange(TEXTS) % classes)


def noised(held: PrivateSamples, ledger: Ledger, **changes: object) -> np.ndarray:
    parameters = wasp(texts=TEXTS * 3, **changes)
    query = plan.votes_query(parameters, ledger.declaration, ledger.population, 1)
    return judging.noised_votes(query, Simulated(held, KEY), candidates(), parameters, ledger)[0]


def greedy(records: int) -> PrivateSamples:
    """One client that holds one text again and again."""
    who = np.zeros(records, dtype=np.int64)
    return PrivateSamples(np.repeat(unit_rows(3, 1), records, axis=0), who, who, np.arange(1))


def test_a_client_of_a_hundred_records_is_as_loud_as_the_clip_and_louder_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert np.linalg.norm(noised(greedy(100), quiet(1, unit="client"))) == pytest.approx(ballot_norm(4), rel=0.01)
    assert np.linalg.norm(noised(greedy(100), quiet(1, unit="client"), clip_norm=5.0)) == pytest.approx(5.0, rel=0.01)
    monkeypatch.setattr(mechanism, "clip_rows", lambda rows, clip_norm: rows)
    assert np.linalg.norm(noised(greedy(100), quiet(1, unit="client"))) > 90 * ballot_norm(4)


def test_a_record_s_ballot_is_not_changed_by_the_default_clip() -> None:
    held = samples(4, clients=9, unit="record")
    plain = judging.plain_votes(held, candidates(), wasp())
    assert noised(held, quiet(len(held.enrolled))) == pytest.approx(plain, abs=0.02)
    assert plain.sum(axis=1) == pytest.approx([len(held.unit) * 1.875] * 2)


def test_without_contrast_near_votes_alone_are_cast_and_they_are_the_same() -> None:
    held = samples(4, clients=9, unit="record")
    both, alone = (judging.plain_votes(held, candidates(), wasp(contrast=contrast)) for contrast in (True, False))
    assert alone.shape == (1, TEXTS)
    assert alone[0] == pytest.approx(both[0], rel=1e-9)
    assert noised(held, quiet(len(held.enrolled)), contrast=False) == pytest.approx(alone, abs=0.02)


def test_the_noise_has_the_stated_deviation_and_no_other() -> None:
    held, declared, parameters = samples(4, clients=9, unit="record"), privacy(noise_seed=0), wasp(texts=TEXTS * 3)
    population = len(held.enrolled)
    query = plan.votes_query(parameters, declared, population, 1)
    plain, drawn = judging.plain_votes(held, candidates(), parameters), []
    for key in map(new_noise_key, range(40)):
        book = Ledger(declaration=declared, population=population)
        drawn.append(judging.noised_votes(query, Simulated(held, key), candidates(), parameters, book)[0] - plain)
    stddev = planned_release(query, declared, population).noise_stddev
    assert np.std(drawn) == pytest.approx(stddev, rel=0.1)
    assert np.std(drawn) != pytest.approx(0.8 * stddev, rel=0.1)


def test_sums_of_models_are_the_near_votes_of_their_texts() -> None:
    held, parameters = samples(5, clients=9, unit="record"), wasp(texts=TEXTS * 3, model_sums=True)
    model, book = np.arange(TEXTS) % 3, quiet(len(held.enrolled))
    query = plan.model_sums_query(parameters, book.declaration, book.population, 1, 3)
    total, charged = judging.noised_model_sums(query, Simulated(held, KEY), candidates(), model, parameters, book)
    near = judging.plain_votes(held, candidates(), parameters)[judging.NEAR]
    assert total == pytest.approx(np.bincount(model, weights=near), abs=0.02)
    assert charged.releases[-1].name == "wasp.model_sums"


def test_class_means_point_where_the_records_of_a_class_lie() -> None:
    parameters, label = wasp(votes="single_release", labels="a b"), np.repeat([0, 1], 10)
    held = PrivateSamples(np.eye(2)[label], np.arange(20), label, np.arange(20))
    book = quiet(20)
    query = plan.class_means_query(parameters, book.declaration, 20, 2)
    sums, _ = noised_class_means(query, Simulated(held, KEY), parameters.labels, book)
    assert sums == pytest.approx(10 * np.eye(2), abs=0.05)


def test_a_class_without_texts_or_records_votes_nothing() -> None:
    held = PrivateSamples(unit_rows(1, 4), np.arange(4), np.array([0, 0, 1, 2]), np.arange(4))
    texts = candidates(classes=2)
    scores = judging.plain_votes(held, texts, wasp(labels="a b c"))
    assert scores[0][texts.label == 0].sum() == pytest.approx(2 * 1.875)
    assert scores[0][texts.label == 1].sum() == pytest.approx(1.875)
    blank = Candidates(np.zeros((3, 6)), np.zeros(3, dtype=np.int64), np.zeros(3, dtype=bool))
    assert not judging.plain_votes(held, blank, wasp()).any()


def test_random_scores_are_of_seed_and_round_alone() -> None:
    first = judging.random_scores(5, 1, wasp())
    assert np.array_equal(first, judging.random_scores(5, 1, wasp()))
    assert not np.array_equal(first, judging.random_scores(5, 2, wasp()))

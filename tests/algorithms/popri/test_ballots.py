"""Ballots: sensitivity by search, empty candidates that cost nothing, classes, projection and participation."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.algorithms.popri.ballots import score_by_ballots
from fedtext.algorithms.popri.scoring.by_name import every_round
from fedtext.federation import secure_sum
from fedtext.federation.digest import digest
from fedtext.federation.private_samples import PrivateSamples, asked_units
from fedtext.params.popri import Popri
from fedtext.privacy.clipping import clip_rows
from fedtext.privacy.noise import NoiseKey, new_noise_key
from fedtext.voting.tally import Ballot, Candidates, joint_ballots
from tests.algorithms.popri.examples import BALLOTS, DIM, KEY, QUIET, asked, ledger, popri, samples, unit_rows, without

GRID = 3e-3  # twelve rounded ballots and the least noise there is
ONE_CLASS = np.zeros(12, dtype=np.int64)
MODES = [("mean_cosine", "none"), ("mean_cosine_centred", "all"), ("mean_cosine_centred", "prompt"),
         ("nearest_histogram", "none")]  # fmt: skip


def unclipped(held: PrivateSamples, texts: np.ndarray, label: np.ndarray, parameters: Popri) -> np.ndarray:
    scoring = every_round(parameters)
    ballot = Ballot({"score": partial(scoring.ballots, popri=parameters)}, settings="")
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
    return score_by_ballots(asked(parameters, noise), held, texts, label, parameters, ledger(len(held.enrolled)), key)[
        0
    ]


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
def test_one_class_equals_no_classes_bit_by_bit(scoring: str) -> None:
    held, texts = samples(5), unit_rows(6, 12)
    assert np.array_equal(
        score(held, texts, popri(scoring=scoring), 1.0), score(held, texts, popri(scoring=scoring, labels=("a",)), 1.0)
    )


@pytest.mark.parametrize("scoring", BALLOTS)
def test_a_sample_scores_candidates_of_its_own_class_only(monkeypatch: pytest.MonkeyPatch, scoring: str) -> None:
    monkeypatch.setattr(
        secure_sum, "discrete_gaussian", lambda key, *, stddev_on_grid, size, stream: np.zeros(size, int)
    )
    texts, label = unit_rows(8, 12), np.repeat([0, 1], 6)
    held = PrivateSamples(unit_rows(9, 4), np.arange(4), np.array([0, 0, -1, 0]), np.arange(4))
    parameters = popri(scoring=scoring, labels=("a", "b"))
    scored, _ = score_by_ballots(asked(parameters, QUIET), held, texts, label, parameters, ledger(4), KEY)
    assert np.abs(scored[:6]).max() > 0.05
    assert not scored[6:].any()


def test_a_class_without_candidates_is_passed_over() -> None:
    held, texts = samples(10, classes=3), unit_rows(11, 6)
    parameters = popri(scoring="nearest_histogram", labels=("a", "b", "c"))
    scored, _ = score_by_ballots(
        asked(parameters, QUIET), held, texts, np.repeat([0, 2], 3), parameters, ledger(12), KEY
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
    told = digest(texts, ONE_CLASS), parameters.model_dump_json()
    drawn = [asked_units(held, opened, KEY, asked(parameters, 0.05, t).about(*told)) for t in (1, 2)]
    assert set(drawn[0]) != set(drawn[1])
    scored, charged = score_by_ballots(asked(parameters, 0.05), held, texts, ONE_CLASS, parameters, opened, KEY)
    truths = [clipped_sum(held.of_units(units), texts, ONE_CLASS, parameters) for units in drawn]
    assert np.linalg.norm(scored - truths[0]) < 0.4 < np.linalg.norm(scored - truths[1])
    assert (charged.releases[0].sampling, charged.releases[0].rate) == (sampling, 0.25)


def test_every_round_is_charged_once() -> None:
    held, texts, parameters, book = samples(18), unit_rows(19, 12), popri(scoring="mean_cosine"), ledger(12)
    for t in (1, 2, 3):
        _, book = score_by_ballots(asked(parameters, 2.0, t), held, texts, ONE_CLASS, parameters, book, KEY)
    assert [(r.name, r.round) for r in book.releases] == [("popri.scores", t) for t in (1, 2, 3)]
    with pytest.raises(ValueError, match="in the ledger already"):
        score_by_ballots(asked(parameters, 2.0, 3), held, texts, ONE_CLASS, parameters, book, KEY)

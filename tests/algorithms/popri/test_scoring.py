"""Every name that `popri.scoring` allows has its scoring, of the kind that the parameters and the graph take it for."""

from __future__ import annotations

import typing

import numpy as np
import pytest

from fedtext.algorithms.popri.scoring import (
    SCORINGS,
    EveryRound,
    SingleRelease,
    every_round,
    scoring_of,
    single_release,
)
from fedtext.params.popri import SINGLE_RELEASE, Scoring
from tests.algorithms.popri.examples import TEXTS, popri, unit_rows

DIM = 6


def test_every_name_has_a_scoring() -> None:
    assert SCORINGS.keys() == set(typing.get_args(Scoring))
    assert {name for name, scoring in SCORINGS.items() if isinstance(scoring, SingleRelease)} == SINGLE_RELEASE


@pytest.mark.parametrize("name", sorted(SCORINGS))
def test_a_scoring_is_asked_for_as_what_it_is(name: str) -> None:
    parameters = popri(scoring=name)
    scoring = scoring_of(parameters)
    right, wrong = (
        (single_release, every_round) if isinstance(scoring, SingleRelease) else (every_round, single_release)
    )
    assert right(parameters) is scoring
    with pytest.raises(AssertionError):
        wrong(parameters)


@pytest.mark.parametrize("labels", [(), ("a", "b")])
@pytest.mark.parametrize("name", sorted(SINGLE_RELEASE))
def test_the_width_of_a_release_is_that_of_the_features(name: str, labels: tuple[str, ...]) -> None:
    parameters = popri(scoring=name, labels=labels)
    scoring = single_release(parameters)
    rows = unit_rows(3, 4, DIM)
    features = scoring.features(scoring.seen(TEXTS[:4], rows, parameters), parameters).shape[1]
    assert scoring.upload_floats(parameters, DIM) == (2 * (features + 1) if labels else features)
    assert scoring.download_floats(parameters, DIM) == 0


@pytest.mark.parametrize("name", sorted(SCORINGS.keys() - SINGLE_RELEASE))
def test_a_ballot_has_a_number_for_every_candidate(name: str) -> None:
    parameters = popri(scoring=name)
    scoring = every_round(parameters)
    count = parameters.prompts * parameters.responses
    candidates = unit_rows(1, count)
    (ballots,) = scoring.ballots(unit_rows(2, 3), np.array([0, 0, 1]), 2, candidates, parameters)
    assert ballots.shape == (2, count) == (2, scoring.upload_floats(parameters, candidates.shape[1]))
    assert scoring.voted_on(candidates).all()
    assert scoring.download_floats(parameters, DIM) == DIM * count


def test_rounds_compare_where_one_release_serves_them_all() -> None:
    """The better round has the smaller distance to the release with the witness, the larger product without."""
    rows, texts = unit_rows(4, 8), (TEXTS[:8], [text.upper()[::-1] for text in TEXTS[:8]])
    label = np.zeros(8, dtype=np.int64)
    for name in sorted(SINGLE_RELEASE):
        parameters = popri(scoring=name)
        scoring = single_release(parameters)
        told = [scoring.seen(t, x, parameters) for t, x in zip(texts, (rows, -rows), strict=True)]
        near, far = (scoring.features(x, parameters) for x in told)
        mean = near.mean(axis=0)
        scores = [scoring.scores(phi, mean) for phi in (near, far)]
        values = [scoring.of_round(x, label, s, mean[None], parameters) for x, s in zip(told, scores, strict=True)]
        assert values[0] > values[1], name


def test_only_cosines_have_a_span_to_project_on() -> None:
    candidates, label = unit_rows(1, 12), np.zeros(12, dtype=np.int64)
    noisy = np.random.default_rng(0).normal(size=12)
    parameters = popri(scoring="nearest_histogram", prompts=4, responses=3)
    assert every_round(parameters).projected(noisy, candidates, label, parameters) is noisy
    cosine = popri(scoring="mean_cosine", prompts=4, responses=3, projection=True)
    projected = every_round(cosine).projected(noisy, candidates, label, cosine)
    assert np.linalg.norm(projected) < np.linalg.norm(noisy)
    assert isinstance(every_round(cosine), EveryRound)

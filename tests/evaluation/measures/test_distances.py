from __future__ import annotations

import numpy as np

from fedtext.evaluation.distribution import HeldOut, median_distance_to_medoid, mmd_squared, unbiased_mean_gap
from fedtext.evaluation.measures.distances import (
    DISTANCES,
    FID,
    MEDIAN_DISTANCE,
    compared,
    pair_distances,
    stddev_of,
)
from fedtext.evaluation.rounds import Candidates
from tests.evaluation.examples import HELD_OUT, cloud
from tests.refusals import refuses

REFERENCE = HeldOut.of(HELD_OUT, smallest_set=100)


def test_a_row_has_every_distance_of_exact_embeddings() -> None:
    texts = cloud(150, 3)
    row = compared(REFERENCE, texts, DISTANCES)
    assert row == {
        "fid": REFERENCE.frechet(texts),
        "mean_gap": unbiased_mean_gap(texts, HELD_OUT),
        "mmd_squared": mmd_squared(texts, HELD_OUT),
        "median_distance": median_distance_to_medoid(texts),
        "texts": 150,
    }


def test_only_the_distances_that_are_asked_for_are_taken() -> None:
    assert set(compared(REFERENCE, cloud(150, 3), [MEDIAN_DISTANCE])) == {"median_distance", "texts"}


def test_too_few_texts_for_the_size_are_refused() -> None:
    with refuses("smaller-than-smallest-set", parameter="smallest_set"):
        compared(REFERENCE, cloud(99, 3), [FID])


def test_names_of_noise_belong_to_one_distance_each() -> None:
    assert len({stddev_of(each) for each in DISTANCES} | {each.name for each in DISTANCES}) == 2 * len(DISTANCES)


def test_a_text_set_that_is_elsewhere_is_farther_by_every_measure_of_nearness() -> None:
    near, far = cloud(200, 3), cloud(200, 3) + 0.5 * np.eye(12)[0]
    for name, value in compared(REFERENCE, near, DISTANCES[:3]).items():
        assert name == "texts" or value < compared(REFERENCE, far, DISTANCES[:3])[name]


def test_chosen_and_rejected_texts_are_compared_at_one_size_of_their_own() -> None:
    near, far = HELD_OUT[:60], cloud(60, 3) + 2.0
    rows = np.concatenate([near, far])
    paired = Candidates(0, None, rows, list(range(60)), list(range(60, 120)))
    first, last = pair_distances(HELD_OUT, [paired, Candidates(1, None, rows)], seed=0)
    assert first["fid_chosen"] < first["fid_rejected"]
    assert first["fid_chosen"] == HeldOut.of(HELD_OUT, smallest_set=60, seed=0).frechet(near)
    assert last == {}
    assert pair_distances(HELD_OUT, [Candidates(0, None, rows, [0], [1])], seed=0) == [{}]
    assert pair_distances(HELD_OUT, [], seed=0) == []

"""Purity of clusters: one kind a cluster is pure, kinds at random are no purer than no clusters."""

from __future__ import annotations

import numpy as np
import pytest

from fedtext.algorithms.dpprefsyn.candidates import Candidates
from fedtext.algorithms.dpprefsyn.purity import clusters_of, purity
from fedtext.algorithms.dpprefsyn.scorer import Scorer
from fedtext.params.dpprefsyn import Dpprefsyn
from tests.parameters import conf_base
from tests.refusals import refuses

PARAMS = conf_base(Dpprefsyn)
RNG = np.random.default_rng(0)
PUBLIC = Candidates(RNG.normal(size=(20, 3, 4)).astype(np.float32))


def test_shares_and_purity_are_counted_by_hand() -> None:
    found = purity(np.array([0, 0, 0, 1, 1, -1]), ["plain", "plain", "practical", "practical", "practical", "plain"], 3)
    assert [own["pairs"] for own in found["clusters"]] == [3, 2, 0]
    assert found["clusters"][0]["share"] == {"plain": pytest.approx(2 / 3), "practical": pytest.approx(1 / 3)}
    assert found["clusters"][2]["share"] == {}
    assert found["pairs"] == 5
    assert found["purity"] == pytest.approx(4 / 5)
    assert found["largest"] == pytest.approx(3 / 5)
    with refuses("no-pair-in-a-cluster"):
        purity(np.array([-1, -1]), ["plain", "plain"], 2)


def test_kinds_of_opposite_differences_are_pure_and_labels_at_random_are_not() -> None:
    kinds = np.where(np.arange(400) % 2 == 0, "plain", "practical")
    sign = np.where(kinds == "plain", 1.0, -1.0)[:, None]
    differences = sign * np.array([1.0, 0.0, 0.0, 0.0]) + 0.1 * RNG.normal(size=(400, 4))
    centres = np.array([[0.5, 0.0, 0.0, 0.0], [-0.5, 0.0, 0.0, 0.0]])
    scorer = Scorer(np.zeros((2, 4)), np.array([0.5, 0.5]), centres=centres)
    cluster = clusters_of(differences, scorer, PUBLIC, PARAMS)
    assert purity(cluster, kinds.tolist(), 2)["purity"] == 1.0
    mixed = purity(cluster, RNG.permutation(kinds).tolist(), 2)
    assert mixed["purity"] < 0.6
    assert clusters_of(np.zeros((1, 4)), scorer, PUBLIC, PARAMS).tolist() == [-1]


def test_a_pair_is_projected_as_those_that_were_clustered() -> None:
    directions = np.eye(4)[:, 2:3]
    scorer = Scorer(np.zeros((2, 1)), np.array([0.5, 0.5]), directions, centres=np.array([[0.3], [-0.3]]))
    rows = np.array([[9.0, 9.0, 0.5, 0.0], [9.0, 9.0, -0.5, 0.0]])
    assert clusters_of(rows, scorer, PUBLIC, PARAMS).tolist() == [0, 1]
    kept = Scorer.of(scorer.arrays())
    assert kept.centres is not None
    assert np.array_equal(kept.centres, scorer.centres)
    with refuses("scorer-without-clusters"):
        clusters_of(rows, Scorer.random(4, 0), PUBLIC, PARAMS)


def test_clusters_that_say_nothing_are_as_pure_as_chance_and_purer_than_none() -> None:
    """Of 15 pairs by chance more than half are of one kind: 0.605 in the mean, by the binomial distribution."""
    kinds = RNG.permutation(np.repeat(["plain", "practical"], 75)).tolist()
    found = purity(np.repeat(np.arange(10), 15), kinds, 10)
    assert found["largest"] == 0.5
    assert found["chance"] == pytest.approx(0.60, abs=0.01)
    assert found["purity"] == pytest.approx(found["chance"], abs=0.1)

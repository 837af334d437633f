"""Audits of DPPrefSyn from pairs to the released scorer: its claim survives two worlds, and each planted fault is seen.

The worlds differ in one pair, which is as long as the clip in one of them and says nothing in the other. The auditor
knows both, all that is public, and what is released.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from audits import jobs
from audits.corpus import SHARES, paired, private_records, training_client, without
from audits.faults import too_little_noise, unclipped
from audits.statistics import epsilon_bounds, sight, threshold_bound
from audits.worlds import Leak, TwoWorlds, without_noise
from fedtext.algorithms.dpprefsyn.releases import learned_scorer
from fedtext.corpora.splits import splits_of
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from tests.algorithms.dpprefsyn.examples import CLUSTERED, DIM, compared, dpprefsyn, held, privacy, public

PAIRS, DELTA = 60, 1e-5
LOUD = 5.0  # times the clip


def worlds() -> tuple[np.ndarray, np.ndarray]:
    """Differences of all pairs, the last of which says nothing in the first world."""
    features, _ = compared(1, PAIRS)
    quiet, loud = features.copy(), features.copy()
    quiet[-1], loud[-1] = 0.0, LOUD * np.eye(DIM)[0]
    return quiet, loud


def learned(features: np.ndarray, seed: int, epsilon: float = 1.0, **changes: Any) -> tuple[Any, Ledger]:
    ledger = Ledger(declaration=privacy(epsilon=epsilon, delta=DELTA, noise_seed=0), population=PAIRS)
    return learned_scorer(held(features), features, public(), dpprefsyn(**changes), ledger, new_noise_key(seed))


def bound(runs: int = 60) -> tuple[float, float]:
    """The best lower bound on epsilon of the default form, and the claim."""
    both = worlds()
    with without_noise():
        plain = [learned(features, 0)[0].heads.ravel() for features in both]
    seen = [
        [
            sight([Leak(learned(both[real], 2 * n + real)[0].heads.ravel(), (plain[0], plain[1]))], real)
            for n in range(runs)
        ]
        for real in (0, 1)
    ]
    return epsilon_bounds((seen[0], seen[1]), delta=DELTA).best, learned(both[0], 0)[1].epsilon()


def test_the_claim_survives() -> None:
    found, claim = bound()
    assert 0.5 * claim < found <= claim


@pytest.mark.parametrize("fault", [too_little_noise, unclipped])
def test_a_planted_fault_is_seen(fault: Any) -> None:
    with fault():
        found, claim = bound()
    assert found > claim


@pytest.mark.slow
def test_exact_sizes_tell_who_was_there_whatever_the_noise() -> None:
    """The published form's mixture: shares of sixty are not those of fifty-nine; its releases claim a quarter."""
    changes, scores, spent = {**CLUSTERED, "form": "published"}, [], 0.0
    for features in worlds():
        runs = [learned(features, 1000 + n, epsilon=0.25, **changes) for n in range(120)]
        scores.append(np.array([shares_of_all(scorer.mixture) for scorer, _ in runs]))
        spent = runs[0][1].spent()
        assert all(ledger.epsilon() == np.inf for _, ledger in runs)
    assert spent <= 0.25 + 1e-9
    assert threshold_bound((scores[0], scores[1]), delta=DELTA, alpha=1e-3) > spent


@pytest.mark.slow  # at every commit the test before this sees it in sizes alone, and test_attacks.py that a claim survives
@pytest.mark.parametrize(("form", "is_seen"), [("published", True), ("clustered", False)])
def test_exact_sizes_tell_from_the_records_on_who_was_there(form: str, is_seen: bool) -> None:
    """The registered job on the records of all clients, and of all but one: do its scorers' shares say which it was?"""
    small = jobs.job("dpprefsyn")
    changed = {
        "dpprefsyn": {**small.parameters["dpprefsyn"], **CLUSTERED, "form": form},
        "privacy": {**small.parameters["privacy"], "epsilon": 0.25},
        "corpus": {"declared_public": True},
    }
    everybody = paired(private_records())
    client = training_client(everybody["client_id"], "middle")
    splits = splits_of(everybody["client_id"], **SHARES, seed=0)
    trained = int((everybody["client_id"].map(splits) == "train").sum())
    job = replace(small, parameters={**small.parameters, **changed})
    worlds = TwoWorlds(job, (everybody, without(everybody, client)), target="scorers")
    scores = [
        np.array([shares_of_all(worlds.run(real, n)[1]["mixture"], trained) for n in range(40)]) for real in (0, 1)
    ]
    assert (threshold_bound((scores[0], scores[1]), delta=DELTA, alpha=1e-3) > 0.25) == is_seen


def shares_of_all(mixture: np.ndarray, pairs: int = PAIRS) -> float:
    """1 if no cluster is dropped and every share is a multiple of one over all pairs: then all of them were there."""
    counts = mixture * pairs
    return float((mixture > 0).all() and np.abs(counts - np.round(counts)).max() < 1e-9)

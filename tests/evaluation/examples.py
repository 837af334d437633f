"""Made-up but plausible results, for the figures and the report."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedtext.evaluation.distribution import Bias, HeldOut, fit_pca, median_distance_to_medoid
from fedtext.evaluation.measures.distances import DISTANCES, compared
from fedtext.evaluation.measures.known import measured_sets
from fedtext.evaluation.measures.next_token_accuracy import CROSS_ENTROPY, ranks_of
from fedtext.evaluation.next_token import NextTokenCounts
from fedtext.evaluation.paired import compare_scored
from fedtext.federation.communication import Cost, Exchange
from fedtext.params.evaluation import Evaluation
from fedtext.reporting.glossary import Terms
from fedtext.reporting.scorecard import Distribution, Protection, scorecard
from tests.parameters import conf_base

LEVELS = {
    "eps0": 0.09,
    "public_control": 0.11,
    "untuned_control": 0.10,
    "synthetic": 0.13,
    "private": 0.22,
    "matched_control": 0.115,
}
TEXTS = {"eps0": 0, "private": 8123}


def accuracy(published: bool = False, **levels: float) -> dict[str, Any]:
    """The document of conditions of which the i-th is right about `levels[i]` of the time."""
    more = {f"published_top_{k}": np.asarray(0.6) for k in (1, 3, 5)} if published else {}
    scored = {}
    for i, (name, level) in enumerate({**LEVELS, **levels}.items()):
        right = np.random.default_rng(i).binomial(50, level, size=500)
        ranks = np.minimum(np.stack([right, right * 2, right * 3], axis=1), 50)
        counts = NextTokenCounts((1, 3, 5), ranks, np.full(500, 50), np.full(500, 200.0))
        scored[name] = {**counts.arrays(), "texts": np.asarray(TEXTS.get(name, 2500)), **more}
    return compare_scored(scored, ranks_of(scored["eps0"]), beside=[CROSS_ENTROPY])


def texts_alone() -> dict[str, Any]:
    """Of twenty texts of each set, of which the synthetic ones say each thing twice."""
    said = {"synthetic": [f"text {i // 2}" for i in range(20)], "public_control": [f"text {i}" for i in range(20)]}
    return measured_sets(conf_base(Evaluation, measures="repeated_texts"), said)


def cloud(texts: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(texts, 12)) + 2 * np.eye(12)[rng.integers(3, size=texts)]
    return x / np.linalg.norm(x, axis=1, keepdims=True)


HELD_OUT = cloud(1200, 0)
CLIENTS = np.random.default_rng(1).integers(0, 500, size=1200)
PCA = fit_pca(HELD_OUT)


def distribution() -> Distribution:
    reference = HeldOut.of(HELD_OUT, smallest_set=300)
    rounds = [
        {"adapter": t, "released_score": -0.1 + 0.01 * t, **compared(reference, cloud(300, t), DISTANCES)}
        for t in range(3)
    ]
    return Distribution(
        rounds=tuple(rounds),
        sets={name: compared(reference, cloud(400, 7), DISTANCES) for name in ("synthetic", "public_control")},
        bias=Bias(*reference.floor()),
        held_out_texts=len(HELD_OUT),
        held_out_distance=median_distance_to_medoid(HELD_OUT),
    )


def protection(**changes: Any) -> Protection:
    return Protection(
        **{"unit": "client", "units": 2470, "adjacency": "zero_out", "epsilon": 0.9987, "delta": 1e-5, **changes}
    )


def card(**changes: Any) -> dict[str, Any]:
    cost = Cost.of("POPri", Exchange(variant="witness_rff", down_floats=0, up_floats=1024, exchanges=1))
    given = {
        "algorithm": "POPri",
        "corpus": "docstrings",
        "protection": protection(),
        "accuracy": accuracy(),
        "distribution": distribution(),
        "costs": [cost.model_copy(update={"client_seconds": 0.003, "server_seconds": 31.0})],
        "synthetic_texts": 2500,
        "terms": Terms(),
        "texts": texts_alone(),
    }
    return scorecard(**{**given, **changes})

"""Made-up pairs whose makers prefer one direction, public candidates, and ledgers."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedtext.algorithms.dpprefsyn.candidates import Candidates
from fedtext.embedding.similarity import differences_of
from fedtext.federation.private_samples import PrivateSamples
from fedtext.params.dpprefsyn import Dpprefsyn
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from tests.parameters import conf_base

DIM, KEY = 8, new_noise_key(3)
QUIET = 1e-6  # a noise multiplier that leaves the mechanism's arithmetic to be seen
CLUSTERED = {"form": "clustered", "heads": 3, "heads_by": "difference", "projection": "public", "dimensions": 4}
FORMS: dict[str, dict[str, Any]] = {
    "single": {},
    "public directions": {"projection": "public", "dimensions": 4},
    "private directions": {"projection": "private", "dimensions": 4},
    "single head": {"scorer": "bradley_terry", "training": {"steps": 4}},
    "clustered": CLUSTERED,
    "clustered heads": {**CLUSTERED, "scorer": "bradley_terry", "training": {"steps": 3}},
    "topics": {**CLUSTERED, "heads_by": "prompt"},
}


def dpprefsyn(**changes: Any) -> Dpprefsyn:
    return conf_base(Dpprefsyn, changes)


def privacy(**changes: Any) -> Privacy:
    return conf_base(Privacy, {"epsilon": 4.0, "delta": 1e-5, "unit": "record", "aggregation": "trusted", **changes})


def quiet(population: int, **declared: Any) -> Ledger:
    settings = {"epsilon": 1e15, "delta": 1e-6, "noise_seed": 0, "noise_multiplier": QUIET, **declared}
    return Ledger(declaration=privacy(**settings), population=population)


def units(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


def embedded(seed: int, count: int, answers: int = 2) -> np.ndarray:
    """Answers to `count` prompts, those to one prompt alike."""
    rng = np.random.default_rng(seed)
    return units(2 * rng.normal(size=(count, 1, DIM)) + rng.normal(size=(count, answers, DIM)))


def public(seed: int = 5, prompts: int = 40, answers: int = 4) -> Candidates:
    return Candidates(embedded(seed, prompts, answers).astype(np.float32))


def compared(seed: int, count: int, towards: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Differences and middles of pairs whose makers like answers that point along one axis."""
    rows = embedded(seed, count)
    worse = rows[:, 0, towards] < rows[:, 1, towards]
    rows[worse] = rows[worse, ::-1]
    return differences_of(rows)


def held(features: np.ndarray, per_unit: int = 1) -> PrivateSamples:
    """Each unit holds so many pairs in a row."""
    return PrivateSamples.of_one_class(features, np.arange(len(features)) // per_unit)

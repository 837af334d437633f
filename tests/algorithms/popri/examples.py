"""Small private data sets and parameter sets for POPri's own steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.popri.plan import planned_query
from fedtext.algorithms.popri.scoring import single_release
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from tests.parameters import conf_base

KEY = new_noise_key(3)
DIM = 6
BALLOTS = ("mean_cosine", "mean_cosine_centred", "nearest_histogram")
QUIET = 1e-6  # a noise multiplier that leaves the mechanism's arithmetic to be seen


TEXTS = [
    f"{what} of text {i}, which {does} something"
    for i in range(50)
    for what, does in (("part", "says"), ("end", "asks"))
]


def unit_rows(seed: int, rows: int, dim: int = DIM) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((rows, dim)) + 0.4
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def popri(**changes: Any) -> Popri:
    settings: dict[str, Any] = {
        "rounds": 3, "prompts": 4, "responses": 3, "rejected_rank": 2, "scoring": "witness_linear",
        "prompt_pool": "random", "pool_minimum": 500, "random_features": 16, "word_buckets": 64,
        "synthetic_texts": 8, "oversample": 1.0, "final_responses": 1,
    }  # fmt: skip
    return conf_base(Popri, settings | changes)


def ledger(population: int, **declared: Any) -> Ledger:
    """A curator's, for next to no noise cannot be cut into shares."""
    settings = {"epsilon": 1e15, "delta": 1e-6, "noise_seed": 0, "aggregation": "trusted", **declared}
    return Ledger(declaration=conf_base(Privacy, settings), population=population)


def asked(parameters: Popri, noise: float, round_number: int = 1) -> Query:
    """The round's question at a noise of one's own."""
    privacy = conf_base(Privacy, epsilon=1.0, delta=1e-6, noise_multiplier=noise)
    return planned_query(parameters, privacy, 1, embedding_dim=DIM, round_number=round_number)


def samples(seed: int, *, clients: int = 12, classes: int = 1, unit: str = "client") -> PrivateSamples:
    """One to four samples a client; with classes, some samples are of none."""
    rng = np.random.default_rng(seed)
    client = np.repeat(np.arange(clients), rng.integers(1, 5, clients))
    label = rng.integers(-1, classes, len(client)) if classes > 1 else np.zeros(len(client), dtype=np.int64)
    features = unit_rows(seed + 1, len(client))
    units = np.arange(len(client)) if unit == "record" else client
    return PrivateSamples(features, units, label, np.unique(units))


def seen(held: PrivateSamples, parameters: Popri) -> PrivateSamples:
    """The samples as clients hold them for the scoring: with words, of texts that are theirs."""
    own = [TEXTS[int(abs(row[0]) * 1e6) % len(TEXTS)] for row in held.features]
    return replace(held, features=single_release(parameters).seen(own, held.features, parameters))


def without(held: PrivateSamples, unit: int) -> PrivateSamples:
    """The samples without those of one unit, who stays enrolled."""
    return held.of_units(np.setdiff1d(held.enrolled, unit))


def candidates(texts: list[str], responses: int = 3, labels: list[str | None] | None = None) -> pd.DataFrame:
    prompts = len(texts) // responses
    return pd.DataFrame(
        {
            "prompt_id": np.repeat(np.arange(prompts), responses),
            "response": np.tile(np.arange(responses), prompts),
            "text": texts,
            "label": labels or [None] * len(texts),
        }
    )

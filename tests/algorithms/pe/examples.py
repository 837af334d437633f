"""Small parameter sets, ledgers and candidate tables for Private Evolution's own steps."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fedtext.algorithms.pe.plan import planned_query
from fedtext.federation.query import Query
from fedtext.params.pe import Pe
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from tests.parameters import conf_base

KEY = new_noise_key(3)
QUIET = 1e-6  # a noise multiplier that leaves the mechanism's arithmetic to be seen


def evolution(**changes: Any) -> Pe:
    return conf_base(Pe, {"rounds": 3, "population": 12, "synthetic_texts": 8, "final_responses": 1} | changes)


def ledger(population: int, **declared: Any) -> Ledger:
    """A curator's, for next to no noise cannot be cut into shares."""
    settings = {"epsilon": 1e15, "delta": 1e-6, "noise_seed": 0, "aggregation": "trusted", **declared}
    return Ledger(declaration=conf_base(Privacy, settings), population=population)


def asked(parameters: Pe, noise: float, round_number: int = 1) -> Query:
    """The round's question at a noise of one's own."""
    return planned_query(
        parameters, conf_base(Privacy, epsilon=1.0, delta=1e-6, noise_multiplier=noise), 1, round_number
    )


def table(texts: list[str], labels: list[str | None] | None = None, **more: Any) -> pd.DataFrame:
    return pd.DataFrame({"text": texts, "label": labels or [None] * len(texts), **more})

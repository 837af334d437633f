"""Small parameter sets, tables of texts and ledgers for WASP's own steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fedtext.params.privacy import Privacy
from fedtext.params.wasp import Wasp
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from tests.parameters import conf_base

KEY = new_noise_key(3)
QUIET = 1e-6  # a noise multiplier that leaves the mechanism's arithmetic to be seen
MODELS = ("big", "old", "wild")


def wasp(**changes: Any) -> Wasp:
    return conf_base(Wasp, {"rounds": 3, "texts": 36, "votes_per_record": 4, **changes})


def privacy(**changes: Any) -> Privacy:
    return conf_base(Privacy, {"epsilon": 4.0, "delta": 1e-5, "unit": "record", "aggregation": "trusted", **changes})


def quiet(population: int, **declared: Any) -> Ledger:
    """A curator's ledger with next to no noise."""
    settings = {"epsilon": 1e15, "delta": 1e-6, "noise_seed": 0, "noise_multiplier": QUIET, **declared}
    return Ledger(declaration=privacy(**settings), population=population)


def table(texts: int, labels: tuple[str | None, ...] = (None,)) -> pd.DataFrame:
    """Texts of classes in turn, by models in turn."""
    place = np.arange(texts)
    return pd.DataFrame(
        {
            "text": [f"text {i}" for i in place],
            "label": [labels[i % len(labels)] for i in place],
            "model": [MODELS[i // len(labels) % len(MODELS)] for i in place],
            "round": 1,
            "prompt_id": 0,
        }
    )

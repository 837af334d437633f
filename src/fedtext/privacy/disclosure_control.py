"""Disclosure control of counts that an evaluation reports without noise: small ones are suppressed, others rounded.

This is no differential privacy: it keeps single units of a held-out evaluation from standing out.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

MIN_UNITS = 20  # an aggregate of fewer is not shown
ROUND_TO = 10  # larger ones are rounded to multiples of it


def round_counts(units: Int[np.ndarray, " ..."]) -> Int[np.ndarray, " ..."]:
    """Round numbers of units to multiples of 10; return 0 where there are fewer than 20."""
    rounded: np.ndarray = np.where(units < MIN_UNITS, 0, np.rint(units / ROUND_TO).astype(np.int64) * ROUND_TO)
    return rounded

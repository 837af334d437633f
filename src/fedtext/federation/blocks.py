"""What units hand to a door: rows of numbers, each with the code of the unit whose row it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int64


class Block(NamedTuple):
    """Contributions of some units, at most one row each.

    Attributes:
        unit: Codes of the units (`fedtext.federation.private_samples.unit_codes`); no unit comes twice in a release.
        rows: Their contributions, not yet clipped.
    """

    unit: Int64[np.ndarray, " unit"]
    rows: Float[np.ndarray, "unit dim"]

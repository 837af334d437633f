"""The classes of conditional generation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from fedtext.federation.private_samples import class_index, label_codes
from fedtext.params.popri import Popri


def label_index(labels: Sequence[str | None], popri: Popri) -> Int[np.ndarray, " sample"]:
    """Position of every label among the declared ones, -1 for others; all 0 when generation is unconditional."""
    return class_index(label_codes(labels), popri.labels)

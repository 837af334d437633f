"""A name for public arrays, and for sums that noise is bound to."""

from __future__ import annotations

import hashlib

import numpy as np
from jaxtyping import Shaped


def digest(*arrays: Shaped[np.ndarray, " ..."]) -> str:
    """SHA-256 over shape, type and bytes of each array, in order."""
    state = hashlib.sha256()
    for array in arrays:
        state.update(f"{array.shape} {array.dtype.str};".encode())
        state.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)  # no copy: embeddings are large
    return state.hexdigest()

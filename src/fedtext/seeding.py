"""Named random streams: every random number except privacy noise comes from a seed and the name of its purpose.

A new stream changes no other one, and a repeated node repeats its bytes. Privacy noise never comes from here: it has
its own secret key (fedtext.privacy.noise).
"""

from __future__ import annotations

import hashlib

import numpy as np


def derived_seed(seed: int, *names: str | int) -> int:
    """Return a 63-bit seed for the stream `names` under the run's `seed`."""
    text = "\x1f".join(str(part) for part in (seed, *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return the NumPy generator of the stream `names` under the run's `seed`."""
    return np.random.Generator(np.random.PCG64(derived_seed(seed, *names)))

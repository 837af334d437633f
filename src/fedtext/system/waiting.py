"""How long a thread of torch spins while it waits for the others, before it gives its core away.

GCC's OpenMP, which torch brings on Linux, spins 300,000 times, some milliseconds. On a core that other programs want
too, a spinning thread keeps the very thread from running that it waits for: beside two busy programs on two cores a
small model trained 6 times as long. With fewer spins it takes the cores that are left, and on a machine at rest it
writes a little slower (docs/experiments/five_minutes.md).
"""

from __future__ import annotations

import os

SPINS = 10_000


def wait_briefly() -> None:
    """Set how long torch's threads spin, unless the environment says so; before torch is imported, which reads it."""
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", str(SPINS))

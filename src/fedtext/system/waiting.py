"""How long a thread of torch waits in a loop for the others before it gives its core away.

GCC's OpenMP, which torch brings on Linux, lets a thread that waits turn 300,000 times, some milliseconds. On a core
that other programs want too, the loop keeps the very thread from running that is waited for: beside two busy programs
on two cores a small model trained 6 times as long. With fewer turns it takes the cores that are left, and on a machine
at rest it writes a little slower (docs/experiments/five_minutes.md).
"""

from __future__ import annotations

import os

TURNS = 10_000


def wait_briefly() -> None:
    """Set how long torch's threads wait, unless the environment says so; before torch is imported, which reads it."""
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", str(TURNS))

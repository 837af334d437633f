"""A process that ends when the one that started it does, however that ends."""

from __future__ import annotations

import signal
import sys

PR_SET_PDEATHSIG = 1  # prctl(2)


def end_with_parent() -> None:
    """Called in a new process (`subprocess`'s `preexec_fn`): the kernel asks it to end as soon as its parent is gone.

    Linux only; elsewhere a run whose comparison was killed goes on to its end.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

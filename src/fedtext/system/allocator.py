"""Keep freed memory in the process while a node is at work: large tensors otherwise cost fresh pages each time.

Training and decoding on a CPU free and take the same tens of megabytes at every step; two fifths of the time of an
untuned run went into page faults. Between nodes it goes back, or each kind of work would leave its own pieces behind
and the main job end with 4.8 GiB. This is glibc's allocator; other C libraries are left as they are.
"""

from __future__ import annotations

import ctypes

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # malloc.h
KEPT_BYTES = 2**31 - 1
GROWN_BY_BYTES = 2**26


def keep_freed_memory() -> bool:
    """Tell glibc's allocator to serve large blocks from the heap and to give none back; False where it is not glibc."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # TypeError: Windows
        return False
    settings = ((MMAP_MAX, 0), (TRIM_THRESHOLD, KEPT_BYTES), (TOP_PAD, GROWN_BY_BYTES))
    return all(mallopt(name, value) == 1 for name, value in settings)


def give_freed_memory_back() -> bool:
    """Return what is free to the system, from the middle of the heap too; False where nothing was, or not glibc."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):  # TypeError: Windows
        return False
    return bool(trim(ctypes.c_size_t(0)))

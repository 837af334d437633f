"""Freed memory stays while it is used again, and goes back when told to. Run in a process of its own: it sets malloc."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
from fedtext.system.cores import return_freed_memory, keep_freed_memory

def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096 / 2**20

assert keep_freed_memory()
before = resident()
blocks = [bytearray(b"x") * 2**20 for _ in range(200)]
pinned = bytearray(b"x") * 2**20  # above them: without it the heap could simply end earlier
full = resident()
del blocks
kept = resident()
return_freed_memory()
after = resident()
assert full - before > 190, (before, full)
assert kept > full - 10, (full, kept)
assert after < before + 20, (before, after)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's malloc")
def test_memory_stays_until_it_is_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

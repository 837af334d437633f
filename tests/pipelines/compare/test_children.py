"""A comparison that is killed takes its run with it: nothing holds the data root when it is started again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

SLEEPER = "import time; time.sleep(60)"
PARENT = """
import subprocess, sys
from fedtext.pipelines.compare.children import end_with_parent
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], preexec_fn={preexec})
print(child.pid, flush=True)
child.wait()
"""


def lives(pid: int) -> bool:
    """Whether the process runs; one that has ended and that nobody has asked about yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ended(pid: int, *, within: float) -> bool:
    """Whether the process ends in so many seconds; one that does not is killed."""
    until = time.monotonic() + within
    while lives(pid) and time.monotonic() < until:
        time.sleep(0.05)
    if lives(pid):
        os.kill(pid, 9)
        return False
    return True


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's request is Linux's")
@pytest.mark.parametrize(("preexec", "left"), [("end_with_parent", False), ("None", True)])
def test_a_child_ends_with_a_parent_that_was_killed(preexec: str, left: bool) -> None:
    command = [sys.executable, "-c", PARENT.format(preexec=preexec), SLEEPER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert lives(child)
        parent.kill()
    assert ended(child, within=1 if left else 10) != left

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fedtext.largefedbench.processes import side_by_side


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_the_order_of_the_tasks(processes: int) -> None:
    with side_by_side(processes) as run:
        assert list(run(abs, range(-20, 0))) == list(range(20, 0, -1))


BUSY = """
import os, sys, time
from pathlib import Path
from fedtext.largefedbench.processes import side_by_side

def busy(path):
    Path(path).write_text(str(os.getpid()))
    time.sleep(600)

if __name__ == "__main__":
    with side_by_side(2) as run:
        list(run(busy, sys.argv[1:]))
"""


def alive(pid: int) -> bool:
    """Whether the process is there and no zombie that nobody has waited for."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def until(true: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks into /proc")
def test_workers_end_with_a_build_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text(BUSY)
    notes = [tmp_path / "one", tmp_path / "two"]
    build = subprocess.Popen([sys.executable, str(tmp_path / "busy.py"), *map(str, notes)])
    assert until(lambda: all(note.exists() and note.read_text() for note in notes), 60)
    workers = [int(note.read_text()) for note in notes]
    assert all(map(alive, workers))
    build.send_signal(signal.SIGKILL)
    build.wait()
    assert until(lambda: not any(map(alive, workers)), 10), "a worker outlived its build"

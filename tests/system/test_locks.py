"""Locks between processes: who waits, who is told at once, and what a killed process leaves behind."""

from __future__ import annotations

import errno
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fedtext.system.locks import LockHeldError, locked
from tests.refusals import refuses

HOLDER = """
import sys, time
from pathlib import Path
from fedtext.system.locks import locked
with locked(Path(sys.argv[1]), wait=False):
    print("held", flush=True)
    time.sleep(60)
"""
HOLDER_OF_BEFORE = """
import fcntl, sys, time
with open(sys.argv[1], "a") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def held(file: Path, program: str = HOLDER) -> Iterator[subprocess.Popen[str]]:
    """Another process holds the lock; it is killed at the end of the block."""
    with subprocess.Popen([sys.executable, "-c", program, str(file)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    "program", [HOLDER, pytest.param(HOLDER_OF_BEFORE, marks=pytest.mark.skipif("sys.platform == 'win32'"))]
)
def test_who_does_not_wait_is_told_at_once_until_the_holder_is_killed(tmp_path: Path, program: str) -> None:
    file = tmp_path / "lock"
    with held(file, program) as process:
        with refuses("locked"):
            locked(file, wait=False)
        process.kill()
        process.wait()
        with locked(file, wait=False):
            pass
    assert file.exists()


def test_who_waits_gets_it_when_the_holder_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with held(file) as process:
        threading.Timer(0.3, process.kill).start()
        before = time.monotonic()
        with locked(file, wait=True):
            assert time.monotonic() - before > 0.2


def test_a_lock_file_of_before_keeps_what_is_in_it(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    file.write_text("of an earlier version")
    with locked(file, wait=True), pytest.raises(LockHeldError):
        locked(file, wait=False)
    assert file.read_text() == "of an earlier version"


def test_two_threads_of_one_process_take_turns(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        with locked(tmp_path / "lock", wait=True):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.05)
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    assert most == [1, 1, 1, 1]


@pytest.mark.skipif(sys.platform == "win32", reason="a lock of Unix")
def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As some that are mounted over a network: filelock would fall back on a file that a killed process leaves."""
    fcntl = pytest.importorskip("fcntl")

    def none(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", none)
    with refuses("no-file-locks"):
        locked(tmp_path / "lock", wait=False)

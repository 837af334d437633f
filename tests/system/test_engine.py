"""Engines: results in order, closures, errors as they were raised, workers that end with their run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import torch

from fedtext.system.alike import computed_with
from fedtext.system.engine import (
    Engine,
    InProcess,
    as_bytes,
    compute_alike,
    computing_on,
    current,
    over_processes,
    worker_processes,
)
from fedtext.system.errors import InputError
from tests.refusals import refuses


@pytest.fixture(scope="module")
def two() -> Iterator[Engine]:
    with over_processes(2) as engine:
        yield engine


def test_results_come_in_the_order_of_the_pieces(two: Engine) -> None:
    shift = 3
    for engine in (InProcess(), two):
        assert list(engine.map(lambda piece: abs(piece) + shift, range(-20, 0))) == list(range(23, 3, -1))


def test_pieces_are_taken_as_they_are_needed(two: Engine) -> None:
    taken: list[int] = []

    def pieces() -> Iterator[int]:
        for piece in range(100):
            taken.append(piece)
            yield piece

    found = two.map(abs, pieces())
    assert next(found) == 0
    assert len(taken) < 10


def test_an_error_is_raised_as_the_function_raised_it(two: Engine) -> None:
    def fails_at_two(piece: int) -> int:
        if piece == 2:
            raise InputError(f"piece {piece}: give another", code="odd", value=piece)
        return piece

    found = two.map(fails_at_two, range(4))
    assert [next(found), next(found)] == [0, 1]
    with refuses("odd", value=2) as raised:
        next(found)
    assert str(raised.value) == "piece 2: give another"
    assert list(two.map(abs, [-1])) == [1]


def test_tensors_travel_by_value_and_not_as_open_files_of_a_process(two: Engine) -> None:
    (doubled,) = two.map(lambda piece: piece * 2, [torch.arange(3)])
    assert doubled.tolist() == [0, 2, 4]
    assert not doubled.is_shared()


def test_a_worker_computes_for_a_run_that_computes_alike_alone() -> None:
    work = as_bytes(abs)
    assert compute_alike(computed_with(), work, -3) == 3
    with refuses("worker-computes-otherwise"):
        compute_alike({**computed_with(), "version of torch": "another"}, work, -3)


def test_workers_are_known_and_are_other_processes(two: Engine) -> None:
    pids = set(two.map(lambda _: os.getpid(), range(8)))
    assert pids <= worker_processes()
    assert os.getpid() not in worker_processes()
    with over_processes(1) as other:
        further = set(other.map(lambda _: os.getpid(), [0]))
        assert further <= worker_processes()
    assert pids <= worker_processes() - further


def test_a_worker_that_was_killed_ends_the_work_with_a_remedy() -> None:
    with over_processes(2) as engine:
        psutil.Process(next(engine.map(lambda _: os.getpid(), [0]))).kill()
        with refuses("worker-lost", parameter="engine.workers", value=2):
            list(engine.map(abs, range(50)))


def test_an_engine_is_in_force_for_a_block(two: Engine) -> None:
    assert isinstance(current(), InProcess)
    with computing_on(two):
        assert current() is two
    assert isinstance(current(), InProcess)


BUSY = """
import os, sys, time
from pathlib import Path
from fedtext.system.engine import over_processes

def busy(path):
    Path(path).write_text(str(os.getpid()))
    time.sleep(600)

if __name__ == "__main__":
    with over_processes(2) as engine:
        list(engine.map(busy, sys.argv[1:]))
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
def test_workers_end_with_a_run_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text(BUSY)
    notes = [tmp_path / "one", tmp_path / "two"]
    run = subprocess.Popen([sys.executable, str(tmp_path / "busy.py"), *map(str, notes)])
    assert until(lambda: all(note.exists() and note.read_text() for note in notes), 60)
    workers = [int(note.read_text()) for note in notes]
    assert all(map(alive, workers))
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert until(lambda: not any(map(alive, workers)), 10), "a worker outlived its run"

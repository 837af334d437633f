"""Threads and processes that a node leaves running, or that run unwatched beside it."""

from __future__ import annotations

import ctypes
import multiprocessing
import sys
import threading
import time
from contextlib import suppress
from typing import NamedTuple

import psutil
from psutil import Process

from fedtext.system.engine import worker_processes
from fedtext.system.ray_engine import is_started

PATIENCE = 1.0  # seconds for threads and processes to end that a node has stopped
TRACKER = "multiprocessing.resource_tracker"  # Python's own process, which records names of shared memory


class ThreadNumbers(NamedTuple):
    """Python's number of a thread, which is reused when it has ended, and the system's, where Python knows it."""

    python: int
    system: int | None


def threads() -> set[ThreadNumbers]:
    """Return the threads that run Python code."""
    system = {one.ident: one.native_id for one in threading.enumerate()}
    return {ThreadNumbers(number, system.get(number)) for number in sys._current_frames()}


def processes() -> list[Process]:
    """Return the processes that this process has started and still runs, except Python's own helper.

    Workers of the run's engine are left out, and what they start: they are watched (fedtext.wiring.guard.workers).
    """
    engine = worker_processes()
    found = [one for one in Process().children() if one.pid not in engine]
    further = [child for one in found for child in _children(one) if child.pid not in engine]
    return [one for one in (*found, *further) if not _is_over(one)]


def workers() -> list[str]:
    """Return the names of processes to which this one hands Python objects and that nothing watches.

    Those of the run's engine are watched (fedtext.wiring.guard.workers).
    joblib keeps workers for minutes after their work, and starts new ones when it needs them: those are ended here.
    """
    idle = getattr(sys.modules.get("joblib.externals.loky.reusable_executor"), "_executor", None)
    if idle is not None:
        idle.shutdown(wait=True)
    engine = worker_processes()
    found = [f"the process {one.name}" for one in multiprocessing.active_children() if one.pid not in engine]
    ray = sys.modules.get("ray")
    if ray is not None and ray.is_initialized() and not is_started():
        found.append("Ray")
    return found


def new_threads(before: set[ThreadNumbers]) -> list[int]:
    """Return Python's numbers of the threads that were not there before, after giving them time to end."""
    new = threads() - before
    until = time.monotonic() + PATIENCE
    while new and time.monotonic() < until:
        time.sleep(0.01)
        new &= threads()
    return sorted(one.python for one in new)


def new_processes(before: list[Process]) -> list[Process]:
    """Return the processes that were not there before, after giving them time to end."""
    new = [one for one in processes() if one not in before]
    if new:
        psutil.wait_procs(new, timeout=PATIENCE)
    return [one for one in new if not _is_over(one)]


def thread_name(number: int) -> str:
    """Return Python's name of a thread."""
    return next((one.name for one in threading.enumerate() if one.ident == number), f"number {number}")


def end_thread(number: int) -> None:
    """Raise SystemExit in a thread, the next time that it runs Python code."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(number), ctypes.py_object(SystemExit))


def end_process(process: Process) -> None:
    """Kill a process at once."""
    with suppress(psutil.Error):
        process.kill()


def _children(process: Process) -> list[Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _is_over(process: Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE or any(TRACKER in word for word in process.cmdline())
    except psutil.Error:
        return True

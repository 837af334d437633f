"""One run at a time in a process: its configuration, its guard and its umask are the whole process's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, get_ident

from fedtext.system.refusal import RunRefusedError

_running = Lock()
_thread: int | None = None  # of the run that goes on


@contextmanager
def only_run_here() -> Iterator[None]:
    """Make the block the only run of this process.

    Raises:
        RunRefusedError: Another one goes on, in whichever thread.
    """
    global _thread  # noqa: PLW0603 - there is one process
    if not _running.acquire(blocking=False):
        raise _other_run()
    _thread = get_ident()
    try:
        yield
    finally:
        _thread = None
        _running.release()


def check_no_other_run() -> None:
    """Check that no other thread of this process runs, for the newest configuration is everybody's.

    Raises:
        RunRefusedError: One does.
    """
    if _thread not in (None, get_ident()):
        raise _other_run()


def _other_run() -> RunRefusedError:
    return RunRefusedError(
        "another run goes on in this process, and the data root, the guard and the budget are its own: wait for it, or "
        "start this one in a process of its own, as `kedro run` does",
        code="another-run-in-this-process",
    )

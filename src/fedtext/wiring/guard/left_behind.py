"""Traces that a node which read private data leaves when it ends: files, folders, threads, processes, handlers."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from psutil import Process

from fedtext.system.file_limit import RefusedWrites, is_write_refused
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.guard import still_running as running
from fedtext.wiring.guard.new_names import (
    FolderNames,
    Inode,
    all_below,
    is_left_behind,
    is_moved,
    new_names,
    take_back,
)
from fedtext.wiring.guard.process_state import ProcessState
from fedtext.wiring.guard.watch import Watch, fail_node

LOG = logging.getLogger(__name__)


class FolderSnapshot:
    """The state of the folders, threads and processes before a node, to find what the node leaves behind.

    Args:
        data_root: The run's own; its private files must stay where they are.
        working: The working folder.
        temporary: The run's own folder for temporary files, if it has one. Folders without files do no harm there.
    """

    def __init__(self, data_root: Path, working: Path, temporary: Path | None = None) -> None:
        self._data_root, self._temporary = Path(os.path.realpath(data_root)), temporary
        self._names = FolderNames([data_root, working, *([temporary] if temporary else [])])
        self._told: set[int] = set()

    @contextmanager
    def leftovers_removed(self, watch: Watch, refused: RefusedWrites) -> Iterator[None]:
        """Remove what the node leaves behind at the end of the block, and raise if there was any.

        Args:
            watch: Of the node.
            refused: Whether a write of this process was refused meanwhile.

        Raises:
            RunRefusedError: with what that was; it takes the place of the node's own error.
        """
        self._alone(watch)
        names, threads, processes, state = (
            self._names.names(),
            running.threads(),
            running.processes(),
            ProcessState.now(),
        )
        private = self._names.private_files()
        self._log_processes(processes, watch)
        failed: BaseException | None = None
        try:
            yield
        except BaseException as error:
            failed = error
        faults = [*_left_running(threads, processes, state, watch), *dict.fromkeys(state.undo_private_text(watch))]
        wrote = refused.seen or is_write_refused(failed)
        new = list(new_names(names, self._names.names()))
        if left := [path for path in new if self._is_made_by_node(path, private, watch, wrote=wrote)]:
            for path in left:
                take_back(path, private)
            more = f" and {len(left) - 1} more" if len(left) > 1 else ""
            faults.append(f"leaves {watch.shown(left[0])}{more} behind, which is undone")
        if faults and (isinstance(failed, Exception) or failed is None) and not _is_reported(failed, left):
            raise _refusal(watch, faults) from failed
        if failed is not None:
            raise failed

    def _is_made_by_node(self, path: Path, private: dict[Inode, Path], watch: Watch, *, wrote: bool) -> bool:
        """Return whether a new path is to be removed: in the run's own folders all that the node can have made.

        In the working folder people and other programs make files too. There it is a private file that was moved, a
        name that reveals private text, or an empty file, if this process tried to write one.
        """
        if not is_left_behind(path, private):
            return False
        inside = all_below(path) if path.is_dir() and not path.is_symlink() else [path]
        if self._temporary in path.parents:
            return bool(inside)  # libraries make folders there as they are imported
        if self._data_root in path.parents or any(is_moved(one, private) for one in inside):
            return True
        told = any(watch.may_be_private(name) for one in (path, *inside) for name in one.relative_to(path.parent).parts)
        return told or (wrote and bool(inside) and not path.is_symlink())

    def _alone(self, watch: Watch) -> None:
        if workers := running.workers():
            raise RunRefusedError(
                f"{watch.who} reads private data, and {workers[0]} runs beside it, where nothing watches: end "
                "it before the run",
                code="something-runs-beside",
                value=watch.who,
            )

    def _log_processes(self, processes: list[Process], watch: Watch) -> None:
        """Log once for each process that it runs beside private data."""
        for one in processes:
            if one.pid not in self._told:
                self._told.add(one.pid)
                LOG.warning(
                    "process %d, which this one started, runs beside %s, which reads private data; nothing watches it",
                    one.pid,
                    watch.who,
                )


@contextmanager
def nothing_left_running(watch: Watch) -> Iterator[None]:
    """End the threads, processes and handlers that the block leaves, and raise if there were any.

    Raises:
        RunRefusedError: with what that was, unless the block raised an error of its own.
    """
    threads, processes, state = running.threads(), running.processes(), ProcessState.now()
    try:
        yield
    except BaseException:
        _left_running(threads, processes, state, watch)
        raise
    if faults := _left_running(threads, processes, state, watch):
        raise _refusal(watch, faults)


def _left_running(
    threads: set[running.ThreadNumbers], processes: list[Process], state: ProcessState, watch: Watch
) -> list[str]:
    return [*state.undo_handlers(), *_threads_left(threads, watch), *_processes_left(processes)]


def _refusal(watch: Watch, faults: Sequence[str]) -> RunRefusedError:
    return RunRefusedError(
        f"{watch.who} {' and '.join(faults)}, after it has read private data: return what it makes as a data set, and "
        "end what it starts",
        code="left-behind",
        value=watch.who,
    )


def _threads_left(before: set[running.ThreadNumbers], watch: Watch) -> Iterator[str]:
    if left := running.new_threads(before):
        for number in left:
            fail_node(number, watch)
            running.end_thread(number)
        called = running.thread_name(left[0])
        whose = "a thread" if watch.may_be_private(called) else f"the thread '{called}'"
        yield f"leaves {whose} running"


def _processes_left(before: list[Process]) -> Iterator[str]:
    if left := running.new_processes(before):
        for one in left:
            running.end_process(one)
        yield f"leaves the process {left[0].pid} running, which is ended"


def _is_reported(failed: BaseException | None, left: Sequence[Path]) -> bool:
    """Return whether the node's own error already names what it left: the refusal of what it tried."""
    return isinstance(failed, RunRefusedError) and not left

"""What a node that read private data has left behind when it ends: names below its folders, threads, processes."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psutil import Process

from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.guard import still_running as running
from fedtext.wiring.guard.new_names import FolderNames, is_left_behind, new_names, take_back
from fedtext.wiring.guard.watch import Watch, condemn

LOG = logging.getLogger(__name__)


class Surroundings:
    """The folders in which a run's nodes could leave something, and what else is looked at around a node.

    Args:
        data_root: The run's own; its private files must stay where they are.
        working: The working folder.
        temporary: The run's own folder for temporary files, if it has one. Folders without files do no harm there.
    """

    def __init__(self, data_root: Path, working: Path, temporary: Path | None = None) -> None:
        self._temporary = temporary
        self._names = FolderNames([data_root, working, *([temporary] if temporary else [])])
        self._told: set[int] = set()

    @contextmanager
    def nothing_left(self, watch: Watch) -> Iterator[None]:
        """Undoes what the node has left behind at the end of the block.

        Raises:
            RunRefusedError: with what that was; it takes the place of the node's own error.
        """
        self._alone(watch)
        names, threads, processes = self._names.names(), running.threads(), running.processes()
        private = self._names.private_files()
        self._tell_of(processes, watch)
        failed: Exception | None = None
        try:
            yield
        except Exception as error:
            failed = error
        faults = []
        if threads_left := running.new_threads(threads):
            called = running.thread_name(threads_left[0])
            for number in threads_left:
                condemn(number, watch)
                running.end_thread(number)
            faults.append(f"leaves the thread '{called}' running")
        if processes_left := running.new_processes(processes):
            for one in processes_left:
                running.end_process(one)
            faults.append(f"leaves the process {processes_left[0].pid} running, which is ended")
        new = [path for path in new_names(names, self._names.names()) if not self._is_harmless(path)]
        left = [path for path in new if is_left_behind(path, private)]
        for path in left:
            take_back(path, private)
        if left:
            more = f" and {len(left) - 1} more" if len(left) > 1 else ""
            faults.append(f"leaves {left[0]}{more} behind, which is undone")
        if faults and not (isinstance(failed, RunRefusedError) and not left):
            raise RunRefusedError(
                f"{watch.who} {' and '.join(faults)}, after it has read private data: return what it makes as "
                "a data set, and end what it starts"
            ) from failed
        if failed is not None:
            raise failed

    def _is_harmless(self, path: Path) -> bool:
        files = (name for _, _, names in os.walk(path) for name in names)
        return self._temporary in path.parents and path.is_dir() and next(files, None) is None

    def _alone(self, watch: Watch) -> None:
        if workers := running.workers():
            raise RunRefusedError(
                f"{watch.who} reads private data, and {workers[0]} runs beside it, where nothing watches: end "
                "it before the run"
            )

    def _tell_of(self, processes: list[Process], watch: Watch) -> None:
        """Says once of each process that it runs beside private data."""
        for one in processes:
            if one.pid not in self._told:
                self._told.add(one.pid)
                LOG.warning(
                    "process %d, which this one started, runs beside %s, which reads private data; nothing watches it",
                    one.pid,
                    watch.who,
                )

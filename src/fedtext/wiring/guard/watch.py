"""What a node is watched for, and the audit hook that sees it.

Python reports what it opens, connects to or starts to audit hooks before it does so, and a hook that raises prevents
it. The hook stands for the rest of the process and does nothing unless a node is watched; nodes run one after the
other, and a node's threads are watched with it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedtext.system.refusal import RunRefusedError

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
OUTSIDE = {
    "socket.connect": "connects to",
    "socket.sendto": "sends to",
    "socket.sendmsg": "sends to",
    "socket.getaddrinfo": "looks up",
    "socket.gethostbyname": "looks up",
    "subprocess.Popen": "starts",
    "os.system": "starts",
    "os.exec": "starts",
    "os.spawn": "starts",
    "os.posix_spawn": "starts",
    "sqlite3.connect": "opens the database",
    "os.link": "links",
    "os.symlink": "links",
}
_watches: list[Watch] = []
_installed: list[bool] = []


class SideEffectRefusedError(RunRefusedError, PermissionError):
    """What a node tried; a `PermissionError` too, so that a library that can do without (a cache) does without."""


@dataclass
class Watch:
    """What is watched for.

    Attributes:
        node: Its name, for messages.
        reads_private: Whether it must leave no trace beside its outputs.
        may_read: Whether it may open the private files that parameters name.
        data_root: Below it, a file or directory whose name starts with `private_` is the catalog's to open.
        private_files: Resolved paths of the private files that parameters name.
        hidden: Messages that were not shown.
    """

    node: str
    reads_private: bool
    may_read: bool
    data_root: Path
    private_files: frozenset[Path] = frozenset()
    hidden: int = field(default=0, init=False)

    def judge(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Raises SideEffectRefusedError for what the node may not do."""
        if event == "open":
            path, _, flags = arguments
            self.opens(path, writes=bool((flags or 0) & WRITING))
        elif self.reads_private and event in OUTSIDE:
            target = next((str(one) for one in arguments if isinstance(one, str | bytes | tuple)), "something")
            self.refuse(f"{OUTSIDE[event]} {target} while it reads private data: do that in a node that reads none")

    def refuse(self, what: str) -> None:
        """Raises SideEffectRefusedError that the node does `what`."""
        raise SideEffectRefusedError(f"node '{self.node}' {what}")

    def hide(self, messages: int = 1) -> None:
        """Counts what is not shown."""
        self.hidden += messages

    def opens(self, path: Any, *, writes: bool) -> None:
        """Raises SideEffectRefusedError where the node may not open `path`; what is no path is no matter."""
        if not isinstance(path, str | bytes | os.PathLike):
            return
        path = os.fsdecode(path)
        if writes:
            if self.reads_private and not _is_harmless(path):
                self.refuse(f"writes {path} itself while it reads private data: return what it makes as a data set")
            return
        real = Path(os.path.realpath(path))
        below = real.relative_to(self.data_root).parts if real.is_relative_to(self.data_root) else ()
        if any(part.startswith("private_") for part in below):
            self.refuse(f"opens {path}, the file of a private data set, itself: make the data set its input")
        if not self.may_read and any(real == one or one in real.parents for one in self.private_files):
            self.refuse(f"opens {path}, which is private, and writes what is not: read it in a node of its own")


def _is_harmless(path: str) -> bool:
    """Nothing is kept there, or only what Python compiles."""
    return path == os.devnull or Path(path).parent.name == "__pycache__"


def begin(watch: Watch) -> None:
    """Watches from here on."""
    if not _installed:
        tempfile.gettempdir()  # is found by writing to it, once a process, by libraries as they are imported
        sys.addaudithook(_audit)  # cannot be taken away
        _installed.append(True)
    _watches.append(watch)


def end(watch: Watch) -> None:
    """Ends what `begin` began."""
    _watches.remove(watch)


def current() -> Watch | None:
    """What is watched for now; None between nodes."""
    return _watches[-1] if _watches else None


@contextmanager
def suspended() -> Iterator[None]:
    """The runner's own bookkeeping inside a node: nothing is watched until the end of the block."""
    watches, _watches[:] = _watches[:], []
    try:
        yield
    finally:
        _watches[:] = watches


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if (watch := current()) is not None and (event == "open" or event in OUTSIDE):
        watch.judge(event, arguments)

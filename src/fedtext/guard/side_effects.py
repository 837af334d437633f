"""What a node may not do while it reads private data: write, connect, start programs, track, log, print.

Python reports such calls to audit hooks before it does them, and a hook that raises prevents them. The hook stands for
the rest of the process and does nothing unless a node is watched; nodes run one after the other, and a node's threads
are watched with it. It sees what Python opens; the doors of a few libraries that open files in their own C++ or Rust
are watched by name (NATIVE). So it keeps off mistakes and is no sandbox.
"""

from __future__ import annotations

import functools
import io
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedtext.refusal import RunRefusedError

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
# What libraries open in their own C++ or Rust: module, function, position and name of the path, whether it is written.
NATIVE = (
    ("pyarrow.parquet", "read_table", 0, "source", False),
    ("pyarrow.parquet", "write_table", 1, "where", True),
    ("safetensors.numpy", "load_file", 0, "filename", False),
    ("safetensors.numpy", "save_file", 1, "filename", True),
    ("safetensors.torch", "load_file", 0, "filename", False),
    ("safetensors.torch", "save_file", 1, "filename", True),
    ("torch", "load", 0, "f", False),
    ("torch", "save", 1, "f", True),
)
LOG = logging.getLogger(__name__)
_watches: list[Watch] = []


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


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Refuses what `watch` is for until the end of the block; without a trace if the node reads private data."""
    _install()
    with ExitStack() as stack:
        if watch.reads_private:
            _silence(watch, stack)
            _untrack(watch, stack)
        _watch_libraries(watch, stack)
        _watches.append(watch)
        try:
            yield
        finally:
            _watches.remove(watch)
    if watch.hidden:
        LOG.info(
            "%d messages of node %s are not shown, because it reads private data: return what should be seen",
            watch.hidden,
            watch.node,
        )


def _silence(watch: Watch, stack: ExitStack) -> None:
    stack.enter_context(redirect_stdout(_Sink(watch.hide)))
    stack.enter_context(redirect_stderr(_Sink(watch.hide)))
    stack.enter_context(_replaced(logging.Logger, "handle", lambda _logger, _record: watch.hide()))


def _untrack(watch: Watch, stack: ExitStack) -> None:
    """MLflow writes through connections that are open already, so that no event tells of it."""
    client = getattr(sys.modules.get("mlflow.tracking.client"), "MlflowClient", None)

    def refuse(*_: Any, **__: Any) -> None:
        watch.refuse("logs to MLflow while it reads private data: return what it makes as a released data set")

    for name in [name for name in dir(client) if name.startswith(("log_", "set_tag", "set_experiment_tag"))]:
        stack.enter_context(_replaced(client, name, refuse))


def _watch_libraries(watch: Watch, stack: ExitStack) -> None:
    for module, name, position, keyword, writes in NATIVE:
        if (loaded := sys.modules.get(module)) is not None:
            watching = _watching(watch, getattr(loaded, name), position, keyword, writes=writes)
            stack.enter_context(_replaced(loaded, name, watching))


def _watching(
    watch: Watch, function: Callable[..., Any], position: int, keyword: str, *, writes: bool
) -> Callable[..., Any]:
    @functools.wraps(function)
    def watched_function(*args: Any, **kwargs: Any) -> Any:
        watch.opens(args[position] if len(args) > position else kwargs.get(keyword), writes=writes)
        return function(*args, **kwargs)

    return watched_function


@contextmanager
def _replaced(owner: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    own = vars(owner).get(name)
    setattr(owner, name, function)
    try:
        yield
    finally:
        if own is None:
            delattr(owner, name)  # it was inherited
        else:
            setattr(owner, name, own)


def _is_harmless(path: str) -> bool:
    """Nothing is kept there, or only what Python compiles."""
    return path == os.devnull or Path(path).parent.name == "__pycache__"


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _watches and (event == "open" or event in OUTSIDE):
        _watches[-1].judge(event, arguments)


def _install() -> None:
    """Once a process: an audit hook cannot be taken away."""
    if not _installed:
        tempfile.gettempdir()  # is found by writing to it, once a process, by libraries as they are imported
        sys.addaudithook(_audit)
        _installed.append(True)


_installed: list[bool] = []


class _Sink(io.TextIOBase):
    """A stream that counts lines."""

    def __init__(self, hide: Callable[[int], None]) -> None:
        self._hide = hide

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._hide(text.count("\n"))
        return len(text)

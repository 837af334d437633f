"""Side effects that a node may not have while it reads private data: files, connections, programs, logs, prints.

- The audit hook (fedtext.wiring.guard.watch) refuses what Python opens, moves, connects to or starts, beforehand.
- Functions that read in C++ or Rust are watched by name (fedtext.wiring.guard.native).
- The operating system refuses all writes to files, from C++ and Rust too (fedtext.system.file_limit).
- Names of files, threads and processes that a node leaves all the same are found when it ends
  (fedtext.wiring.guard.left_behind).
- Standard streams lead nowhere, and messages are counted and dropped.

It protects against mistakes and is no sandbox: docs/leaks.md lists what gets past it.
"""

from __future__ import annotations

import _socket
import atexit
import functools
import logging
import os
import socket
import ssl
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.synchronize import SemLock
from typing import Any

from tqdm import tqdm

from fedtext.privacy.history import FOLDER as RECORDS
from fedtext.system.file_limit import RefusedWrites, files_written, is_write_refused, no_file_written
from fedtext.system.open_files import drop_buffers, write_buffers
from fedtext.system.ray_engine import is_handing_over
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.guard.left_behind import FolderSnapshot
from fedtext.wiring.guard.native import import_libraries, judge_calls
from fedtext.wiring.guard.streams import hidden_descriptors, hidden_prints
from fedtext.wiring.guard.watch import SideEffectRefusedError, Watch, begin, current, end

WAKE_UP = b"\0"  # what an event loop of asyncio sends to itself
SENDERS = ((socket.socket, ("sendall", "sendfile")), (ssl.SSLSocket, ("send", "sendall", "write")))
LOG = logging.getLogger(__name__)


@contextmanager
def watched(watch: Watch, surroundings: FolderSnapshot | None = None) -> Iterator[None]:
    """Refuse the side effects that `watch` forbids until the end of the block.

    Args:
        watch: The node, and what it may do.
        surroundings: The folders in which a node that reads private data could leave files; None: they are not
            checked.

    Raises:
        RunRefusedError: The node has written, or left something behind; what it left is removed.
    """
    with ExitStack() as stack:
        if watch.reads_private:
            _prepare_libraries()
            stack.enter_context(_without_a_trace(watch, surroundings))
        stack.enter_context(judged(watch))
        yield
    if watch.hidden:
        LOG.info("messages of %s are not shown, because it reads private data: return what should be seen", watch.who)


@contextmanager
def judged(watch: Watch) -> Iterator[None]:
    """Refuse what `watch` forbids, as Python reports it, until the end of the block."""
    judge_calls()
    begin(watch)
    try:
        yield
    finally:
        end(watch)


@contextmanager
def saving(watch: Watch) -> Iterator[None]:
    """Refuse what `watch` forbids, and drop what is printed, while a private data set is saved."""
    begin(watch)
    try:
        with hidden_prints(_hiding):
            yield
    finally:
        end(watch)


@contextmanager
def _without_a_trace(watch: Watch, surroundings: FolderSnapshot | None) -> Iterator[None]:
    records, refused = watch.data_root / RECORDS, RefusedWrites()
    with ExitStack() as stack:
        if surroundings is not None:
            stack.enter_context(surroundings.leftovers_removed(watch, refused))
        stack.enter_context(_refused_write_explained(watch))
        written = stack.enter_context(hidden_descriptors())
        stack.enter_context(hidden_prints(_hiding))
        _silence_messages(watch, stack)
        _block_silent_events(watch, stack)
        _block_tracking(watch, stack)
        _block_ray(watch, stack)
        exits = _ExitHandlers(watch)
        stack.enter_context(replaced(atexit, "register", exits.register))
        write_buffers(records)
        with no_file_written() as limit:
            try:
                yield
            finally:
                waiting = drop_buffers(records)
                refused.seen = limit.seen
        output, error = written()
        if error:
            watch.hide()
        _check_leftovers(watch, waiting, exits, output)


def _check_leftovers(watch: Watch, waiting: Sequence[str], exits: _ExitHandlers, output: bytes) -> None:
    if waiting:
        raise SideEffectRefusedError(
            f"{watch.who} writes {watch.shown(waiting[0])}, which was open before, while it reads private data: return "
            "what it makes as a data set",
            code="writes-open-file",
            value=watch.who,
        )
    if exits.has_others:
        exits.watch_all()
        raise SideEffectRefusedError(
            f"{watch.who} registers what runs when the process ends, while it reads private data: do that before the "
            "run",
            code="registers-exit-handler",
            value=watch.who,
        )
    if output:
        raise SideEffectRefusedError(
            f"{watch.who} writes to standard output past Python's own stream while it reads private data, which is not "
            "shown: return what should be seen",
            code="writes-past-stream",
            value=watch.who,
        )


@contextmanager
def _refused_write_explained(watch: Watch) -> Iterator[None]:
    """Explain a write that the operating system refused: the error becomes a RunRefusedError about private data."""
    try:
        yield
    except RunRefusedError:
        raise
    except Exception as error:
        if is_write_refused(error):
            told = RunRefusedError(
                f"{watch.who} writes a file itself while it reads private data ({type(error).__name__}): "
                "return what it makes as a data set",
                code="file-written",
                value=watch.who,
            )
            raise told from error
        raise


def _hiding() -> Callable[[], None] | None:
    """Return the current watch's function that notes hidden output; None if nothing is watched."""
    watch = current()
    return watch.hide if watch is not None and watch.reads_private else None


def _silence_messages(watch: Watch, stack: ExitStack) -> None:
    """Drop all log messages.

    Loggers of other classes, such as absl's, handle messages by themselves; all hand them on to handlers.
    """

    def drop(*_: Any, **__: Any) -> None:
        watch.hide()

    for owner, name in ((logging.Logger, "handle"), (logging.Logger, "callHandlers"), (logging.Handler, "handle")):
        stack.enter_context(replaced(owner, name, drop))


def _block_silent_events(watch: Watch, stack: ExitStack) -> None:
    """Refuse what raises no audit event: sending through an open connection, named pipes, `multiprocessing`.

    A lock of `multiprocessing` is a file to the operating system, with a random name and no text in it.
    """
    import _posixsubprocess  # Windows has none, and there a run that reads private data is refused

    def refusing(what: str) -> Callable[..., None]:
        def refuse(*_: Any, **__: Any) -> None:
            watch.refuse(what)

        return refuse

    def send(connection: socket.socket, data: Any, *flags: int) -> int:
        if bytes(data) != WAKE_UP:
            refusing("sends through a connection")()
        return _socket.socket.send(connection, data, *flags)

    for owner, names in SENDERS:
        for name in names:
            stack.enter_context(replaced(owner, name, refusing("sends through a connection")))
    stack.enter_context(replaced(socket.socket, "send", send))
    stack.enter_context(replaced(_posixsubprocess, "fork_exec", refusing("starts a process")))
    for name in ("mkfifo", "mknod"):
        stack.enter_context(replaced(os, name, refusing("makes a pipe or a device")))
    stack.enter_context(replaced(SemLock, "__init__", _allowed(SemLock.__init__)))


def _allowed(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def allowed(*args: Any, **kwargs: Any) -> Any:
        with files_written():
            return function(*args, **kwargs)

    return allowed


def _block_tracking(watch: Watch, stack: ExitStack) -> None:
    """Refuse MLflow calls, which write through connections that are open already and so raise no audit event."""
    client = getattr(sys.modules.get("mlflow.tracking.client"), "MlflowClient", None)

    def refuse(*_: Any, **__: Any) -> None:
        raise SideEffectRefusedError(
            f"{watch.who} logs to MLflow while it reads private data: return what it makes as a released data set",
            code="logs-to-mlflow",
            value=watch.who,
        )

    for name in [name for name in dir(client) if name.startswith(("log_", "set_tag", "set_experiment_tag"))]:
        stack.enter_context(replaced(client, name, refuse))


def _block_ray(watch: Watch, stack: ExitStack) -> None:
    """Refuse what a node hands to Ray's workers past the run's engine, which watches them."""
    for module, name in (("remote_function", "RemoteFunction"), ("actor", "ActorClass"), ("actor", "ActorMethod")):
        if (owner := getattr(sys.modules.get(f"ray.{module}"), name, None)) is not None:
            stack.enter_context(replaced(owner, "_remote", _by_the_engine_alone(owner._remote, watch)))


def _by_the_engine_alone(function: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    @functools.wraps(function)
    def judged(*args: Any, **kwargs: Any) -> Any:
        if not is_handing_over():
            raise SideEffectRefusedError(
                f"{watch.who} hands work to Ray while it reads private data: map it by the run's engine, which is "
                "watched",
                code="hands-work-to-ray",
                value=watch.who,
            )
        return function(*args, **kwargs)

    return judged


class _ExitHandlers:
    """The handlers that a node registers to run when the process ends: they are watched as the node was."""

    def __init__(self, watch: Watch) -> None:
        self._watch, self._register = watch, atexit.register
        self._expected = atexit._ncallbacks()

    def register(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Register a handler in place of `atexit.register`."""

        @functools.wraps(function)
        def at_exit(*given: Any, **named: Any) -> Any:
            with watched(self._watch):
                return function(*given, **named)

        self._register(at_exit, *args, **kwargs)
        self._expected += 1
        return function

    @property
    def has_others(self) -> bool:
        """Return whether a handler came by another way, as by a function that was imported before."""
        return atexit._ncallbacks() > self._expected

    def watch_all(self) -> None:
        """Watch all that runs when the process ends: the handler that is registered last runs first."""

        def watch_for_good() -> None:
            begin(self._watch)
            no_file_written().__enter__()

        self._register(watch_for_good)


@functools.cache
def _prepare_libraries() -> None:
    """Import libraries before a node can, whose calls would not be judged; tqdm's thread would outlive the node."""
    import_libraries()
    tqdm.monitor_interval = 0


@contextmanager
def replaced(owner: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    """Replace an attribute by a function until the end of the block."""
    own = vars(owner).get(name)
    setattr(owner, name, function)
    try:
        yield
    finally:
        if own is None:
            delattr(owner, name)  # it was inherited
        else:
            setattr(owner, name, own)

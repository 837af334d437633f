"""What a node may not do while it reads private data: write, connect, start programs, track, log, print.

- The audit hook (fedtext.wiring.guard.watch) refuses what Python opens, moves, connects to or starts before it happens.
- The operating system refuses all writes to files, from C++ and Rust too (fedtext.system.file_limit).
- What a node has left behind all the same, names of files, threads and processes, is found when it ends
  (fedtext.wiring.guard.left_behind).
- Standard streams lead nowhere, and messages are counted and dropped.

So this keeps off mistakes, and is no sandbox: docs/leaks.md says what passes.
"""

from __future__ import annotations

import _posixsubprocess
import atexit
import functools
import importlib
import logging
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tqdm import tqdm

from fedtext.system.file_limit import is_write_refused, no_file_written
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.guard.left_behind import Surroundings
from fedtext.wiring.guard.streams import unshown_descriptors, unshown_prints
from fedtext.wiring.guard.watch import Watch, begin, current, end

# What libraries read in their own C++ or Rust: module, function or class, position and name of the path.
NATIVE_READERS = (
    ("pyarrow.csv", "read_csv", 0, "input_file"),
    ("pyarrow.csv", "open_csv", 0, "input_file"),
    ("pyarrow.json", "read_json", 0, "input_file"),
    ("pyarrow.dataset", "dataset", 0, "source"),
    ("pyarrow.feather", "read_feather", 0, "source"),
    ("pyarrow.feather", "read_table", 0, "source"),
    ("pyarrow.parquet", "read_table", 0, "source"),
    ("pyarrow.parquet", "ParquetFile", 0, "source"),
    ("pyarrow.parquet", "ParquetDataset", 0, "path_or_paths"),
    ("safetensors.numpy", "load_file", 0, "filename"),
    ("safetensors.torch", "load_file", 0, "filename"),
    ("torch", "load", 0, "f"),
)
SENDERS = ((socket.socket, ("send", "sendall", "sendfile")), (ssl.SSLSocket, ("send", "sendall", "write")))
LOG = logging.getLogger(__name__)


@contextmanager
def watched(watch: Watch, surroundings: Surroundings | None = None) -> Iterator[None]:
    """Refuses what `watch` is for until the end of the block; without a trace if the node reads private data.

    Args:
        watch: What is watched for.
        surroundings: Where a node that reads private data could leave something; None: nobody looks.

    Raises:
        RunRefusedError: it has written, or left something behind; what it left is removed.
    """
    with ExitStack() as stack:
        if watch.reads_private:
            _prepare_libraries()
            stack.enter_context(_without_a_trace(watch, surroundings))
        for module, name, position, keyword in NATIVE_READERS:
            if (loaded := sys.modules.get(module)) is not None:
                stack.enter_context(_judged(loaded, name, position, keyword))
        begin(watch)
        try:
            yield
        finally:
            end(watch)
    if watch.hidden:
        LOG.info("messages of %s are not shown, because it reads private data: return what should be seen", watch.who)


@contextmanager
def saving(watch: Watch) -> Iterator[None]:
    """Refuses what `watch` is for, and drops what is printed, while a private data set is saved."""
    begin(watch)
    try:
        with unshown_prints(_hiding):
            yield
    finally:
        end(watch)


@contextmanager
def _without_a_trace(watch: Watch, surroundings: Surroundings | None) -> Iterator[None]:
    with ExitStack() as stack:
        if surroundings is not None:
            stack.enter_context(surroundings.nothing_left(watch))
        stack.enter_context(_written_nothing(watch))
        written = stack.enter_context(unshown_descriptors())
        stack.enter_context(unshown_prints(_hiding))
        stack.enter_context(replaced(logging.Logger, "handle", lambda _logger, _record: watch.hide()))
        _refuse_silent_events(watch, stack)
        _refuse_tracking(watch, stack)
        stack.enter_context(replaced(atexit, "register", functools.partial(_registered, atexit.register, watch)))
        stack.enter_context(no_file_written())
        yield
        output, error = written()
        if error:
            watch.hide()
        if output:
            watch.refuse(
                "writes to standard output past Python's own stream while it reads private data, which is not shown: "
                "return what should be seen"
            )


@contextmanager
def _written_nothing(watch: Watch) -> Iterator[None]:
    """Says of a write that the operating system refused what it means here."""
    try:
        yield
    except RunRefusedError:
        raise
    except Exception as error:
        if is_write_refused(error):
            told = RunRefusedError(
                f"{watch.who} writes a file itself while it reads private data ({type(error).__name__}): "
                "return what it makes as a data set"
            )
            raise told from error
        raise


def _hiding() -> Callable[[], None] | None:
    """What notes that something is hidden: that of whoever is watched for at the time."""
    watch = current()
    return watch.hide if watch is not None and watch.reads_private else None


def _refuse_silent_events(watch: Watch, stack: ExitStack) -> None:
    """Refuses what sends through a connection that is open already, and how `multiprocessing` starts a process."""

    def refusing(what: str) -> Callable[..., None]:
        def refuse(*_: Any, **__: Any) -> None:
            watch.refuse(f"{what} while it reads private data: do that in a node that reads none")

        return refuse

    for owner, names in SENDERS:
        for name in names:
            stack.enter_context(replaced(owner, name, refusing("sends through a connection")))
    stack.enter_context(replaced(_posixsubprocess, "fork_exec", refusing("starts a process")))


def _refuse_tracking(watch: Watch, stack: ExitStack) -> None:
    """MLflow writes through connections that are open already, so that no event tells of it."""
    client = getattr(sys.modules.get("mlflow.tracking.client"), "MlflowClient", None)

    def refuse(*_: Any, **__: Any) -> None:
        watch.refuse("logs to MLflow while it reads private data: return what it makes as a released data set")

    for name in [name for name in dir(client) if name.startswith(("log_", "set_tag", "set_experiment_tag"))]:
        stack.enter_context(replaced(client, name, refuse))


def _registered(register: Callable[..., Any], watch: Watch, function: Callable[..., Any], *args: Any, **kw: Any) -> Any:
    """Registers what is to run at the end of the process so that it is watched as its node was."""

    @functools.wraps(function)
    def at_exit(*given: Any, **named: Any) -> Any:
        with watched(watch):
            return function(*given, **named)

    register(at_exit, *args, **kw)
    return function


@functools.cache
def _prepare_libraries() -> None:
    """Before a node can: what it imports first keeps functions that are replaced, and tqdm's thread outlives it."""
    for module in dict.fromkeys(module for module, *_ in NATIVE_READERS):
        importlib.import_module(module)
    tqdm.monitor_interval = 0


@contextmanager
def _judged(module: Any, name: str, position: int, keyword: str) -> Iterator[None]:
    """Asks whoever is watched for, before each call of a function, or each making of an object, that reads a path."""
    found = getattr(module, name)
    if not isinstance(found, type):
        with replaced(module, name, _judging(found, position, keyword)):
            yield
        return
    with replaced(found, "__init__", _judging(vars(found)["__init__"], position + 1, keyword)):  # after `self`
        yield


def _judging(function: Callable[..., Any], position: int, keyword: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def judged(*args: Any, **kwargs: Any) -> Any:
        if (watch := current()) is not None:
            given = args[position] if len(args) > position else kwargs.get(keyword)
            for path in given if isinstance(given, list | tuple) else [given]:
                watch.opens(path, writes=False)
        return function(*args, **kwargs)

    return judged


@contextmanager
def replaced(owner: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    """Puts a function in the place of an attribute until the end of the block."""
    own = vars(owner).get(name)
    setattr(owner, name, function)
    try:
        yield
    finally:
        if own is None:
            delattr(owner, name)  # it was inherited
        else:
            setattr(owner, name, own)

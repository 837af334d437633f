"""What a node may not do while it reads private data: write, connect, start programs, track, log, print.

The audit hook (fedtext.wiring.guard.watch) sees what Python opens; the doors of a few libraries that open files in
their own C++ or Rust are watched by name (NATIVE). So this keeps off mistakes and is no sandbox.
"""

from __future__ import annotations

import functools
import io
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

from fedtext.wiring.guard.watch import Watch, begin, current, end

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


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Refuses what `watch` is for until the end of the block; without a trace if the node reads private data."""
    with ExitStack() as stack:
        if watch.reads_private:
            _silence(watch, stack)
            _untrack(watch, stack)
        _watch_libraries(stack)
        begin(watch)
        try:
            yield
        finally:
            end(watch)
    if watch.hidden:
        LOG.info(
            "%d messages of node %s are not shown, because it reads private data: return what should be seen",
            watch.hidden,
            watch.node,
        )


def _silence(watch: Watch, stack: ExitStack) -> None:
    stack.enter_context(redirect_stdout(_Sink(sys.stdout)))
    stack.enter_context(redirect_stderr(_Sink(sys.stderr)))
    stack.enter_context(_replaced(logging.Logger, "handle", lambda _logger, _record: watch.hide()))


def _untrack(watch: Watch, stack: ExitStack) -> None:
    """MLflow writes through connections that are open already, so that no event tells of it."""
    client = getattr(sys.modules.get("mlflow.tracking.client"), "MlflowClient", None)

    def refuse(*_: Any, **__: Any) -> None:
        watch.refuse("logs to MLflow while it reads private data: return what it makes as a released data set")

    for name in [name for name in dir(client) if name.startswith(("log_", "set_tag", "set_experiment_tag"))]:
        stack.enter_context(_replaced(client, name, refuse))


def _watch_libraries(stack: ExitStack) -> None:
    for module, name, position, keyword, writes in NATIVE:
        if (loaded := sys.modules.get(module)) is not None:
            watching = _watching(getattr(loaded, name), position, keyword, writes=writes)
            stack.enter_context(_replaced(loaded, name, watching))


def _watching(function: Callable[..., Any], position: int, keyword: str, *, writes: bool) -> Callable[..., Any]:
    """`function`, asking whoever is watched for at the time of a call.

    That need not be who was watched for when it was made: a module that a node imports first keeps this function.
    """

    @functools.wraps(function)
    def watched_function(*args: Any, **kwargs: Any) -> Any:
        if (watch := current()) is not None:
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


class _Sink(io.TextIOBase):
    """A stream that counts lines while private data is read, and else is the stream in whose place it stands.

    A handler of messages that is made while a node runs keeps this stream for later.
    """

    def __init__(self, shown: TextIO) -> None:
        self._shown = shown

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if (watch := current()) is None or not watch.reads_private:
            return self._shown.write(text)
        watch.hide(text.count("\n"))
        return len(text)

    def flush(self) -> None:
        self._shown.flush()

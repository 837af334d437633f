"""What a node can leave set in its process, to act or be read later: signals, timers, log records, the environment."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fedtext.wiring.guard.watch import Watch

TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF) if hasattr(signal, "setitimer") else ()


@dataclass(frozen=True)
class ProcessState:
    """What was set before a node."""

    handlers: dict[signal.Signals, Any]
    running: frozenset[int]
    make_record: Callable[..., logging.LogRecord]
    environment: dict[str, str]

    @classmethod
    def now(cls) -> ProcessState:
        """Return what is set."""
        return cls(_handlers(), frozenset(_running()), logging.getLogRecordFactory(), dict(os.environ))

    def undo_handlers(self) -> Iterator[str]:
        """Set back what would run later, and yield what it was; Python sets handlers in the main thread alone."""
        if threading.current_thread() is threading.main_thread():
            for timer in set(_running()) - self.running:
                signal.setitimer(timer, 0)
                yield "leaves a timer running"
            for number, handler in _handlers().items():
                if handler is not (before := self.handlers.get(number)) and before is not None:
                    signal.signal(number, before)
                    yield f"leaves a handler of the signal {number.name}"
        if logging.getLogRecordFactory() is not self.make_record:
            logging.setLogRecordFactory(self.make_record)
            yield "leaves a function that makes log records"

    def undo_private_text(self, watch: Watch) -> Iterator[str]:
        """Set back environment variables that hold private text; libraries set others."""
        for name, value in list(os.environ.items()):
            if self.environment.get(name) != value and any(map(watch.may_be_private, (name, value))):
                del os.environ[name]
                if name in self.environment:
                    os.environ[name] = self.environment[name]
                yield "leaves its private text in an environment variable"


def _handlers() -> dict[signal.Signals, Any]:
    return {one: signal.getsignal(one) for one in signal.Signals}


def _running() -> Iterator[int]:
    return (timer for timer in TIMERS if signal.getitimer(timer) != (0.0, 0.0))

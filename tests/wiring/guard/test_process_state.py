"""What a node leaves set in its process is set back; what was set before stays."""

from __future__ import annotations

import functools
import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from fedtext.wiring.guard.private_words import PrivateTextIndex
from fedtext.wiring.guard.process_state import ProcessState
from fedtext.wiring.guard.watch import Watch

TEXT = "a client wrote these words"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    handler, factory = signal.getsignal(signal.SIGVTALRM), logging.getLogRecordFactory()
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, handler)
    logging.setLogRecordFactory(factory)


def _ignore(*_: object) -> None:
    """Handle a signal."""


def test_handlers_timers_and_makers_of_log_records_are_set_back() -> None:
    handler, factory, state = signal.getsignal(signal.SIGVTALRM), logging.getLogRecordFactory(), ProcessState.now()
    signal.signal(signal.SIGVTALRM, _ignore)
    signal.setitimer(signal.ITIMER_VIRTUAL, 60)
    logging.setLogRecordFactory(functools.partial(factory))
    assert list(state.undo_handlers()) == [
        "leaves a timer running",
        "leaves a handler of the signal SIGVTALRM",
        "leaves a function that makes log records",
    ]
    assert signal.getsignal(signal.SIGVTALRM) is handler
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert logging.getLogRecordFactory() is factory
    assert list(state.undo_handlers()) == []


def test_a_handler_and_a_timer_that_were_set_before_stay() -> None:
    signal.signal(signal.SIGVTALRM, _ignore)
    signal.setitimer(signal.ITIMER_VIRTUAL, 60)
    assert list(ProcessState.now().undo_handlers()) == []
    assert signal.getsignal(signal.SIGVTALRM) is _ignore
    assert signal.getitimer(signal.ITIMER_VIRTUAL) > (0.0, 0.0)


def test_private_text_leaves_the_environment_and_settings_of_libraries_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = PrivateTextIndex([pd.DataFrame({"text": [TEXT]})])
    watch = Watch(who="node 'n'", reads_private=True, may_read=False, data_root=tmp_path, may_be_private=index)
    monkeypatch.setenv("BEFORE", "value")
    for name in ("BEST", "SETTING"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    state = ProcessState.now()
    os.environ.update(BEFORE=TEXT, BEST=f"it is: {TEXT}", SETTING="LAZY")
    assert {*state.undo_private_text(watch)} == {"leaves its private text in an environment variable"}
    assert os.environ["BEFORE"] == "value"
    assert "BEST" not in os.environ
    assert os.environ["SETTING"] == "LAZY"
    assert list(state.undo_private_text(watch)) == []

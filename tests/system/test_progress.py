"""What long work shows: bars on a terminal, a line a minute elsewhere, and nothing where somebody turned both off."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from fedtext.system import progress as module
from fedtext.system.progress import progress


class Stream(io.StringIO):
    """A standard error that is a file, or a terminal."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module.time, "monotonic", clock)
    monkeypatch.delenv("FEDTEXT_PROGRESS", raising=False)
    return clock


def shown(monkeypatch: pytest.MonkeyPatch, *, terminal: bool = False) -> Stream:
    stream = Stream(terminal)
    monkeypatch.setattr(module, "_stream", lambda: stream)
    return stream


def worked(items: object, clock: Clock, seconds: float) -> Iterator[object]:
    for item in items:  # type: ignore[attr-defined]
        clock.now += seconds
        yield item


def test_a_file_gets_a_line_a_minute_with_shares_and_no_counts(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = shown(monkeypatch)
    assert [*worked(progress(range(1234), "final texts", unit="prompt"), clock, 0.5)] == [*range(1234)]
    lines = stream.getvalue().splitlines()
    assert lines[0] == "final texts: 10% done, about 9 min left"
    assert len(lines) == 10
    assert lines[-1] == "final texts: 97% done, about 1 min left"
    assert not any("1234" in line or "120" in line for line in lines)


def test_short_work_says_nothing(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = shown(monkeypatch)
    assert [*worked(progress(range(100), "scores"), clock, 0.59)] == [*range(100)]
    assert stream.getvalue() == ""


def test_work_of_unknown_length_says_how_long_it_has_taken(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = shown(monkeypatch)
    assert len([*worked(progress(iter(range(5)), "rows"), clock, 70)]) == 5
    assert stream.getvalue().splitlines()[0] == "rows: at work for 1 min"


@pytest.mark.parametrize("setting", ["0", "1"])
def test_a_setting_decides_elsewhere(clock: Clock, monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    stream = shown(monkeypatch)
    monkeypatch.setenv("FEDTEXT_PROGRESS", setting)
    assert len([*worked(progress(range(9), "texts"), clock, 100)]) == 9
    assert "min left" not in stream.getvalue()
    assert ("texts" in stream.getvalue()) == (setting == "1")


def test_a_single_step_has_neither(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = shown(monkeypatch)
    assert len([*worked(progress(range(1), "training"), clock, 100)]) == 1
    assert stream.getvalue() == ""

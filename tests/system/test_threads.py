"""Work of arrays on all cores: in order, in the calling thread where one core is enough, and what fails is said."""

from __future__ import annotations

import threading

import pytest

from fedtext.system import threads
from fedtext.system.threads import arrays_over_cores, cores_here, threads_here


@pytest.mark.parametrize(
    ("count", "cores", "alone"), [(0, 4, True), (1, 4, True), (9, 1, True), (2, 2, False), (9, 4, False)]
)
def test_arrays_come_back_in_their_order(count: int, cores: int, alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "threads_here", lambda: cores)
    done = list(arrays_over_cores(lambda piece: (piece, threading.get_ident()), range(count)))
    assert [piece for piece, _ in done] == list(range(count))
    assert all((thread == threading.get_ident()) == alone for _, thread in done)


def test_arrays_are_worked_on_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "threads_here", lambda: 3)
    meeting = threading.Barrier(3, timeout=20)  # passed only when three threads are there together
    assert list(arrays_over_cores(lambda piece: (meeting.wait(), piece)[1], range(6))) == list(range(6))


def test_what_fails_is_said_and_the_rest_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "threads_here", lambda: 2)
    begun = []

    def work(piece: int) -> None:
        begun.append(piece)
        if piece == 3:
            raise ValueError("the fourth")

    with pytest.raises(ValueError, match="the fourth"):
        list(arrays_over_cores(work, range(100)))
    assert len(begun) < 20


def test_there_is_a_core() -> None:
    assert cores_here() >= 1


def test_pieces_are_taken_as_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "threads_here", lambda: 3)
    taken: list[int] = []
    found = arrays_over_cores(abs, (taken.append(piece) or piece for piece in range(50)), ahead=1)
    assert next(iter(found)) == 0
    assert len(taken) == 4  # one that is done, and one for each thread


@pytest.mark.parametrize(
    ("declared", "threads_wanted"), [("1", 1), ("2", 2), ("64", 4), ("", 4), ("0", 4), ("many", 4)]
)
def test_a_worker_computes_with_its_share_of_the_cores(
    declared: str, threads_wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "cores_here", lambda: 4)
    monkeypatch.setenv("OMP_NUM_THREADS", declared)
    assert threads_here() == threads_wanted

"""The history of a data root: every answered query once, kept with the data, shared with the run that started this one.

What a registry finds and refuses is the same for a user's own and for a team's, in a database of a real server.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fedtext.privacy.history import FILE, FOLDER, HISTORY_ROOT, History, release_history
from fedtext.privacy.registry import Registry, ReleaseRegistry
from fedtext.privacy.team_registry import registry_at
from fedtext.system.refusal import RunRefusedError
from tests.postgres_server import postgres, team_database
from tests.privacy.histories import release, spent
from tests.refusals import refuses

__all__ = ["postgres", "team_database"]
ONE, TWO, THREE = (spent(release(round=t), f"receipt {t}") for t in (1, 2, 3))


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HISTORY_ROOT, raising=False)


def test_nothing_was_answered_yet(tmp_path: Path) -> None:
    assert History(tmp_path).entries() == release_history(tmp_path) == ()
    assert not (tmp_path / FOLDER).exists(), "to look leaves nothing behind"


def test_what_was_answered_is_read_back_whole_in_order_and_once(tmp_path: Path) -> None:
    history = History(tmp_path)
    assert [history.add(entry) for entry in (TWO, ONE, TWO, THREE)] == [True, True, False, True]
    assert history.entries() == history.own() == release_history(str(tmp_path)) == (TWO, ONE, THREE)
    assert History(tmp_path).entries() == (TWO, ONE, THREE), "by another run"


@pytest.mark.parametrize(
    "change",
    [
        {"receipt": "other"},
        {"round": 9},
        {"release": release(3.0, round=1)},
        {"delta": 1e-9},
        {"budgets": (("a", 1.0),)},
    ],
)
def test_another_answer_or_promise_is_another_entry_and_the_node_s_name_makes_none(
    tmp_path: Path, change: dict
) -> None:
    history = History(tmp_path)
    history.add(ONE)
    assert not history.add(ONE.model_copy(update={"node": "renamed", "budget": 9.0}))
    assert history.add(ONE.model_copy(update=change))
    assert len(history.own()) == 2


def test_runs_that_write_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    entries = [spent(release(round=t), f"{t}") for t in range(40)]
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda entry: History(tmp_path).add(entry), entries))
    assert {entry.round for entry in release_history(tmp_path)} == set(range(40))


def test_a_copied_data_root_keeps_its_history_and_goes_on_alone(tmp_path: Path) -> None:
    History(tmp_path / "mine").add(ONE)
    shutil.copytree(tmp_path / "mine", tmp_path / "copy")
    copy = History(tmp_path / "copy")
    assert copy.entries() == (ONE,)
    copy.add(TWO)
    assert (release_history(tmp_path / "mine"), copy.own()) == ((ONE,), (ONE, TWO))


def test_a_run_that_a_run_started_writes_into_both_and_sees_its_siblings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HISTORY_ROOT, str(tmp_path / "comparison"))
    first, second = History(tmp_path / "first"), History(tmp_path / "second")
    assert first.add(ONE)
    assert second.add(TWO)
    assert (first.own(), second.own()) == ((ONE,), (TWO,))
    assert set(first.entries()) == set(second.entries()) == {ONE, TWO}
    assert release_history(tmp_path / "comparison") == (ONE, TWO)
    assert second.add(ONE), "what a sibling released too is new in this data root"
    assert len(second.entries()) == 2
    assert release_history(tmp_path / "comparison") == (ONE, TWO), "and counted once all the same"


@pytest.mark.parametrize("damage", ["empty", "half a line", "another version", "no text"])
def test_a_history_that_cannot_be_read_is_refused_and_kept_and_no_way_around_is_advised(
    tmp_path: Path, damage: str
) -> None:
    History(tmp_path).add(ONE)
    file = tmp_path / FOLDER / FILE
    whole = file.read_bytes()
    file.write_bytes(before := {
        "empty": b"", "half a line": whole[:-40],
        "another version": whole + b'{"node": "vote", "identity": "one", "result": null}\n', "no text": b"\xff" + whole,
    }[damage])  # fmt: skip
    for history in (History(tmp_path), History(tmp_path, registry=Registry())):
        with refuses("history-unreadable") as caught:
            history.add(TWO)
        assert "data_root=" not in str(caught.value)
        assert "fresh" not in str(caught.value)
    assert file.read_bytes() == before


TEXTS = [f"what person number {i} wrote to somebody" for i in range(40)]


Private = Callable[..., History]


@pytest.fixture(params=["a user's", "a team's"])
def registry(request: pytest.FixtureRequest) -> Callable[[], ReleaseRegistry]:
    """What finds the registry, as each run does."""
    address = request.getfixturevalue("team_database") if request.param == "a team's" else None
    return lambda: registry_at(address)


@pytest.fixture
def private(registry: Callable[[], ReleaseRegistry]) -> Private:
    """What makes the history of a data root in which private texts were read."""

    def made(root: Path, texts: list[str] | None = TEXTS) -> History:
        history = History(root, registry=registry())
        if texts is not None:
            history.register_units([], texts)
        return history

    return made


def where(history: History) -> dict[int, str]:
    return {entry.round: Path(entry.elsewhere).name for entry in history.entries()}


def test_the_same_people_in_a_second_data_root_have_the_history_of_both(tmp_path: Path, private: Private) -> None:
    private(tmp_path / "first").add(ONE)
    assert private(tmp_path / "unread", None).entries() == (), "whose text it will be is not known yet"
    second = private(tmp_path / "second", TEXTS[::-1])
    assert where(second) == {1: "first"}
    second.add(TWO)
    assert where(second) == {1: "first", 2: ""}
    assert where(private(tmp_path / "first")) == {1: "", 2: "second"}
    assert second.own() == (TWO,)
    others = private(tmp_path / "others", [text.replace("person", "client") for text in TEXTS])
    assert others.entries() == ()
    assert History(tmp_path / "second").entries() == (TWO,), "of a public corpus the data root counts alone"


def test_order_is_that_of_time_over_all_data_roots(tmp_path: Path, private: Private) -> None:
    """The first of them sets the budget, whichever data root asks."""
    private(tmp_path / "b").add(ONE)
    private(tmp_path / "a").add(TWO)
    private(tmp_path / "b").add(THREE)
    for root in ("a", "b", "c"):
        assert [entry.round for entry in private(tmp_path / root).entries()] == [1, 2, 3]


def test_a_data_root_that_is_gone_still_counts(tmp_path: Path, private: Private) -> None:
    private(tmp_path / "first").add(ONE)
    shutil.rmtree(tmp_path / "first")
    assert where(private(tmp_path / "second")) == {1: "first"}
    assert where(private(tmp_path / "first", None)) == {}, "whose text it will be is not known yet"
    assert where(private(tmp_path / "first")) == {1: ""}, "the same people's: its history is written again"
    assert release_history(tmp_path / "first") == (ONE,)
    shutil.rmtree(tmp_path / "first")
    others = private(tmp_path / "first", [text.replace("person", "client") for text in TEXTS])
    assert where(others) == {}, "other people have come to its place"
    assert where(private(tmp_path / "second")) == {1: "first, which was removed"}


def test_a_data_root_that_was_moved_or_copied_counts_once(tmp_path: Path, private: Private) -> None:
    private(tmp_path / "first").add(ONE)
    shutil.copytree(tmp_path / "first", tmp_path / "copy")
    shutil.move(tmp_path / "first", tmp_path / "moved")
    for root in ("copy", "moved"):
        assert where(private(tmp_path / root)) == {1: ""}


@pytest.mark.parametrize("damage", [lambda lines: lines[:1], lambda lines: lines[1:], lambda lines: [
    lines[0], lines[1].replace('"budget":1.0', '"budget":9.0')]])  # fmt: skip
def test_a_history_that_was_shortened_or_changed_is_refused(tmp_path: Path, damage: Any, private: Private) -> None:
    history = private(tmp_path)
    for entry in (ONE, TWO):
        history.add(entry)
    file = tmp_path / FOLDER / FILE
    before = file.read_text().splitlines(keepends=True)
    file.write_text("".join(damage(before)))
    assert file.read_text() != "".join(before)
    for ask in (history.entries, lambda: history.add(THREE), lambda: private(tmp_path)):
        with refuses("history-shortened"):
            ask()
    file.unlink()
    assert [entry.round for entry in history.entries()] == [1, 2]


def test_a_history_that_was_removed_is_written_again(tmp_path: Path, private: Private) -> None:
    private(tmp_path).add(ONE)
    (tmp_path / FOLDER / FILE).unlink()
    History(tmp_path).restore()
    assert release_history(tmp_path) == ()
    private(tmp_path).restore()
    assert release_history(tmp_path) == (ONE,)
    (tmp_path / FOLDER / FILE).unlink()
    assert private(tmp_path).add(TWO)
    assert release_history(tmp_path) == (ONE, TWO)


def test_a_history_of_before_the_registry_is_taken_into_it(tmp_path: Path, private: Private) -> None:
    History(tmp_path / "first").add(ONE)
    private(tmp_path / "first")
    assert where(private(tmp_path / "second")) == {1: "first"}


def test_who_judges_is_alone(tmp_path: Path, private: Private) -> None:
    """Nobody writes of these people between the judgement and the entry."""
    for n in range(3):
        private(tmp_path / f"{n}")

    def add(round: int) -> bool:
        history = private(tmp_path / f"{round % 3}", None)

        def judge() -> None:
            if len(history.entries()) >= 5:
                raise RunRefusedError("no more than five", code="more-than-five")

        try:
            return history.add(spent(release(round=round), f"{round}"), judge)
        except RunRefusedError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(add, range(24))) == 5


def test_a_clock_that_is_put_back_changes_no_order(
    tmp_path: Path, private: Private, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first release promised is the budget, and not what one promised that seems earlier."""
    private(tmp_path / "a").add(ONE)
    monkeypatch.setattr(time, "time_ns", lambda: 1)
    private(tmp_path / "b").add(TWO)
    private(tmp_path / "a").add(THREE)
    for root in ("a", "b"):
        assert [entry.round for entry in private(tmp_path / root).entries()] == [1, 2, 3]


def test_people_are_on_record_under_the_present_name_of_their_data_root(tmp_path: Path, private: Private) -> None:
    """Another data root may have had the name before: what is released here would be charged to its people."""
    private(tmp_path / "mine")
    private(tmp_path / "other", [text.replace("person", "client") for text in TEXTS])
    shutil.rmtree(tmp_path / "mine")
    shutil.move(tmp_path / "other", tmp_path / "mine")
    moved = private(tmp_path / "mine", None)
    assert not moved.is_registered
    with refuses("people-not-known"):
        moved.validate_people_known()
    there = private(tmp_path / "mine", [text.replace("person", "client") for text in TEXTS])
    assert there.is_registered
    there.add(ONE)
    assert where(private(tmp_path / "third", [text.replace("person", "client") for text in TEXTS])) == {1: "mine"}

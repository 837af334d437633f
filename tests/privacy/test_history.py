"""The history of a data root: every answered query once, kept with the data, shared with the run that started this one."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fedtext.privacy.history import FILE, FOLDER, HISTORY_ROOT, History, release_history
from fedtext.system.refusal import RunRefusedError
from tests.privacy.histories import release, spent

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


@pytest.mark.parametrize("change", [{"receipt": "other"}, {"round": 9}, {"release": release(3.0, round=1)}])
def test_another_answer_is_another_entry_and_the_node_s_name_makes_none(tmp_path: Path, change: dict) -> None:
    history = History(tmp_path)
    history.add(ONE)
    assert not history.add(ONE.model_copy(update={"node": "renamed", "delta": 1e-9}))
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


def test_a_history_of_another_version_is_refused_and_kept(tmp_path: Path) -> None:
    History(tmp_path).add(ONE)
    file = tmp_path / FOLDER / FILE
    for line in ('{"node": "vote", "identity": "one", "result": null}\n', "{half a li"):
        file.write_text(before := file.read_text() + line)
        with pytest.raises(RunRefusedError, match=r"releases\.jsonl was written by another version of fedtext"):
            History(tmp_path).add(TWO)
        assert file.read_text() == before

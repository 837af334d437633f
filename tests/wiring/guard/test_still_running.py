"""Threads and processes that are left, real ones: those that end in time are none."""

from __future__ import annotations

import asyncio
import multiprocessing
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import pytest

from fedtext.wiring.guard import still_running
from fedtext.wiring.guard.left_behind import FolderSnapshot
from fedtext.wiring.guard.side_effects import watched
from fedtext.wiring.guard.still_running import new_processes, new_threads, processes, threads, workers
from fedtext.wiring.guard.watch import Watch, suspended
from tests.refusals import refuses


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    return Watch(who="node 'n'", reads_private=True, may_read=False, data_root=tmp_path)


def test_a_thread_that_ends_in_time_is_not_left() -> None:
    before = threads()
    threading.Thread(target=time.sleep, args=[0.2]).start()
    assert new_threads(before) == []


@pytest.mark.filterwarnings("ignore:Exception in thread busy")  # SystemExit, which ends it
def test_a_thread_that_stays_is_left_and_ended(watch: Watch, tmp_path: Path) -> None:
    ended = threading.Event()

    def work() -> None:
        try:
            while True:
                time.sleep(0.01)
        finally:
            ended.set()

    with (
        refuses("left-behind", value="node 'n'") as caught,
        watched(watch, FolderSnapshot(tmp_path, tmp_path)),
    ):
        threading.Thread(target=work, name="busy", daemon=True).start()
    assert "'busy'" in str(caught.value)
    assert ended.wait(5)


def test_what_a_thread_tries_after_its_node_is_refused(watch: Watch, tmp_path: Path) -> None:
    """It is told to end at its next line of Python, which it may catch."""
    go, tried = threading.Event(), list[BaseException]()

    def work() -> None:
        while not go.is_set():
            try:
                time.sleep(0.01)
            except SystemExit:
                continue
        try:
            (tmp_path / "copy.txt").write_text("secret")
        except OSError as error:
            tried.append(error)

    thread = threading.Thread(target=work, name="stubborn", daemon=True)
    with (
        refuses("left-behind") as caught,
        watched(watch, FolderSnapshot(tmp_path, tmp_path)),
    ):
        thread.start()
    assert "'stubborn'" in str(caught.value)
    go.set()
    thread.join(5)
    assert "node 'n' writes" in str(tried[0])
    assert not (tmp_path / "copy.txt").exists()


def test_processes_that_are_left_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    before = processes()
    monkeypatch.setattr(still_running, "PATIENCE", 0.1)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert [one.pid for one in new_processes(before)] == [child.pid]
        assert new_processes(processes()) == []
        child.kill()
    assert new_processes(before) == []


def test_a_pool_that_is_up_is_a_worker_and_another_program_is_told_of(
    watch: Watch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    surroundings = FolderSnapshot(tmp_path, tmp_path)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        for _ in range(2):
            with watched(watch, surroundings):
                pass
        child.kill()
    of_child = f"process {child.pid}, which this one started, runs beside node 'n'"  # other tests' servers run too
    assert [record.getMessage().startswith(of_child) for record in caplog.records].count(True) == 1
    with multiprocessing.get_context("spawn").Pool(1):
        assert workers()
        with refuses("something-runs-beside"), watched(watch, surroundings):
            pass
    assert workers() == []


def test_workers_that_joblib_keeps_are_ended(watch: Watch, tmp_path: Path) -> None:
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(abs)(one) for one in (-1, -2)) == [1, 2]
    assert multiprocessing.active_children()
    with watched(watch, FolderSnapshot(tmp_path, tmp_path)):
        pass
    assert multiprocessing.active_children() == []


def test_work_in_threads_goes_on(watch: Watch, tmp_path: Path) -> None:
    """A lock of `multiprocessing` is a file to the system, an event loop writes to itself."""

    async def sleeps() -> str:
        return await asyncio.wait_for(asyncio.to_thread(lambda: "slept"), timeout=10)

    with watched(watch, FolderSnapshot(tmp_path, tmp_path)):
        assert joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(abs)(one) for one in (-1, -2)) == [1, 2]
        assert asyncio.run(sleeps()) == "slept"


def test_what_people_do_meanwhile_is_left_alone(watch: Watch, tmp_path: Path) -> None:
    """In the working folder: an editor's lock, empty files and folders, a backup of hard links."""
    data, working = tmp_path / "data", tmp_path / "project"
    (data / "private_texts").mkdir(parents=True)
    (data / "private_texts/one").write_text("words")
    working.mkdir()
    made = "ln -s nobody .#notes.txt; touch notes.md; mkdir -p new; : > new/__init__.py; cp -rl ../data backup"
    with watched(watch, FolderSnapshot(data, working)), suspended():
        subprocess.run(["sh", "-c", made], cwd=working, check=True)
    assert {path.name for path in working.iterdir()} == {".#notes.txt", "notes.md", "new", "backup"}
    assert (working / "backup/private_texts/one").read_text() == "words"

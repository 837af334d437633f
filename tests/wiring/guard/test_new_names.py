"""What has come into being below folders, whose it can be, and how it is taken back."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fedtext.wiring.guard.new_names import FolderNames, is_left_behind, new_names, take_back

OLD = time.time() - 100


def aged(folder: Path) -> None:
    """Lets all folders look as if they had been left alone for a while."""
    for one in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        os.utime(one, (OLD, OLD))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("data/03_primary", "data/.fedtext", "src", ".git", "venv/lib"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "venv/pyvenv.cfg").touch()
    (tmp_path / "data/03_primary/private_train.parquet").write_text("texts")
    (tmp_path / "src/nodes.py").write_text("code")
    aged(tmp_path)
    return tmp_path


def found(project: Path, *, left: bool = True, change: list[str], folders: FolderNames | None = None) -> list[str]:
    """New names after empty files `change` were made; those that a node can have left, if `left`."""
    names = folders or FolderNames([project / "data", project])
    before = names.names()
    private = names.private_files()
    for one in change:
        (project / one).parent.mkdir(parents=True, exist_ok=True)
        (project / one).touch()
    new = list(new_names(before, names.names()))
    return [str(path.relative_to(project)) for path in new if not left or is_left_behind(path, private)]


@pytest.mark.parametrize(
    ("made", "seen"),
    [
        ("copy.txt", "copy.txt"),
        ("src/copy.txt", "src/copy.txt"),
        ("data/copy.txt", "data/copy.txt"),
        ("data/03_primary/copy.txt", "data/03_primary/copy.txt"),
        ("new/deep/copy.txt", "new"),
    ],
)
def test_an_empty_file_is_found_wherever_it_is(project: Path, made: str, seen: str) -> None:
    assert found(project, change=[made]) == [seen]


@pytest.mark.parametrize("made", [".git/copy", "venv/copy", "src/__pycache__/copy", "data/.fedtext/copy"])
def test_folders_of_tools_and_the_records_are_left_out(project: Path, made: str) -> None:
    (project / "src/__pycache__").mkdir()
    assert found(project, change=[made]) == []


def test_names_are_found_in_a_data_root_outside_of_the_working_folder(project: Path) -> None:
    folders = FolderNames([project / "data", project / "src"])
    assert found(project, change=["data/copy", "venv/copy", "src/copy"], folders=folders) == ["src/copy", "data/copy"]


def test_what_came_just_before_is_not_new_and_what_comes_within_a_tick_is(project: Path) -> None:
    """A file system may tell two changes of one instant by one time."""
    names = FolderNames([project / "data", project])
    (project / "before").touch()
    now = (project.stat().st_mtime_ns,) * 2
    before = names.names()
    (project / "copy").touch()
    os.utime(project, ns=now)
    assert [path.name for path in new_names(before, names.names())] == ["copy"]


def test_a_new_file_that_holds_something_is_somebody_else_s(project: Path) -> None:
    names = FolderNames([project / "data", project])
    before = names.names()
    (project / "edited.py").write_text("code")
    (project / "other").mkdir()
    (project / "other/table.csv").write_text("rows")
    (project / "other_run/.fedtext").mkdir(parents=True)
    (project / "link").symlink_to("src")
    (project / "empty").mkdir()
    new = list(new_names(before, names.names()))
    assert {path.name for path in new} == {"edited.py", "other", "link", "empty", "other_run"}
    assert {path.name for path in new if is_left_behind(path, {})} == {"link", "empty"}


def test_a_private_file_that_was_moved_goes_back(project: Path) -> None:
    names = FolderNames([project / "data", project])
    before = names.names()
    private = names.private_files()
    secret, copied = project / "data/03_primary/private_train.parquet", project / "shown/table.parquet"
    copied.parent.mkdir()
    secret.rename(copied)
    (new,) = new_names(before, names.names())
    assert is_left_behind(new, private)
    take_back(new, private)
    assert secret.read_text() == "texts"
    assert not copied.parent.exists()
    os.link(secret, project / "linked")
    take_back(project / "linked", private)
    assert secret.read_text() == "texts"
    assert not (project / "linked").exists()


def test_a_folder_that_did_not_change_is_not_listed_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = FolderNames([project / "data", project])
    names.names()
    listed: list[str] = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: listed.append(folder) or scan(folder))
    (project / "src/copy").touch()
    names.names()
    assert listed == [str(project / "src")]

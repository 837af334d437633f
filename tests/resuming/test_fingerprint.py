"""Digests of values, files and code."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from fedtext.params import Parameters
from fedtext.resuming.fingerprint import (
    MISSING,
    FileDigests,
    canonical,
    library_digest,
    local_paths,
    narrowed,
    stat_key,
)


class Point(BaseModel):
    x: int
    tags: frozenset[str] = frozenset()


def test_equal_values_have_equal_texts() -> None:
    assert canonical({"b": 1, "a": (1, 2)}) == canonical({"a": [1, 2], "b": 1})
    assert canonical(Point(x=1)) != canonical(Point(x=2))
    assert canonical(1) != canonical("1")
    with pytest.raises(TypeError, match="has no fingerprint"):
        canonical(object())


class Window(Parameters):
    first: datetime.date = datetime.date(2024, 1, 1)
    place: Path = Path("a/b")
    sources: frozenset[str] = frozenset({"uk", "us", "ca"})
    last: datetime.date | None = None


@pytest.mark.parametrize("read", [{"Window.first", "Window.place", "Window.sources", "Window.last"}, {"Window.*"}])
@pytest.mark.parametrize(
    "changed", [{"first": "2024-01-02"}, {"place": "a/c"}, {"sources": ["uk"]}, {"last": "2024-01-01"}]
)
def test_every_kind_of_value_that_a_field_may_have_has_a_fingerprint(read: set[str], changed: dict[str, Any]) -> None:
    texts = [
        canonical(narrowed(Window.model_validate(given), read)) for given in ({}, {"first": "2024-01-01"}, changed)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_files_count_by_content_and_directories_by_names_too(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for directory in (first, second):
        directory.mkdir()
        (directory / "a").write_text("same")
    digests = FileDigests()
    assert digests.of(first) == digests.of(second)
    assert digests.of(first) != digests.of(first / "a")
    (second / "a").rename(second / "b")
    assert digests.of(first) != digests.of(second)
    assert digests.of(tmp_path / "none") == MISSING


def test_a_file_is_read_again_only_if_it_may_have_changed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one")
    digests = FileDigests({stat_key(path): "remembered"})
    assert digests.of(path) == "remembered"
    path.write_text("two")
    assert digests.of(path) != "remembered"


def test_paths_among_parameters_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text("text")
    value = {"path": "mine.csv", "deep": [{"other": str(tmp_path / "mine.csv")}], "not": ["/", "..", "a/b", "words"]}
    assert local_paths(value) == [Path("mine.csv"), tmp_path / "mine.csv"]


def test_a_plain_word_is_a_path_where_the_parameter_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw").mkdir()
    assert local_paths({"path": "raw", "raw_dir": ["raw"], "source": "raw", "public_path": None}) == [Path("raw")] * 2
    assert local_paths("raw", "params:largefedbench.raw_dir") == [Path("raw")]
    assert local_paths({"path": "", "raw_dir": "gone"}) == []


def install(root: Path, name: str, version: str, *requires: str) -> None:
    """Puts `name` of that version below `root`, in place of any other."""
    for old in root.glob(f"{name}-*.dist-info"):
        shutil.rmtree(old)
    (root / f"{name}-{version}.dist-info").mkdir()
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {r}" for r in requires),
    ]
    (root / f"{name}-{version}.dist-info" / "METADATA").write_text("\n".join(lines) + "\n")


def test_all_libraries_count_but_not_the_tools_for_development(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    needs = (
        "made_up_lib>=1",
        "made-up-l6-v2==0.1.0 ; extra == 'offline'",
        "made_up_tool ; extra == 'dev'",
        "absent-lib",
    )
    install(tmp_path, "made_up_package", "1.0", *needs)

    def digest(**versions: str) -> str:
        for name, version in {
            "made_up_lib": "1.0",
            "made_up_l6_v2": "0.1.0",
            "made_up_tool": "1.0",
            **versions,
        }.items():
            install(tmp_path, name, version)
        return library_digest.__wrapped__("made-up-package")

    before = digest()
    assert digest(made_up_tool="2.0") == before
    assert digest(made_up_lib="2.0") != before
    assert digest(made_up_l6_v2="0.2.0") != before

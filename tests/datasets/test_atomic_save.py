"""Datasets of files: what is saved is what is loaded, and a save that fails leaves what was there."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from kedro.io import AbstractDataset
from kedro.io.core import Version
from pydantic import BaseModel

from fedtext.datasets.files import (
    ArraysDataset,
    JSONDataset,
    ParquetDataset,
    PlotlyDataset,
    PydanticJSONDataset,
    TextDataset,
)
from fedtext.system import atomic
from tests.refusals import refuses


class Budget(BaseModel):
    epsilon: float
    spent: tuple[float, ...] = ()


BUDGET = f"{__name__}.Budget"


CASES: dict[str, tuple[Callable[[str], AbstractDataset[Any, Any]], Any, Any]] = {
    "table.parquet": (lambda path: ParquetDataset(filepath=path), pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2]})),
    "document.json": (lambda path: JSONDataset(filepath=path), {"a": "ä 漢"}, {"a": 2}),
    "text.md": (lambda path: TextDataset(filepath=path), "ä 漢\n", "other\n"),
    "figure.json": (lambda path: PlotlyDataset(filepath=path), go.Figure(), go.Figure(go.Scatter(x=[1], y=[2]))),
    "arrays.safetensors": (lambda path: ArraysDataset(filepath=path), np.arange(3), np.ones(4)),
    "model.json": (lambda path: PydanticJSONDataset(filepath=path, model=BUDGET), Budget(epsilon=1), Budget(epsilon=2)),
}


def same(left: Any, right: Any) -> bool:
    if isinstance(left, pd.DataFrame):
        return left.equals(right)
    return bool(np.array_equal(left, right)) if isinstance(left, np.ndarray) else left == right


def listing(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("name", CASES)
def test_what_is_saved_is_loaded_and_nothing_else_is_left(tmp_path: Path, name: str) -> None:
    make, first, second = CASES[name]
    dataset = make(str(tmp_path / "deep" / name))
    assert not dataset.exists()
    for data in (first, second):
        dataset.save(data)
        assert dataset.exists()
        assert same(dataset.load(), data)
    assert listing(tmp_path / "deep") == [name]


@pytest.mark.parametrize("name", CASES)
def test_a_full_disk_leaves_the_old_file_and_is_named(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, first, second = CASES[name]
    dataset = make(str(tmp_path / name))
    dataset.save(first)
    before = (tmp_path / name).read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with refuses("disk-full"):
        dataset.save(second)
    assert (tmp_path / name).read_bytes() == before
    assert listing(tmp_path) == [name]


LIMITED = """
import resource, signal, sys
import pandas as pd
from fedtext.datasets.files import ParquetDataset
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
ParquetDataset(filepath=sys.argv[1]).save(pd.DataFrame({"a": range(100_000)}))
"""


def test_a_write_that_the_system_cuts_short_leaves_the_old_file(tmp_path: Path) -> None:
    dataset = ParquetDataset(filepath=str(tmp_path / "table.parquet"))
    dataset.save(pd.DataFrame({"a": [1]}))
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "table.parquet")], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "no space left to write" in done.stderr
    assert dataset.load().equals(pd.DataFrame({"a": [1]}))
    assert listing(tmp_path) == ["table.parquet"]


@pytest.mark.parametrize("name", CASES)
def test_a_kill_before_the_rename_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    make, first, second = CASES[name]
    dataset = make(str(tmp_path / name))
    dataset.save(first)
    if (child := os.fork()) == 0:
        os.replace = lambda *_: os.kill(os.getpid(), 9)  # type: ignore[assignment]
        dataset.save(second)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == 9
    assert same(dataset.load(), first)
    dataset.save(second)
    assert same(dataset.load(), second)
    assert listing(tmp_path) == [name], "the next save clears what the killed one left"


def test_a_write_never_reaches_a_file_through_what_a_killed_write_left(tmp_path: Path) -> None:
    """Hard links, as a comparison's data roots are: the leftover is one file under two names."""
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    atomic.partial_path(first).write_text("half")
    os.link(atomic.partial_path(first), atomic.partial_path(second))
    atomic.write_text(second, "whole")
    atomic.write_text(first, "another")
    assert second.read_text() == "whole"


def test_versions_are_saved_beside_each_other(tmp_path: Path) -> None:
    for save, value in (("one", 1), ("two", 2)):
        JSONDataset(filepath=str(tmp_path / "d.json"), version=Version(None, save)).save({"a": value})
    assert JSONDataset(filepath=str(tmp_path / "d.json"), version=Version(None, None)).load() == {"a": 2}
    assert JSONDataset(filepath=str(tmp_path / "d.json"), version=Version("one", None)).load() == {"a": 1}


def test_remote_storage_is_refused() -> None:
    with refuses("not-a-local-file"):
        JSONDataset(filepath="memory://bucket/a.json").save({"a": 1})


@pytest.mark.parametrize("name", ["table.parquet", "document.json", "figure.json", "model.json"])
def test_previews_work_as_kedro_viz_asks_for_them(tmp_path: Path, name: str) -> None:
    import inspect

    make, first, _ = CASES[name]
    dataset: Any = make(str(tmp_path / name))
    dataset.save(first)
    assert dataset.preview()
    annotation = inspect.signature(dataset.preview).return_annotation
    assert "Preview" in getattr(annotation, "__name__", str(annotation))


def test_a_directory_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "model"
    with atomic.replacing_directory(target) as directory:
        (directory / "old").write_text("old")

    def fail_halfway() -> None:
        with atomic.replacing_directory(target) as directory:
            (directory / "new").write_text("new")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert listing(target) == ["old"]
    with atomic.replacing_directory(target) as directory:
        (directory / "new").write_text("new")
    assert listing(target) == ["new"]
    assert listing(tmp_path) == ["model"]


@pytest.mark.parametrize(
    "arrays",
    [
        np.float32(3.5) * np.ones(()),
        np.arange(12).reshape(3, 4).T,
        np.arange(12, dtype=np.int8)[::2],
        np.zeros((0, 5), dtype=bool),
        {"features": np.eye(3, dtype=np.float32)[:, ::-1], "client": np.array([1, 2], dtype=np.int64)},
        {},
    ],
)
def test_arrays_keep_values_shapes_and_types(tmp_path: Path, arrays: Any) -> None:
    dataset = ArraysDataset(filepath=str(tmp_path / "a.safetensors"))
    dataset.save(arrays)
    loaded = dataset.load()
    pairs = [(loaded[k], v) for k, v in arrays.items()] if isinstance(arrays, dict) else [(loaded, arrays)]
    assert isinstance(loaded, dict) == isinstance(arrays, dict)
    for found, saved in pairs:
        assert found.dtype == saved.dtype
        assert found.shape == saved.shape
        assert np.array_equal(found, saved)


def test_equal_arrays_are_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        ArraysDataset(filepath=str(tmp_path / name)).save({"x": np.arange(3), "y": np.ones(2)})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("bad", [np.array(["text"]), np.array([object()]), {"a": [1, 2]}])
def test_arrays_of_text_and_objects_are_refused(tmp_path: Path, bad: Any) -> None:
    with refuses("array-of-other-kind"):
        ArraysDataset(filepath=str(tmp_path / "a.safetensors")).save(bad)
    assert listing(tmp_path) == []


def test_a_model_of_another_class_or_a_spoilt_file_is_refused_without_its_content(tmp_path: Path) -> None:
    dataset = PydanticJSONDataset(filepath=str(tmp_path / "m.json"), model=BUDGET)

    class Other(BaseModel):
        pass

    with refuses("data-of-another-model"):
        dataset.save(Other())
    (tmp_path / "m.json").write_text(json.dumps({"epsilon": "secret words"}))
    with refuses("file-of-another-model") as caught:
        dataset.load()
    assert "secret words" not in str(caught.value)
    with refuses("not-a-model-class"):
        PydanticJSONDataset(filepath=str(tmp_path / "m.json"), model="json.JSONDecoder").load()

"""Whoever may read a folder may read what is saved there, also by libraries that write for their owner alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from fedtext.datasets.files import ArraysDataset
from fedtext.system.atomic import replacing_directory


@pytest.fixture(params=[0o022, 0o077, 0o027])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_arrays_follow_the_umask(tmp_path: Path, umask: int) -> None:
    ArraysDataset(filepath=str(tmp_path / "mean.safetensors")).save(np.ones(3))
    assert mode(tmp_path / "mean.safetensors") == 0o666 & ~umask


def test_a_model_s_files_follow_the_umask(tmp_path: Path, umask: int) -> None:
    with replacing_directory(tmp_path / "model") as folder:
        (folder / "inner").mkdir()
        save_file({"weight": np.ones(3)}, folder / "inner" / "model.safetensors")
        (folder / "config.json").write_text("{}")
    files = [path for path in (tmp_path / "model").rglob("*") if path.is_file()]
    assert {mode(path) for path in files} == {0o666 & ~umask}
    assert mode(tmp_path / "model" / "inner") == 0o777 & ~umask

"""No library writes to a file while the operating system refuses it; the files are there to prove it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import safetensors.numpy
import torch

from fedtext.system.file_limit import ENFORCED, files_written, is_write_refused, no_file_written

TABLE = pa.table({"text": ["words"]})
WRITERS: dict[str, Callable[[Path], object]] = {
    "Python": lambda path: path.write_text("words"),
    "Arrow, in C++": lambda path: pq.write_table(TABLE, path),
    "torch, in C++": lambda path: torch.save({"x": 1}, path),
    "safetensors, in Rust": lambda path: safetensors.numpy.save_file({"x": np.zeros(2)}, path),
}


@pytest.mark.skipif(not ENFORCED, reason="this system has no such limit")
@pytest.mark.parametrize("writer", WRITERS)
def test_nothing_is_written_by_anybody(writer: str, tmp_path: Path) -> None:
    path, there = tmp_path / "file", tmp_path / "there"
    WRITERS[writer](there)
    before = there.read_bytes()
    with no_file_written():
        for one in (path, there):
            with pytest.raises(Exception) as refused:  # noqa: PT011 - each library has a kind of its own
                WRITERS[writer](one)
            # Arrow tidies up by itself, torch's writer says less: what is left is found by its name
            assert is_write_refused(refused.value) or writer == "torch, in C++"
    assert not path.exists() or path.stat().st_size == 0
    assert not there.exists() or there.read_bytes() in (b"", before)
    WRITERS[writer](path)
    assert path.stat().st_size > 0


def test_the_bytes_of_a_file_that_is_open_already_cannot_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with path.open("r+b", buffering=0) as file, no_file_written():
        with pytest.raises(OSError, match="too large") as refused:
            file.write(b"x")
        assert is_write_refused(refused.value)
    assert path.read_bytes() == b"before"


def test_pipes_and_the_null_device_are_no_files(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with no_file_written():
        assert os.write(writer, b"words") == 5
        Path(os.devnull).write_text("words")
    assert os.read(reader, 5) == b"words"


def test_what_has_to_be_written_meanwhile_is(tmp_path: Path) -> None:
    with no_file_written():
        with files_written():
            (tmp_path / "a").write_text("words")
        with pytest.raises(OSError, match="too large"):
            (tmp_path / "b").write_text("words")
        with no_file_written(), files_written():
            (tmp_path / "c").write_text("words")
    with files_written():
        (tmp_path / "d").write_text("words")
    assert {one.name for one in tmp_path.iterdir() if one.stat().st_size} == {"a", "c", "d"}


def test_an_error_of_another_kind_is_no_refused_write() -> None:
    assert not is_write_refused(ValueError("the file is too long"))
    assert not is_write_refused(FileNotFoundError(2, "no such file"))
    wrapped = RuntimeError("cannot save")
    wrapped.__cause__ = OSError(27, "File too large")
    assert is_write_refused(wrapped)

"""One clear error that names the thing and the remedy, before any long work, and nothing half-written.

A case for each place that refuses; tests/wiring/test_mistakes.py has the others of its kind, as their functions say it.
The commands run through Kedro's own command line in this process, which saves the imports; one runs in a process of
its own. A traceback is an error here: the command line would have raised instead of exiting.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.end_to_end.conftest import Said, kedro, params

Run = Callable[..., Said]
STAGE = re.compile(r"\d\d:\d\d:\d\d \[")
LONG = "some words that are long enough to be a text of their own, number"


@pytest.fixture
def run(cli: Callable[..., Said], tmp_path: Path) -> Run:
    """`kedro run --env tiny` with more parameters, into `tmp_path/data`."""
    return lambda **values: cli("run", "--env", "tiny", "--params", params(data_root=tmp_path / "data", **values))


def table(folder: Path, **columns: list[Any]) -> Path:
    path = folder / "mine.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def texts(count: int) -> list[str]:
    return [f"{LONG} {i}" for i in range(count)]


def refused(said: Said, *words: str) -> None:
    assert said.code == 1
    assert said.text.startswith("Error: "), said.text
    assert len(said.text.splitlines()) <= 3, said.text
    for word in words:
        assert word in said.text, f"{word!r} not in:\n{said.text}"


OWN = {"corpus__source": "table", "privacy__population": 100}


DECLARED = {"population.json", "ledger_open.json"}  # what no data were read for


def nothing_left(root: Path) -> bool:
    found = [path for path in root.rglob("*") if path.is_file() and ".fedtext" not in path.parts]
    return not {path.name for path in found} - DECLARED


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"popri__responses": 3, "popri__rejected_rank": 4}, ["rejected_rank is 4", "responses is 3"]),
        ({"poppri__rounds": 3}, ["poppri is no parameter"]),
        (
            {"corpus__source": "snapshot", "corpus__snapshot": "/nowhere/2025.1", "corpus__config": "congress"},
            ["/nowhere/2025.1", "finished snapshot"],
        ),
        ({"models__generator": "/nowhere/model"}, ["generator", "'/nowhere/model' is not a directory"]),
        ({"models__encoder": "/nowhere/encoder"}, ["encoder", "'/nowhere/encoder' is not a directory"]),
    ],
)
def test_impossible_parameters_are_refused_before_anything_is_written(
    run: Run, tmp_path: Path, values: dict[str, object], words: list[str]
) -> None:
    refused(run(**values), *words)
    assert nothing_left(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("text\nfür alle\n".encode("latin-1"), ["mine.csv, line 2, byte 2: not UTF-8"]),
        (
            b"text,label\nsome words,a\n ,b\n,c\n",
            ["column 'text': empty text (rows 3, 4 of the sheet, whose row 1 is the header)"],
        ),
    ],
)
def test_a_bad_table_is_refused_before_anything_is_written(
    run: Run, tmp_path: Path, content: bytes, words: list[str]
) -> None:
    (tmp_path / "mine.csv").write_bytes(content)
    refused(run(**OWN, corpus__path=tmp_path / "mine.csv"), *words)
    assert nothing_left(tmp_path / "data")


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"privacy__delta": 0.02}, ["delta is 0.02", "below 1 / "]),
        ({"partition__method": "iid", "partition__clients": 50}, ["deals all records out among made-up clients"]),
        ({"popri__variant": "central"}, ["popri.variant is central", "declare unit record"]),
    ],
)
def test_what_the_number_of_clients_forbids_is_refused_before_long_work(
    run: Run, tmp_path: Path, values: dict[str, object], words: list[str]
) -> None:
    path = table(tmp_path, text=texts(100))
    refused(run(**OWN, corpus__path=path, **values), *words)
    assert not list((tmp_path / "data").rglob("*.safetensors")), "nothing was embedded or generated"


def test_a_missing_table_is_one_line_in_a_process_of_its_own(tmp_path: Path) -> None:
    wrong = params(data_root=tmp_path / "data", **OWN, corpus__path="/nowhere/mine.csv")
    done = kedro("run", "--env", "tiny", "--params", wrong)
    assert done.returncode == 1
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not STAGE.match(line)]
    assert lines[-1].startswith("Error: corpus.path /nowhere/mine.csv is not a file")
    assert len(lines) <= 2, done.stderr  # the error and, above it, what is kept


def test_an_offline_encoder_of_another_sha256_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from fedtext.models import offline_encoder

    monkeypatch.setattr(offline_encoder, "SHA256", "0" * 64)
    refused(run(), "encoder", f"expected {'0' * 64}", "pip install")


@pytest.mark.slow
def test_embeddings_that_are_not_numbers_are_refused(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fedtext.models.encoder import Encoder

    def nothing(self: Encoder, features: dict[str, Any]) -> np.ndarray:
        return np.full((len(features["input_ids"]), self.dim), np.nan, np.float32)

    monkeypatch.setattr(Encoder, "_forward", nothing)
    path = table(tmp_path, text=texts(100))
    (tmp_path / "public").mkdir()
    public = table(tmp_path / "public", text=[f"public {text}" for text in texts(100)])
    said = run(**OWN, corpus__path=path, corpus__public_path=public)
    refused(said, "encoder 'offline' gives", "NaN")
    assert LONG not in said.text
    assert not list((tmp_path / "data").rglob("public_embeddings*"))


def test_a_disk_that_fills_up_is_named_and_leaves_nothing_half_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fedtext.datasets import atomic

    whole = atomic.replacing_file

    @contextmanager
    def full(path: Path) -> Iterator[Path]:
        with whole(path) as temporary:
            yield temporary
            if path.name == "private_samples.parquet":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic, "replacing_file", full)
    path = table(tmp_path, text=texts(100))
    refused(run(**OWN, corpus__path=path), f"{tmp_path / 'data'} is full", "Free some space")
    left = {found.name for found in (tmp_path / "data").rglob("private_*") if found.is_file()}
    assert left - {"private_noise_key.json"} == {"private_records.parquet", "private_clients.parquet"}
    assert not [found for found in (tmp_path / "data").rglob("*") if "partial" in found.name]


def test_a_disk_without_room_is_refused_before_anything_is_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fedtext.wiring.hooks import preflight

    monkeypatch.setattr(preflight, "SMALLEST_FREE", 2**60)
    refused(run(), str(tmp_path / "data"), "free some space or choose --params data_root=DIR")
    assert nothing_left(tmp_path)

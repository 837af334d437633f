"""One clear error that names the thing and the remedy, before any long work, and nothing half-written."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

Run = Callable[..., tuple[subprocess.CompletedProcess[str], Path]]


def table(folder: Path, **columns: list[object]) -> Path:
    path = folder / "mine.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    said = done.stdout + done.stderr
    assert done.returncode != 0
    for word in words:
        assert word in said, f"{word!r} not in:\n{said[-3000:]}"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"privacy__epsilon": 0}, ["epsilon", "greater than 0"]),
        ({"popri__responses": 3, "popri__rejected_rank": 4}, ["rejected_rank", "responses"]),
        ({"popri__scoring": "mean_cosine"}, ["prompt_pool", "oversample"]),
        ({"popri__round": 3}, ["round"]),
        ({"corpus__source": "web"}, ["corpus.source", "docstrings"]),
        ({"corpus__source": "table", "corpus__path": "/nowhere/mine.csv"}, ["/nowhere/mine.csv"]),
        ({"corpus__source": "snapshot"}, ["corpus.snapshot=2025.1,corpus.config=congress"]),
        (
            {"corpus__source": "snapshot", "corpus__snapshot": "/nowhere/2025.1", "corpus__config": "congress"},
            ["/nowhere/2025.1", "not a finished snapshot"],
        ),
        ({"privacy__delta": 0.5}, ["delta"]),
    ],
)
def test_impossible_parameters_are_refused(run_tiny: Run, values: dict[str, object], words: list[str]) -> None:
    done, root = run_tiny(**values)
    refused(done, *words)
    assert not list(root.rglob("*.safetensors"))


def test_a_table_without_text_is_refused(run_tiny: Run, tmp_path: Path) -> None:
    path = table(tmp_path, body=["a", "b"])
    done, _ = run_tiny(corpus__source="table", corpus__path=path)
    refused(done, "mine.csv", "text")


def test_one_client_is_refused(run_tiny: Run, tmp_path: Path) -> None:
    path = table(tmp_path, text=["some words that are long enough to be a text of their own"] * 3, client_id=["a"] * 3)
    done, _ = run_tiny(corpus__source="table", corpus__path=path)
    refused(done, "client")


def test_an_unknown_model_is_refused(run_tiny: Run) -> None:
    done, root = run_tiny(models__generator="/nowhere/model")
    refused(done, "/nowhere/model")
    assert not list(root.rglob("*.safetensors"))

"""The notebook reads a real run from top to bottom."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.end_to_end.conftest import ROOT


def shown(root: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """All that the notebook puts out for a data root; an error in it is one here."""
    monkeypatch.setenv("FEDTEXT_DATA_ROOT", str(root))
    notebook = nbformat.read(ROOT / "notebooks" / "read_a_run.ipynb", as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(ROOT / "notebooks")}}).execute()
    return str([output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs])


def test_it_reads_a_run(tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = shown(tiny_run, monkeypatch)
    assert all(part in said for part in ("**popri**", "ε", "application/vnd.plotly"))


def test_it_reads_a_run_that_makes_a_model(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same files without texts and rounds, under another name."""
    made, told = tmp_path / "07_model_output" / "dp_fedavg", tmp_path / "08_reporting" / "dp_fedavg"
    (made / "model").mkdir(parents=True)
    shutil.copytree(tiny_run / "08_reporting" / "popri", told)
    card = json.loads((told / "scorecard.json").read_text())
    del card["distribution"]
    (told / "scorecard.json").write_text(json.dumps(card))
    said = shown(tmp_path, monkeypatch)
    assert all(part in said for part in ("**dp_fedavg**", "['model']"))


def test_it_shows_wasp_s_weights_and_examples(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = tmp_path / "05_model_input" / "wasp" / "round_01"
    rounds.mkdir(parents=True)
    (rounds / "state.json").write_text(json.dumps({"round": 1, "weights": {"calm": 0.75, "lively": 0.25}}))
    rows = [("good", "json", "calm", "a good one"), ("bad", "json", "lively", "a bad one")]
    pd.DataFrame(rows, columns=["kind", "label", "model", "text"]).to_parquet(rounds / "examples.parquet")
    shutil.copytree(tiny_run / "08_reporting" / "popri", tmp_path / "08_reporting" / "wasp")
    (tmp_path / "07_model_output" / "wasp").mkdir(parents=True)
    said = shown(tmp_path, monkeypatch)
    assert all(part in said for part in ("**wasp**", "calm", "0.75", "a good one", "a bad one"))


def test_without_a_run_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CellExecutionError, match="has no report: run `kedro run`"):
        shown(tmp_path, monkeypatch)


def test_it_is_stored_without_outputs() -> None:
    notebook = nbformat.read(ROOT / "notebooks" / "read_a_run.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)

"""The notebook reads a real run from top to bottom."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.end_to_end.conftest import ROOT


def test_it_reads_a_run(tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDTEXT_DATA_ROOT", str(tiny_run))
    notebook = nbformat.read(ROOT / "notebooks" / "read_a_run.ipynb", as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(ROOT / "notebooks")}}).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("epsilon" in str(output) or "ε" in str(output) for output in shown)
    assert not [output for output in shown if output.output_type == "error"]


def test_it_is_stored_without_outputs() -> None:
    notebook = nbformat.read(ROOT / "notebooks" / "read_a_run.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)

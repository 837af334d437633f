"""The notebooks that compare algorithms and that load LargeFedBench run on what jobs leave."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.end_to_end.conftest import ROOT, kedro, params
from tests.largefedbench.pages import write_raw

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def shown(name: str, monkeypatch: pytest.MonkeyPatch, **environment: object) -> str:
    """All that a notebook puts out; an error in it is one here."""
    for variable, value in environment.items():
        monkeypatch.setenv(variable, str(value))
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(ROOT / "notebooks")}}).execute()
    return str([output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs])


@pytest.mark.slow
def test_algorithms_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = params(data_root=tmp_path, compare__algorithms="popri pe", compare__seeds="1 2")
    done = kedro("run", "--env", "tiny", "--pipelines", "compare", "--params", told)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    said = shown("compare_algorithms", monkeypatch, FEDTEXT_DATA_ROOT=tmp_path)
    assert all(part in said for part in ("popri (popri)", "pe (pe)", "gap_closed", "application/vnd.plotly"))


@pytest.mark.slow
def test_a_snapshot_is_loaded_with_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, cache = write_raw(tmp_path / "raw"), tmp_path / "cache"
    told = {"data_root": tmp_path, "largefedbench.snapshot": "2025.1", "largefedbench.raw_dir": raw}
    words = ("--pipelines", "largefedbench", "--to-nodes", "describe_largefedbench")  # the figures have their own test
    done = kedro("run", *words, "--params", params(**told))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    snapshot = tmp_path / "03_primary" / "largefedbench" / "2025.1"
    said = shown(
        "load_largefedbench", monkeypatch, FEDTEXT_SNAPSHOT=snapshot, HF_DATASETS_CACHE=cache, HF_HUB_OFFLINE="1"
    )
    assert all(part in said for part in ("congress", "train", "n_tokens"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "variable", "remedy"),
    [
        ("compare_algorithms", "FEDTEXT_DATA_ROOT", "has no comparison: run `kedro run --pipelines compare`"),
        ("load_largefedbench", "FEDTEXT_SNAPSHOT", "is no snapshot: run `kedro run --pipelines largefedbench`"),
    ],
)
def test_without_a_result_they_say_what_to_do(
    name: str, variable: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CellExecutionError, match=remedy):
        shown(name, monkeypatch, **{variable: tmp_path})


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_are_stored_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)

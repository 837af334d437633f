"""Results leave a data root for a folder or an address; what is private or unprotected stays."""

from __future__ import annotations

import shutil
from pathlib import Path

import fsspec
import pytest
from click.testing import CliRunner

from fedtext.cli import cli
from fedtext.resuming.records import Store
from fedtext.wiring.exporting import export_results
from tests.refusals import refuses
from tests.wiring.conftest import ToyProject

RESULTS = {"07_model_output/popri/synthetic.parquet", "08_reporting/popri/report.html"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    kept = {
        "02_intermediate/public_records.parquet",
        "07_model_output/popri/private_answers.parquet",
        "07_model_output/private_model/weights",
        "07_model_output/popri/.partial-synthetic.parquet",
        "08_reporting/unprotected/terms.json",
        ".fedtext/noise.key",
    }
    for name in RESULTS | kept:
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).write_text(name)
    return tmp_path / "data"


def test_results_and_nothing_else_arrive(root: Path, tmp_path: Path) -> None:
    assert export_results(root, "memory://bucket/run") == len(RESULTS)
    files = fsspec.filesystem("memory")
    found = {name.removeprefix("/bucket/run/"): files.cat_file(name).decode() for name in files.find("/bucket/run")}
    assert found == {name: name for name in RESULTS}
    assert export_results(root, str(tmp_path / "out")) == len(RESULTS)
    there = tmp_path / "out"
    assert {path.relative_to(there).as_posix() for path in there.rglob("*") if path.is_file()} == RESULTS


def test_what_cannot_be_exported_is_one_sentence(root: Path, tmp_path: Path) -> None:
    with refuses("nothing-to-export", parameter="data_root"):
        export_results(tmp_path / "empty", "memory://bucket")
    with refuses("unknown-file-system", parameter="--to"):
        export_results(root, "nosuch://bucket")
    (tmp_path / "file").touch()
    with refuses("address-unusable"):
        export_results(root, str(tmp_path / "file"))


def test_the_command_exports_the_data_root_that_it_is_told(root: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["export", "--to", str(tmp_path / "out"), "--params", f"data_root={root}"])
    assert done.exit_code == 0, done.output
    assert done.output == f"{len(RESULTS)} files exported\n"


def test_a_data_root_at_an_address_is_refused_in_one_sentence(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["export", "--to", str(tmp_path), "--params", "data_root=s3://me:secret@bucket/x"])
    assert done.exit_code == 1
    assert "data_root is s3://..., and a run locks, syncs and renames its files" in str(done.output)
    assert "secret" not in done.output
    assert not Path("s3:").exists()


def test_results_of_two_runs_side_by_side_are_refused(toy: ToyProject, tmp_path: Path) -> None:
    """A part of a pipeline, or a run that was stopped, has replaced what an earlier report tells of."""
    place, out = toy.data / "08_reporting", tmp_path / "out"
    for pipeline in (None, "told"):
        toy.run(pipeline, toy={"draws": 3})
    assert export_results(toy.data, str(out)) == 2
    toy.run(toy={"draws": 4})
    shutil.copytree(toy.data, tmp_path / "copy")
    for root in (toy.data, tmp_path / "copy"):
        with refuses("results-of-two-runs", parameter="data_root", value=[str(root / "08_reporting/facts.json")]):
            export_results(root, str(out))
    toy.run("told", toy={"draws": 4})
    assert export_results(toy.data, str(out)) == 2
    assert (out / "08_reporting/facts.json").read_bytes() == (place / "facts.json").read_bytes()


def test_nothing_is_exported_while_a_run_is_writing(root: Path, tmp_path: Path) -> None:
    with Store.locked(root), refuses("data-root-busy"):
        export_results(root, str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()

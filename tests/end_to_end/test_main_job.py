"""The main job, run as a user runs it: what it leaves behind, and what it never lets out."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.end_to_end.conftest import TINY, digests, kedro, params

SMALL = {  # of a job whose sizes do not matter
    "popri__rounds": 1,
    "popri__synthetic_texts": 30,
    "popri__pool_minimum": 30,
    "corpus__public_texts": 60,
    "corpus__public_samples": 60,
    "evaluation__texts": 20,
    "evaluation__max_eval_samples": 20,
}


def reporting(root: Path) -> Path:
    return root / "08_reporting" / "popri"


def test_it_leaves_a_data_set_a_privacy_report_and_a_scorecard(tiny_run: Path) -> None:
    synthetic = pd.read_parquet(tiny_run / "07_model_output" / "popri" / "synthetic.parquet")
    assert {"text", "prompt_id", "round"} <= set(synthetic.columns)
    assert 20 <= len(synthetic) <= 30
    assert synthetic["text"].str.len().gt(0).all()
    for name in ("privacy_report.json", "privacy_report.md", "scorecard.json", "report.html"):
        assert (reporting(tiny_run) / name).stat().st_size > 200, name


def test_the_privacy_report_prices_one_release_below_the_budget(tiny_run: Path) -> None:
    report = json.loads((reporting(tiny_run) / "privacy_report.json").read_text())
    assert len(report["releases"]) == 1
    assert 0 < report["epsilon"] <= 8.0 * (1 + 1e-9)
    assert "simulation: seeded noise" in (reporting(tiny_run) / "privacy_report.md").read_text()


def test_no_synthetic_text_is_private_text(tiny_run: Path) -> None:
    synthetic = set(pd.read_parquet(tiny_run / "07_model_output" / "popri" / "synthetic.parquet")["text"])
    private = set(pd.read_parquet(tiny_run / "03_primary" / "private_samples.parquet")["text"])
    assert private
    assert not synthetic & private


def test_running_again_does_nothing(tiny_run: Path) -> None:
    report = (reporting(tiny_run) / "report.html").read_bytes()
    assert b"kedro run --env tiny --params" in report
    assert b"bundled:generator" in report
    before = {path: path.stat().st_mtime_ns for path in tiny_run.rglob("*.parquet")}
    again = kedro("run", "--env", "tiny", "--params", params(data_root=tiny_run, **TINY))
    assert again.returncode == 0, again.stderr[-2000:]
    assert {path: path.stat().st_mtime_ns for path in tiny_run.rglob("*.parquet")} == before
    assert (reporting(tiny_run) / "report.html").read_bytes() == report
    (line,) = again.stderr.splitlines()  # neither stages nor anybody's noise
    assert "this run is a simulation" in line
    said = " ".join(again.stdout.split())
    headline = json.loads((reporting(tiny_run) / "scorecard.json").read_text())["headline"]
    assert said.startswith(" ".join(headline))
    assert "epsilon so far 8.00, 1 release" in said
    assert f"report {reporting(tiny_run) / 'report.html'}" in said
    assert f"texts {tiny_run / '07_model_output' / 'popri' / 'synthetic.parquet'}" in said


def test_private_text_stays_out_of_logs_tracking_and_reports(tmp_path: Path) -> None:
    """Canaries in the private table and in the list of the enrolled are found in private data sets only."""
    canaries = [
        f"zyxwquokka{i:03d} the parser returns the canary value of item number {i} in the list" for i in range(60)
    ]
    people = [f"zyxwquokka-{i}" for i in range(70)]
    table = tmp_path / "mine.csv"
    pd.DataFrame({"text": canaries, "client_id": people[:60]}).to_csv(table, index=False)
    enrolled = tmp_path / "ids.txt"
    enrolled.write_text("\n".join(people))
    root = tmp_path / "data"
    done = kedro(
        "run",
        "--env",
        "tiny",
        "--params",
        params(
            data_root=root,
            corpus__source="table",
            corpus__path=table,
            privacy__delta=1e-3,
            privacy__enrolment=enrolled,
            **SMALL,
        ),
        FEDTEXT_TRACKING="on",
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "zyxwquokka" not in done.stdout + done.stderr
    assert b"popri.rounds" in (root / "mlflow.db").read_bytes(), "MLflow recorded nothing that could have leaked"
    kept = {path.name for path in (root / "mlartifacts").rglob("*") if path.is_file()}
    assert kept >= {"scorecard.json", "privacy_report.json", "ledger.json"}
    assert not kept & {"synthetic.parquet", "adapter_model.safetensors"}, "made of private text, and nobody asked"
    leaked = [
        path
        for path in tmp_path.rglob("*")
        if path.is_file()
        and path not in (table, enrolled)
        and not path.name.startswith("private_")
        and b"zyxwquokka" in path.read_bytes()
    ]
    assert leaked == []
    assert any(b"zyxwquokka" in path.read_bytes() for path in root.rglob("private_*.parquet")), (
        "the canaries were never read"
    )


@pytest.mark.slow  # tests/wiring/test_reading.py changes all sorts of things at every commit
def test_a_raised_number_of_rounds_keeps_the_rounds_there_are(tiny_run: Path, tmp_path: Path) -> None:
    import shutil

    root = tmp_path / "more"
    shutil.copytree(tiny_run, root)
    before = digests(root)
    done = kedro("run", "--env", "tiny", "--params", params(data_root=root, popri__rounds=3, **TINY))
    assert done.returncode == 0, done.stderr[-2000:]
    after = digests(root)
    first = {name: digest for name, digest in before.items() if "/round_01/" in name}
    assert first
    assert {name: after[name] for name in first} == first
    assert any("/round_03/" in name for name in after)

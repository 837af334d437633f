"""The DP-FTRL job as a user runs it: what it leaves, and that a lost round comes back byte by byte."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.end_to_end.conftest import digests, kedro
from tests.end_to_end.test_dp_fedavg import sentences, settings

RUN = ("run", "--env", "tiny", "--pipelines", "dp_ftrl")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dp_ftrl")
    sentences(120, 1).to_csv(folder / "private.csv", index=False)
    sentences(60, 2).to_csv(folder / "public.csv", index=False)
    root = folder / "data"
    done = kedro(*RUN, "--params", settings(root, folder))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return root


def test_it_leaves_a_model_a_privacy_report_and_a_scorecard(finished: Path) -> None:
    assert (finished / "07_model_output" / "dp_ftrl" / "model" / "model.safetensors").is_file()
    reporting = finished / "08_reporting" / "dp_ftrl"
    report = json.loads((reporting / "privacy_report.json").read_text())
    assert [(entry["round"], entry["rounds"]) for entry in report["releases"]] == [(0, 3)]
    assert 7.99 < report["epsilon"] <= 8 * (1 + 1e-9)
    assert "all of them in this ledger" in report["data_root"]["statement"]
    accuracy = json.loads((reporting / "accuracy.json").read_text())["conditions"]
    assert {"eps0", "trained_model", "private"} <= set(accuracy)
    assert (reporting / "report.html").stat().st_size > 200


def test_a_lost_round_and_all_that_hangs_on_it_come_back_byte_by_byte(finished: Path, tmp_path: Path) -> None:
    root = tmp_path / "resumed"
    shutil.copytree(finished, root)
    before = digests(root)
    shutil.rmtree(root / "05_model_input" / "dp_ftrl" / "round_02")
    (root / "06_models" / "dp_ftrl" / "round_03.safetensors").unlink()
    shutil.rmtree(root / "07_model_output" / "dp_ftrl" / "model")
    done = kedro(*RUN, "--params", settings(root, finished.parent))
    assert done.returncode == 0, done.stderr[-2000:]
    assert digests(root) == before
    releases = (root / ".fedtext" / "releases.jsonl").read_text().splitlines()
    assert len({json.loads(line)["identity"] for line in releases}) == 3

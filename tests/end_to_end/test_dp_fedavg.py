"""The DP-FedAvg job as a user runs it: what it leaves, and that a lost round comes back byte by byte."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.end_to_end.conftest import digests, kedro, params

RUN = ("run", "--env", "tiny", "--pipeline", "dp_fedavg")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("dp_fedavg")
    done = kedro(*RUN, "--params", settings(root))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return root


def settings(root: Path) -> str:
    return params(data_root=root, privacy__noise_seed=7, corpus__max_clients=60)


def test_it_leaves_a_model_a_privacy_report_and_a_scorecard(finished: Path) -> None:
    assert (finished / "07_model_output" / "dp_fedavg" / "model" / "model.safetensors").is_file()
    reporting = finished / "08_reporting" / "dp_fedavg"
    report = json.loads((reporting / "privacy_report.json").read_text())
    assert [entry["round"] for entry in report["releases"]] == [1, 2]
    assert 0 < report["epsilon"] <= 8 * (1 + 1e-9)
    accuracy = json.loads((reporting / "accuracy.json").read_text())["conditions"]
    assert {"eps0", "trained_model", "private"} <= set(accuracy)
    assert (reporting / "report.html").stat().st_size > 200


def test_a_lost_round_and_all_that_hangs_on_it_come_back_byte_by_byte(finished: Path, tmp_path: Path) -> None:
    root = tmp_path / "resumed"
    shutil.copytree(finished, root)
    before = digests(root)
    shutil.rmtree(root / "05_model_input" / "dp_fedavg" / "round_02")
    (root / "06_models" / "dp_fedavg" / "round_02.safetensors").unlink()
    shutil.rmtree(root / "07_model_output" / "dp_fedavg" / "model")
    done = kedro(*RUN, "--params", settings(root))
    assert done.returncode == 0, done.stderr[-2000:]
    assert digests(root) == before
    releases = (root / ".fedtext" / "releases.jsonl").read_text().splitlines()
    assert len({line for line in releases if "dp_fedavg" in line}) == 2

"""The DP-FedAvg job as a user runs it: what it leaves, and that a lost round comes back byte by byte."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.end_to_end.conftest import digests, kedro, params

RUN = ("run", "--env", "tiny", "--pipelines", "dp_fedavg")
pytestmark = pytest.mark.slow


HARBOUR = [
    "the",
    "ferry",
    "sailed",
    "from",
    "harbour",
    "to",
    "harbour",
    "while",
    "gulls",
    "followed",
    "its",
    "wake",
    "until",
    "dusk",
    "fell",
    "over",
    "town",
]


def sentences(count: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(HARBOUR, size=30)) for _ in range(count)]
    return pd.DataFrame({"text": texts, "client_id": [f"person-{i // 2}" for i in range(count)]})


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dp_fedavg")
    sentences(120, 1).to_csv(folder / "private.csv", index=False)
    sentences(60, 2).to_csv(folder / "public.csv", index=False)
    root = folder / "data"
    done = kedro(*RUN, "--params", settings(root, folder))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return root


def settings(root: Path, tables: Path) -> str:
    texts = {"corpus__source": "table", "corpus__path": tables / "private.csv"}
    public = {"corpus__public_path": tables / "public.csv", "evaluation__texts": 20}
    return params(data_root=root, privacy__noise_seed=7, **texts, **public)


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
    done = kedro(*RUN, "--params", settings(root, finished.parent))
    assert done.returncode == 0, done.stderr[-2000:]
    assert digests(root) == before
    releases = (root / ".fedtext" / "releases.jsonl").read_text().splitlines()
    assert len({json.loads(line)["identity"] for line in releases if "dp_fedavg" in line}) == 2

"""The jobs that train the on-device model, as a user runs them: what they leave, and that a lost round comes back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from tests.end_to_end.conftest import digests, kedro, params
from tests.pipelines.conftest import HARBOUR

pytestmark = pytest.mark.slow
RELEASES = {"dp_fedavg": [(1, 1), (2, 1)], "dp_ftrl": [(0, 3)]}  # round, rounds: DP-FTRL's noise is one release
PRICED = {"dp_fedavg": 3, "dp_ftrl": 4}  # sums that left, by the release log: the rounds', and the evaluation's one


class Finished(NamedTuple):
    """A finished job and the command that ends in it."""

    algorithm: str
    root: Path
    tables: Path

    def again(self, root: Path) -> None:
        done = kedro(*job(self.algorithm, root, self.tables))
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def job(algorithm: str, root: Path, tables: Path) -> list[str]:
    enrolled = {"privacy__population": 400, "corpus__max_clients": 400}  # all of them: the tiny run's part is too small
    texts = {"corpus__source": "table", "corpus__path": tables / "private.csv", **enrolled}
    public = {"corpus__public_path": tables / "public.csv", "evaluation__texts": 20}
    chosen = params(data_root=root, privacy__noise_seed=7, **texts, **public)
    return ["run", "--env", "tiny", "--pipelines", algorithm, "--params", chosen]


def sentences(count: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(HARBOUR, size=30)) for _ in range(count)]
    return pd.DataFrame({"text": texts, "client_id": [f"person-{i // 2}" for i in range(count)]})


@pytest.fixture(scope="module", params=sorted(RELEASES))
def finished(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder = tmp_path_factory.mktemp(request.param)
    sentences(120, 1).to_csv(folder / "private.csv", index=False)
    sentences(60, 2).to_csv(folder / "public.csv", index=False)
    made = Finished(request.param, folder / "data", folder)
    made.again(made.root)
    return made


def test_it_leaves_a_model_a_privacy_report_and_a_scorecard(finished: Finished) -> None:
    assert (finished.root / "07_model_output" / finished.algorithm / "model" / "model.safetensors").is_file()
    reporting = finished.root / "08_reporting" / finished.algorithm
    report = json.loads((reporting / "privacy_report.json").read_text())
    assert [(entry["round"], entry["rounds"]) for entry in report["releases"]] == RELEASES[finished.algorithm]
    assert 7.99 < report["epsilon"] <= 8 * (1 + 1e-9)
    assert report["data_set"]["epsilon"] == pytest.approx(report["epsilon"])
    accuracy = json.loads((reporting / "accuracy.json").read_text())["conditions"]
    assert {"eps0", "trained_model"} <= set(accuracy)
    assert "private" not in accuracy, "nothing may be trained on a private table without a price"
    assert (reporting / "report.html").stat().st_size > 200


def test_a_lost_round_and_all_that_hangs_on_it_come_back_byte_by_byte(finished: Finished, tmp_path: Path) -> None:
    name, root = finished.algorithm, tmp_path / "resumed"
    shutil.copytree(finished.root, root)
    before = digests(root)
    shutil.rmtree(root / "05_model_input" / name / "round_02")
    (root / "06_models" / name / "round_02.safetensors").unlink()
    shutil.rmtree(root / "07_model_output" / name / "model")
    finished.again(root)
    assert digests(root) == before
    releases = (root / ".fedtext" / "releases.jsonl").read_text().splitlines()
    assert len({json.loads(line)["receipt"] for line in releases}) == PRICED[name]

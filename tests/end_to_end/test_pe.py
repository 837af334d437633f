"""Real runs of Private Evolution and PE+SFT with the bundled models: federated, central, and killed in between."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.end_to_end.conftest import LOG, ROOT, Said, command, digests, env, kedro, params

SMALL = {"pe__population": 12, "pe__synthetic_texts": 24, "pe_sft__synthetic_texts": 24, "privacy__noise_seed": 7}


def job(root: Path, name: str = "pe_sft", **more: object) -> list[str]:
    """Private Evolution and what it needs, without the evaluation, which other tests run."""
    made = f"{name}_privacy_report,{name}_synthetic,pe_synthetic"
    chosen = params(data_root=root, **SMALL, **more)
    return ["run", "--env", "tiny", "--pipelines", name, "--to-outputs", made, "--params", chosen]


@pytest.fixture(scope="module")
def federated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pe")
    done = kedro(*job(root))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return root


@pytest.mark.slow
def test_a_federated_run_ends_in_texts_and_a_report_within_budget(federated: Path) -> None:
    for name in ("pe", "pe_sft"):
        texts = pd.read_parquet(federated / "07_model_output" / name / "synthetic.parquet")["text"]
        assert 15 <= len(texts) <= 24
        assert texts.str.len().gt(0).all()
        assert texts.nunique() > 10
    report = json.loads((federated / "08_reporting" / "pe_sft" / "privacy_report.json").read_text())
    assert report["unit"] == "client"
    assert 7.9 < report["epsilon"] <= 8.0 + 1e-9
    assert [(r["name"], r["round"]) for r in report["releases"]] == [("pe.histogram", 1), ("pe.histogram", 2)]


@pytest.mark.slow
def test_a_killed_run_ends_in_the_same_bytes_and_the_same_command_does_nothing_more(
    federated: Path, tmp_path: Path
) -> None:
    root, rng, hit = tmp_path / "killed", random.Random(5), 0
    for _ in range(4):
        process = subprocess.Popen(
            command(*job(root)), cwd=ROOT, env=env(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + rng.uniform(5, 15)
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            hit += 1
        process.wait()
    done = kedro(*job(root))
    assert done.returncode == 0, done.stderr[-3000:]
    assert hit >= 1
    assert digests(root) == digests(federated)
    assert kedro(*job(root)).returncode == 0
    ran = [line for line in (root / LOG).read_text().splitlines() if "nodes of" in line and " Ran " in line]
    assert "Ran 0 nodes" in ran[-1]


@pytest.mark.slow
def test_a_central_run_protects_records(tmp_path: Path) -> None:
    central = {"privacy__unit": "record", "privacy__aggregation": "trusted", "privacy__delta": 1e-4}
    form = {
        "pe__form": "aug_pe",
        "pe__variations": 2,
        "pe__selection": "rank",
        "pe__length_spread": 6.0,
        "pe__lookahead": 1,
    }
    done = kedro(*job(tmp_path / "central", "pe", **central, **form))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    report = json.loads((tmp_path / "central" / "08_reporting" / "pe" / "privacy_report.json").read_text())
    assert report["unit"] == "record"
    assert all("trusted" in r["mechanism"] for r in report["releases"])


def test_mask_filling_without_a_model_is_refused_in_one_sentence(cli: Callable[..., Said], tmp_path: Path) -> None:
    told = cli(*job(tmp_path / "none", "pe", pe__variation="mask_filling"))
    assert told.code == 1
    assert "models.masked is none" in told.text

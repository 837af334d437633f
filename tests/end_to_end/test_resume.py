"""`kill -9` at any moment, then the same command: the same bytes, the same ledger, no second query of private data."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest

from fedtext.privacy.history import release_history
from tests.end_to_end.conftest import LOG, ROOT, TINY, command, digests, env, kedro, params

QUICK_KILLS, NIGHTLY_KILLS = 1, 25


def main_job(root: Path, *words: str) -> list[str]:
    """The command of the shared run, into another data root."""
    return command("run", "--env", "tiny", *words, "--params", params(data_root=root, **TINY))


def run_with_kills(arguments: list[str], kills: int) -> int:
    """Start the job again and again, killing it at random moments; returns how many kills hit a living process."""
    rng = random.Random(kills)
    hit = 0
    for _ in range(kills):
        process = subprocess.Popen(arguments, cwd=ROOT, env=env(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + rng.uniform(3, 14)
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            hit += 1
        process.wait()
    done = subprocess.run(arguments, cwd=ROOT, env=env(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return hit


def has_one_release(root: Path) -> bool:
    ledger = json.loads((root / "05_model_input" / "popri" / "ledger.json").read_text())
    return len(ledger["releases"]) == 1


def test_a_killed_run_ends_in_the_same_texts(tiny_run: Path, tmp_path: Path) -> None:
    """To its texts and what they cost, by the same key: evaluations ask nobody, and the night sees them."""
    root, whole = tmp_path / "killed", digests(tiny_run)
    made = main_job(root, "--to-outputs", "popri_synthetic,popri_privacy_report")
    assert run_with_kills(made, QUICK_KILLS) == QUICK_KILLS
    found = digests(root)
    assert any("synthetic" in name for name in found)
    assert found == {name: whole[name] for name in found}
    assert has_one_release(root)


@pytest.mark.slow
def test_killed_runs_end_in_the_same_bytes(tiny_run: Path, tmp_path: Path) -> None:
    root = tmp_path / "killed"
    assert run_with_kills(main_job(root), NIGHTLY_KILLS) >= 2
    assert digests(root) == digests(tiny_run)
    assert has_one_release(root)


@pytest.mark.slow
def test_more_texts_are_written_by_the_rounds_that_are_there(tiny_run: Path, tmp_path: Path) -> None:
    root = shutil.copytree(tiny_run, tmp_path / "more")
    (root / LOG).unlink()
    wanted = params(data_root=root, **(TINY | {"popri__synthetic_texts": 70}))
    done = kedro("run", "--env", "tiny", "--params", wanted)
    assert done.returncode == 0, done.stderr[-3000:]
    ran = set(re.findall(r"Node \d+ of \d+, (\S+):", (root / LOG).read_text()))
    assert {"popri.draw_final_prompts", "popri.generate_final_texts", "popri.select_synthetic"} <= ran
    assert not [name for name in ran if "round_0" in name or "closing" in name or "embed_private" in name]
    assert len(pd.read_parquet(root / "07_model_output" / "popri" / "synthetic.parquet")) == 70
    released = "05_model_input/popri/released_mean.safetensors"
    assert (root / released).read_bytes() == (tiny_run / released).read_bytes()


def run_killed_at(arguments: list[str], marker: Path) -> bool:
    """Starts the job and kills it as soon as a file is there; whether it was still running then."""
    process = subprocess.Popen(arguments, cwd=ROOT, env=env(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not marker.exists():
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return process.returncode == -signal.SIGKILL


# Of an algorithm that trains by DP-SGD: the release of its steps, how often it is killed at what, and all that it asks.
TRAINED = {
    "ctcl": (
        {"models__generator": "bundled:generator"},
        ["05_model_input/ctcl/private_rows.safetensors", "06_models/ctcl/tuned.safetensors"],
        ["ctcl.topics", "ctcl.gradients"],
    ),
    "dp_sgd_generation": (
        {"models__generator": "bundled:generator"},
        ["05_model_input/dp_sgd_generation/private_rows.safetensors", "06_models/dp_sgd_generation/tuned.safetensors"],
        ["dp_sgd_generation.gradients"],
    ),
    "flexible": (
        {"flexible__labels": "class function method module property", "corpus__code_columns": "kind"},
        [
            "05_model_input/flexible/private_code_rows.safetensors",
            ".fedtext/releases.jsonl",  # written down, and the weights not yet saved
            "06_models/flexible/tuned.safetensors",
        ],
        ["flexible.dp_sgd", "flexible.profile", "flexible.votes"],
    ),
}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", TRAINED)
def test_dp_sgd_killed_in_its_steps_and_after_them_ends_in_the_same_bytes_and_one_charge(
    tmp_path: Path, name: str
) -> None:
    """The steps are one release: begun anew after a kill it is the same one, by the same key and draws."""
    told, markers, asked = TRAINED[name]
    made = f"{name}_synthetic,{name}_privacy_report"

    def job(root: Path) -> list[str]:
        own = params(data_root=root, privacy__noise_seed=7, **told)
        return command("run", "--env", "tiny", "--pipelines", name, "--to-outputs", made, "--params", own)

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert subprocess.run(job(whole), cwd=ROOT, env=env(), capture_output=True, check=False).returncode == 0
    for marker in markers:
        assert run_killed_at(job(killed), killed / marker), f"it ended before there was a {marker}"
    done = subprocess.run(job(killed), cwd=ROOT, env=env(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert digests(killed) == digests(whole)
    report = json.loads((killed / "08_reporting" / name / "privacy_report.json").read_text())
    assert [release["name"] for release in report["releases"]] == asked
    charged = [entry.receipt for entry in release_history(killed) if entry.release is not None]
    assert sorted(charged) == sorted(entry.receipt for entry in release_history(whole) if entry.release is not None)
    assert len(charged) == len(asked)

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

from tests.end_to_end.conftest import LOG, ROOT, command, digests, env, kedro, params

QUICK_KILLS, NIGHTLY_KILLS = 4, 25


def run_with_kills(root: Path, kills: int, seed: int) -> int:
    """Start the job again and again, killing it at random moments; returns how many kills hit a living process."""
    rng = random.Random(seed)
    arguments = command("run", "--env", "tiny", "--params", params(data_root=root, privacy__noise_seed=7))
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


@pytest.mark.parametrize("kills", [QUICK_KILLS, pytest.param(NIGHTLY_KILLS, marks=pytest.mark.slow)])
def test_killed_runs_end_in_the_same_bytes(tiny_run: Path, tmp_path: Path, kills: int) -> None:
    root = tmp_path / "killed"
    assert run_with_kills(root, kills, seed=kills) >= 2
    assert digests(root) == digests(tiny_run)
    ledger = json.loads((root / "05_model_input" / "popri" / "ledger.json").read_text())
    assert len(ledger["releases"]) == 1


def test_more_texts_are_written_by_the_rounds_that_are_there(tiny_run: Path, tmp_path: Path) -> None:
    root = shutil.copytree(tiny_run, tmp_path / "more")
    (root / LOG).unlink()
    wanted = params(data_root=root, privacy__noise_seed=7, popri__synthetic_texts=70)
    done = kedro("run", "--env", "tiny", "--params", wanted)
    assert done.returncode == 0, done.stderr[-3000:]
    ran = set(re.findall(r"Node \d+ of \d+, (\S+):", (root / LOG).read_text()))
    assert {"popri.draw_final_prompts", "popri.generate_final_texts", "popri.select_synthetic"} <= ran
    assert not [name for name in ran if "round_0" in name or "closing" in name or "embed_private" in name]
    assert len(pd.read_parquet(root / "07_model_output" / "popri" / "synthetic.parquet")) == 70
    released = "05_model_input/popri/released_mean.safetensors"
    assert (root / released).read_bytes() == (tiny_run / released).read_bytes()

"""`kill -9` at any moment, then the same command: the same bytes, the same ledger, no second query of private data."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.end_to_end.conftest import ROOT, command, digests, env, params

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

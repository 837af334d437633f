"""What the main job's texts are worth, over seeds: the tables of README.md.

    python benchmarks/headline.py [--seeds 1 2 3 4 5] [--trainings 3] [--params ...] [--out build/headline]

Each seed is a whole `kedro run` into a data root of its own below `--out`, with noise, prompts and texts of its own. The
on-device model is then trained `--trainings` times on each set of texts: `evaluation.seed` orders the texts and draws
the private samples. Means and 95% t intervals are over the seeds, of which each is a mean over its trainings. What is
there already is not computed again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd

from fedtext.evaluation.intervals import mean_interval

ROOT = Path(__file__).parents[1]
KEDRO = Path(sys.executable).with_name("kedro")
NAMES = {"eps0": "nothing", "synthetic": "synthetic texts", "private": "private samples"}
CONTROLS = ("public_control", "matched_control", "untuned_control")
GAP = "of the gap"


def trained(root: Path, seed: int, training: int, extra: str) -> pd.Series[float]:
    """Return accuracy by condition, in percent, of one training on the texts of one seed."""
    kept = root / f"accuracy-{training}.json"
    if not kept.is_file():
        seeds = f"popri.seed={seed},described.seed={seed},evaluation.seed={seed + 1000 * training}"
        params = ",".join([f"data_root={root}", seeds, *([extra] if extra else [])])
        environment = {**os.environ, "FEDTEXT_PROGRESS": "0", "FEDTEXT_STATE": str(root / "state")}
        subprocess.run([KEDRO, "run", "--params", params], cwd=ROOT, env=environment, check=True)
        shutil.copy(root / "08_reporting/popri/accuracy.json", kept)
    return pd.Series(
        {name: 100 * scores["top_1"] for name, scores in json.loads(kept.read_text())["conditions"].items()}
    )


def said(values: pd.Series[float]) -> str:
    """Format a mean and its interval."""
    found = mean_interval(values.tolist())
    return f"{found.mean:.1f} ({found.low:.1f} to {found.high:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--trainings", type=int, default=3)
    parser.add_argument("--params", default="")
    parser.add_argument("--out", type=Path, default=ROOT / "build/headline")
    arguments = parser.parse_args()
    runs = {
        seed: pd.concat(
            [
                trained(arguments.out.resolve() / f"seed-{seed}", seed, training, arguments.params)
                for training in range(arguments.trainings)
            ],
            axis=1,
        ).mean(axis=1)
        for seed in arguments.seeds
    }
    found = pd.DataFrame(runs).T
    gap = found["private"] - found["eps0"]
    print("| trained on | accuracy, % | of the gap, % |\n|---|---|---|")
    for name in found:
        closed = said(100 * (found[name] - found["eps0"]) / gap) if name not in ("eps0", "private") else ""
        print(f"| {NAMES.get(str(name), name)} | {said(found[name])} | {closed} |")
    print("\n| synthetic texts above | points | of what is left, % |\n|---|---|---|")
    for name in [name for name in CONTROLS if name in found]:
        above = found["synthetic"] - found[name]
        print(f"| {name} | {said(above)} | {said(100 * above / (found['private'] - found[name]))} |")
    found.to_json(arguments.out / "headline.json", indent=1)


if __name__ == "__main__":
    main()

"""What the main job's texts are worth, over seeds: the tables of README.md and docs/reading_a_report.md.

    python -m benchmarks.headline [--seeds 1 2 3 4 5] [--trainings 3] [--params ...] [--out build/headline]

Each seed is a whole `kedro run` into a data root of its own below `--out`, with noise, prompts and texts of its own. The
on-device model is then trained `--trainings` times on each set of texts: `evaluation.seed` orders the texts and draws
the private samples. Means and 95% t intervals are over the seeds, of which each is a mean over its trainings. What is
there already is not computed again.

The first figure is the share of what is left above the best control: (synthetic - control) / (private - control), of the
control with the best mean. `matched_control` is chosen from as many texts as POPri's own (decision 47), and `private` is
the median of several draws.
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
MEASURES = {"top_1": ("accuracy, %", 100), "cross_entropy": ("cross-entropy, nats", 1)}


def trained(root: Path, seed: int, training: int, extra: str) -> pd.Series[float]:
    """Return each measure by condition, scaled, and the worth in private samples, of one training on one seed's texts."""
    kept = root / f"accuracy-{training}.json"
    if not kept.is_file():
        seeds = f"popri.seed={seed},described.seed={seed},evaluation.seed={seed + 1000 * training}"
        params = ",".join([f"data_root={root}", "for_reading.texts=0", seeds, *([extra] if extra else [])])
        environment = {**os.environ, "FEDTEXT_PROGRESS": "0", "FEDTEXT_STATE": str(root / "state")}
        subprocess.run([KEDRO, "run", "--params", params], cwd=ROOT, env=environment, check=True)
        shutil.copy(root / "08_reporting/popri/accuracy.json", kept)
    document = json.loads(kept.read_text())
    values = {
        (measure, name): scale * scores[measure]
        for measure, (_, scale) in MEASURES.items()
        for name, scores in document["conditions"].items()
    }
    worth = document.get("worth") or {"samples": {}}
    values |= {("worth", name): worth["most"] if n is None else n for name, n in worth["samples"].items()}
    return pd.Series(values)


def said(values: pd.Series[float], decimals: int = 1) -> str:
    """Format a mean and its interval; a single seed has none."""
    found = mean_interval(values.tolist())
    if found.low is None:
        return f"{found.mean:.{decimals}f}"
    return f"{found.mean:.{decimals}f} ({found.low:.{decimals}f} to {found.high:.{decimals}f})"


def of_what_is_left(found: pd.DataFrame, measure: str) -> str:
    """Return the row of the share of what is left above the best control, by one measure.

    It is the ratio of means, since a single seed's gap may be small; the interval is that of the mean residual.
    """
    levels = found[measure] * (-1 if measure == "cross_entropy" else 1)
    best = max((name for name in CONTROLS if name in levels), key=lambda name: float(levels[name].mean()))
    added, left = levels["synthetic"] - levels[best], levels["private"] - levels[best]
    whole = float(left.mean())
    if whole <= 0:
        return f"| {MEASURES[measure][0]} | {best} | private samples are not above it |"
    share = float(added.mean()) / whole
    return f"| {MEASURES[measure][0]} | {best} | {said(100 * (share + (added - share * left) / whole), 0)} |"


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
    table = pd.DataFrame(runs).T
    print("| the private text added, by | above the best control | of what is left, % |\n|---|---|---|")
    for measure in MEASURES:
        print(of_what_is_left(table, measure))
    found, nats = table["top_1"], table["cross_entropy"]
    print("\n| trained on | accuracy, % | cross-entropy, nats | private samples | of the whole gap, % |")
    print("|---|---|---|---|---|")
    gap = found["private"] - found["eps0"]
    for name in found:
        closed = said(100 * (found[name] - found["eps0"]) / gap) if name not in ("eps0", "private") else ""
        worth = said(table[("worth", name)], 0) if ("worth", name) in table else ""
        print(f"| {NAMES.get(str(name), name)} | {said(found[name])} | {said(nats[name], 3)} | {worth} | {closed} |")
    table.columns = [f"{measure}/{name}" for measure, name in table.columns]
    table.to_json(arguments.out / "headline.json", indent=1)


if __name__ == "__main__":
    main()

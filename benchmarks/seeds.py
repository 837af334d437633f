"""The main job over several seeds: accuracy and FID with 95% intervals.

    python benchmarks/seeds.py [--seeds 3] [--params popri.scoring=...,...] [--out build/benchmarks/seeds.json]

Every seed is a whole `kedro run` in a data root of its own, with its own noise, prompts, training and split of clients;
a run that is there already is not repeated. Prints the table of the README and writes it as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from fedtext.evaluation.seeds import across_seeds, render_markdown

ROOT = Path(__file__).parents[1]
KEDRO = Path(sys.executable).with_name("kedro")
SEEDED = ("popri.seed", "privacy.noise_seed", "evaluation.seed")


def run(seed: int, extra: str, root: Path) -> dict[str, object]:
    params = ",".join([f"data_root={root}", *(f"{name}={seed}" for name in SEEDED), *([extra] if extra else [])])
    environment = {**os.environ, "FEDTEXT_TRACKING": "off"}
    subprocess.run([str(KEDRO), "run", "--params", params], cwd=ROOT, env=environment, check=True)
    card: dict[str, object] = json.loads((root / "08_reporting" / "popri" / "scorecard.json").read_text())
    return card


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--params", default="", help="further parameters of every run, as kedro run takes them")
    parser.add_argument("--roots", type=Path, default=ROOT / "build" / "seeds")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "benchmarks" / "seeds.json")
    chosen = parser.parse_args()
    cards = [run(seed, chosen.params, chosen.roots.resolve() / str(seed)) for seed in range(1, chosen.seeds + 1)]
    rows = across_seeds(cards)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps({"params": chosen.params, "rows": rows}, indent=2, default=str))
    print(render_markdown(rows))


if __name__ == "__main__":
    main()

"""Compare samplers of the generator: what the on-device model learns from their texts, and how the texts read.

    kedro run                                                   # the main job, whose samples are read
    python -m benchmarks.samplers [--data-root data] [--seeds 3]

For every sampler the untuned generator writes as in the control of that name, from the same prompts in every seed, and
the on-device model is trained on as many texts of each. Accuracy is that on the job's held-out samples. Seeds vary
prompts, draws and training; intervals are 95% over them. Seconds are of writing alone and include complete responses'
leaving early: a sampler whose texts are long takes longer.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import pandas as pd

from fedtext.datasets.generators import NamedGeneratorDataset
from fedtext.evaluation.fine_tuning import fine_tune_and_count
from fedtext.evaluation.intervals import Interval, mean_interval
from fedtext.evaluation.measures.texts import distinct_share
from fedtext.generation.cleaning import is_legible
from fedtext.models.language_model import LanguageModel
from fedtext.params.corpus import Chunking
from fedtext.params.evaluation import Evaluation
from fedtext.pipelines.evaluation.nodes.conditions import generate_untuned_texts
from tests.parameters import conf_base

RESULT = Path("build/benchmarks/samplers.json")
SAMPLERS = {
    "temperature 1, min-p 0.03": {"temperature": 1.0, "top_p": 1.0, "min_p": 0.03},
    "temperature 1, all tokens": {"temperature": 1.0, "top_p": 1.0, "min_p": 0.0},
    "temperature 1, nucleus 0.9": {"temperature": 1.0, "top_p": 0.9, "min_p": 0.0},
    "temperature 1, min-p 0.1": {"temperature": 1.0, "top_p": 1.0, "min_p": 0.1},
    "temperature 0.8, all tokens": {"temperature": 0.8, "top_p": 1.0, "min_p": 0.0},
    "temperature 1.2, min-p 0.1": {"temperature": 1.2, "top_p": 1.0, "min_p": 0.1},
}


def written(samples: pd.DataFrame, changes: dict[str, float], seed: int) -> tuple[list[str], float]:
    """Return the untuned generator's texts by one sampler, and seconds."""
    evaluation = conf_base(Evaluation, seed=seed, untuned={"sampler": {**changes, "legible_only": False}})
    generator = NamedGeneratorDataset(name="one", generators={"one": "smollm2"}).load()
    started = time.perf_counter()
    texts = generate_untuned_texts(generator, samples, conf_base(Chunking), evaluation)
    return texts["text"].tolist(), time.perf_counter() - started


def measured(root: Path, seed: int) -> dict[str, dict[str, float]]:
    """Return the measurements of one seed, by sampler."""
    samples = pd.read_parquet(root / "03_primary/public_samples.parquet")
    held_out = pd.read_parquet(root / "03_primary/private_test_sample.parquet")["text"].tolist()
    sets = {name: written(samples, changes, seed) for name, changes in SAMPLERS.items()}
    counted = fine_tune_and_count(
        LanguageModel("bundled:on_device"), {name: texts for name, (texts, _) in sets.items()}, held_out,
        conf_base(Evaluation, seed=seed), length=conf_base(Chunking).length, seed=seed,
    )  # fmt: skip
    return {
        name: {
            "accuracy": 100 * counted[name][0].summary()["top_1"],
            "illegible": 100 * sum(not is_legible(text) for text in texts) / len(texts),
            "distinct_2": distinct_share(texts, 2),
            "seconds": seconds,
        }
        for name, (texts, seconds) in sets.items()
    }


def said(value: Interval) -> str:
    """Format the mean and, of several seeds, the interval."""
    return f"{value.mean:.2f}" + ("" if value.low is None else f" ({value.low:.2f} to {value.high:.2f})")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--data-root", type=Path, default=Path("data"))
    asked.add_argument("--seeds", type=int, default=3)
    chosen = asked.parse_args()
    found = [measured(chosen.data_root, seed) for seed in range(1, chosen.seeds + 1)]
    table = {
        name: {measure: mean_interval([run[name][measure] for run in found]) for measure in found[0][name]}
        for name in SAMPLERS
    }
    for name, row in table.items():
        print(f"{name}: " + ", ".join(f"{measure} {said(value)}" for measure, value in row.items()))
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps({"runs": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()

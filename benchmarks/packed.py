"""A step of decoding with weights packed in float16, against the same step with float32 weights.

    python -m benchmarks.packed [--source smollm2] [--rows 4 16 48 96 152 304]

One thread, as a batch has it (fedtext.system.cores). Both sides take turns on the same prompts; the median of each
counts. Only for CPUs that pack: where bfloat16 pays, decoding has bfloat16 weights. Writes build/benchmarks/packed.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from fedtext.generation.decoding import branch_attention, start
from fedtext.models.language_model import LanguageModel
from fedtext.system.precision import packed_copy

RESULT = Path("build/benchmarks/packed.json")
RESPONSES, PROMPT, STEPS = 8, 16, 6  # of a prompt; its tokens; steps that are timed


def step_seconds(model: Any, rows: int) -> float:
    """Return seconds of a step of `rows` responses, the mean of a few."""
    import torch

    each = min(RESPONSES, rows)
    ids = torch.arange(rows // each * PROMPT).view(-1, PROMPT) % 1000 + 5
    with torch.inference_mode(), branch_attention(model):
        branches, _ = start(model, ids, torch.ones_like(ids), each, STEPS + 1)
        branches.forward(model)
        began = time.perf_counter()
        for _ in range(STEPS):
            branches.forward(model)
        return (time.perf_counter() - began) / STEPS


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default="smollm2")
    parser.add_argument("--rows", type=int, nargs="+", default=[4, 16, 48, 96, 152, 304])
    parser.add_argument("--turns", type=int, default=5)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    plain = LanguageModel(chosen.source).load()[0]
    models = {"float32": plain, "packed": packed_copy(plain)}
    found = {}
    for rows in chosen.rows:
        taken: dict[str, list[float]] = {name: [] for name in models}
        for _ in range(chosen.turns):
            for name, model in models.items():
                taken[name].append(step_seconds(model, rows))
        found[rows] = {name: statistics.median(own) for name, own in taken.items()}
        ratio = found[rows]["packed"] / found[rows]["float32"]
        print(
            f"{rows:5d} rows: " + ", ".join(f"{n} {1e3 * s:.0f} ms" for n, s in found[rows].items()) + f", {ratio:.2f}"
        )
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()

"""Scoring of all candidates by all clients: the Gram form against one loop over clients, as the authors run it.

    python -m benchmarks.scoring

Three questions, each answered within one run, because seconds on a shared machine mean little:

1. How many times faster is `client_means` + `summed_scores` than a loop that takes, for each client, the cosine of
   every sample with every candidate (`sentence_transformers.util.cos_sim`), standardises and clips the sum over its
   samples, and adds it up? The loop runs on a few clients and is scaled to all of them; it is timed in turns with ours,
   so that both meet the same load. A second, leaner loop, one matrix-vector product a client, is given for fairness.
2. Is peak memory free of clients x candidates? Each size runs in a process of its own.
3. Does time grow linearly with clients, to 72,000?
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.made_up import DIM, unit_rows
from fedtext.voting.ballots import client_means
from tests.voting.oracles import summed_scores

CLIENTS, CANDIDATES, RESPONSES = 10_000, 18_000, 10
SAMPLES_PER_CLIENT = 6.6  # bioRxiv, POPri Table 4
LOOP_CLIENTS, REPEATS = 30, 5
GOAL = 200  # times faster than the loop
GROWTH = (9_000, 18_000, 36_000, 72_000)
RESULT = Path("build/benchmarks/scoring.json")


def corpus(clients: int) -> tuple[np.ndarray, np.ndarray]:
    """Return sample embeddings and the client of each; every client has at least one."""
    random = np.random.default_rng(clients)
    index = np.repeat(np.arange(clients), 1 + random.poisson(SAMPLES_PER_CLIENT - 1, size=clients))
    return unit_rows(random, len(index)), index


def loop_scores(samples: np.ndarray, index: np.ndarray, clients: int, candidates: np.ndarray) -> np.ndarray:
    """Return the sum of standardised, clipped ballots, one client after another."""
    from sentence_transformers.util import cos_sim

    total = np.zeros(len(candidates))
    for client in range(clients):
        total += standardised(cos_sim(candidates, samples[index == client]).numpy().sum(axis=1))
    return total


def leaner_loop_scores(samples: np.ndarray, index: np.ndarray, clients: int, candidates: np.ndarray) -> np.ndarray:
    """Return the same sum, with candidates normalised and a client's samples added up beforehand."""
    total = np.zeros(len(candidates))
    for client in range(clients):
        total += standardised(candidates @ samples[index == client].sum(axis=0))
    return total


def standardised(scores: np.ndarray) -> np.ndarray:
    scores = (scores - scores.mean()) / scores.std()
    return scores / max(1.0, float(np.linalg.norm(scores)))


def gram_scores(samples: np.ndarray, index: np.ndarray, clients: int, candidates: np.ndarray) -> np.ndarray:
    return summed_scores(client_means(samples, index, clients), candidates, centre="all")


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def speed() -> dict[str, float]:
    """Return the median over turns of each loop's time, scaled to all clients, over the Gram form's."""
    samples, index = corpus(CLIENTS)
    candidates = unit_rows(np.random.default_rng(0), CANDIDATES)
    few = index < LOOP_CLIENTS
    part = (samples[few], index[few], LOOP_CLIENTS, candidates)
    difference = np.abs(loop_scores(*part) - gram_scores(*part)).max()
    ours, loop, leaner = [], [], []
    for _ in range(REPEATS):
        ours.append(seconds(lambda: gram_scores(samples, index, CLIENTS, candidates)))
        loop.append(seconds(lambda: loop_scores(*part)) * CLIENTS / LOOP_CLIENTS)
        leaner.append(seconds(lambda: leaner_loop_scores(*part)) * CLIENTS / LOOP_CLIENTS)
    return {
        "gram_seconds": statistics.median(ours),
        "loop_seconds_scaled": statistics.median(loop),
        "ratio": statistics.median(a / b for a, b in zip(loop, ours, strict=True)),
        "ratio_leaner_loop": statistics.median(a / b for a, b in zip(leaner, ours, strict=True)),
        "largest_difference": float(difference),
    }


def growth() -> dict[str, Any]:
    """Return seconds of `summed_scores` at growing numbers of clients, and the slope of the line in log-log.

    The Gram matrix of the candidates costs the same whatever the number of clients: it is timed alone and taken off.
    """
    candidates = unit_rows(np.random.default_rng(0), CANDIDATES)
    means = unit_rows(np.random.default_rng(1), max(GROWTH))
    turns = [
        [seconds(partial(summed_scores, means[:n], candidates, centre="all")) for n in (0, *GROWTH)]
        for _ in range(REPEATS)
    ]
    fixed, *times = (min(column) for column in zip(*turns, strict=True))  # the least disturbed turn of each size
    exponent = np.polyfit(np.log(GROWTH), np.log(np.array(times) - fixed), 1)[0]
    return {"fixed": fixed, "seconds": dict(zip(map(str, GROWTH), times, strict=True)), "exponent": float(exponent)}


def peak_megabytes(clients: int, candidates: int) -> dict[str, float]:
    """Return the rise of the peak resident set in one call of `summed_scores`, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scoring", "--peak", str(clients), str(candidates)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {"clients": clients, "candidates": candidates, "megabytes": float(answer)}


def measure_peak(clients: int, candidates: int) -> float:
    random = np.random.default_rng(0)
    means, texts = unit_rows(random, clients), unit_rows(random, candidates)
    summed_scores(means[:64], texts[:640], centre="prompt", responses_per_prompt=RESPONSES)  # loads the BLAS buffers
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    summed_scores(means, texts, centre="prompt", responses_per_prompt=RESPONSES)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def main() -> None:
    # Memory first: a process started by a large one inherits its peak resident set, and would show no rise of its own.
    memory = [peak_megabytes(n, m) for n, m in ((CLIENTS, CANDIDATES), (72_000, CANDIDATES), (CLIENTS, 36_000))]
    fast = speed()
    print(f"{CLIENTS:,} clients x {CANDIDATES:,} candidates x {DIM}, {SAMPLES_PER_CLIENT} samples a client")
    print(f"  Gram form, client means included  {fast['gram_seconds']:9.2f} s")
    print(f"  authors' loop, {LOOP_CLIENTS} clients scaled   {fast['loop_seconds_scaled']:9.1f} s")
    print(f"  ratio (median of {REPEATS} turns)       {fast['ratio']:9.0f} x   (goal {GOAL} x)")
    print(f"  ratio to a leaner loop            {fast['ratio_leaner_loop']:9.0f} x")
    print(f"  largest difference of the sums    {fast['largest_difference']:9.1e}")
    print("peak memory of summed_scores")
    for row in memory:
        full = row["clients"] * row["candidates"] * 4 / 2**20
        print(
            f"  {row['clients']:6,} clients x {row['candidates']:6,} candidates  {row['megabytes']:7.0f} MB"
            f"   (clients x candidates in float32: {full:6.0f} MB)"
        )
    slope = growth()
    print("seconds of summed_scores by clients")
    for n, value in slope["seconds"].items():
        print(f"  {int(n):6,}  {value:6.2f}")
    print(f"  candidates alone {slope['fixed']:.2f}; fitted exponent of the rest {slope['exponent']:.2f}")
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps({"speed": fast, "memory": memory, "growth": slope}, indent=2) + "\n")
    if fast["ratio"] < GOAL:
        sys.exit(f"ratio {fast['ratio']:.0f} is below the goal of {GOAL}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        print(measure_peak(int(sys.argv[2]), int(sys.argv[3])))
    else:
        main()

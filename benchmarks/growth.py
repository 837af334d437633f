"""Measure how a run grows: clients through messages and ballots, by one and two workers, and rounds in the graph.

    python -m benchmarks.growth                     # 1,000 to 64,000 clients
    python -m benchmarks.growth --graph             # 20 and 80 rounds: a run up to its first ledger

Samples are made up (6.6 a client, 384 numbers each). Processor seconds count this process and its workers, so they mean
the same on a machine that others use; wall seconds do not. Figures of one size follow each other directly, so that
their ratios are of one state of the machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.engines import measured, release_of

SIZES = (1_000, 4_000, 16_000, 64_000)
CANDIDATES = 1_000
QUESTIONS = {"mean features": None, "ballots": CANDIDATES}
ROUNDS = (20, 80)
ENGINES = ("in process", "one process", "two processes")


def clients(sizes: list[int], questions: list[str], engines: list[str], repeats: int) -> None:
    """Print, for each size and question, what each engine takes for one release; medians of `repeats`."""
    for size in sizes:
        for question in questions:
            release, first = release_of(size, QUESTIONS[question]), None
            for engine in engines:
                with tempfile.TemporaryDirectory() as folder:
                    found, cost = measured(engine, release, Path(folder), repeats)
                first = first or found
                digest = hashlib.sha256(found).hexdigest()[:12]  # for engines that are measured by several commands
                told = {"clients": size, "question": question, **cost, "same_bytes": found == first, "sha256": digest}
                print(json.dumps(told), flush=True)


def graph(repeats: int) -> None:
    """Print what a run takes up to its first ledger, by rounds: configuration, graph, checks and two nodes."""
    for _ in range(repeats):
        for rounds in ROUNDS:
            with tempfile.TemporaryDirectory() as folder:
                before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
                told = f"popri.rounds={rounds},data_root={folder}"
                job = [sys.executable, "-m", "kedro", "run", "--env", "tiny", "--to-nodes", "popri.open_popri_ledger"]
                env = {**os.environ, "FEDTEXT_TRACKING": "off", "FEDTEXT_PROGRESS": "0"}
                subprocess.run([*job, "--params", told], check=True, capture_output=True, env=env)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cost = {
                "rounds": rounds,
                "wall_s": round(time.perf_counter() - began, 1),
                "cpu_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
                "largest_mib": after.ru_maxrss // 1024,
            }
            print(json.dumps(cost), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--questions", nargs="*", default=list(QUESTIONS), choices=QUESTIONS)
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=ENGINES)
    parser.add_argument("--repeats", type=int, default=3, help="releases after the first; of the graph, all")
    parser.add_argument("--graph", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("FEDTEXT_PROGRESS", "0")
    if options.graph:
        graph(options.repeats)
    else:
        clients(options.sizes, options.questions, options.engines, options.repeats)


if __name__ == "__main__":
    main()

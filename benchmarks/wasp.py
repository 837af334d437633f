"""WASP's vote: similar and dissimilar top-Q ballots of many records, against a plain loop over the records.

    python -m benchmarks.wasp
    python -m benchmarks.wasp --records 1000 --candidates 20000

Seconds of the summed ballots (`voting.ballots`, before clip and noise) against a loop that
computes one record's similarities, picks the Q nearest and furthest, and adds the votes. The loop is timed on a part of
the records and scaled up. Memory: what the ballots take beyond their inputs, which must not grow with records times
candidates.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.made_up import DIM, unit_rows
from fedtext.algorithms.wasp.judging import CELLS
from fedtext.voting.ballots import top_q_blocks

VOTES = 8
RESULT = Path("build/benchmarks/wasp.json")


def summed(records: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Return similar and dissimilar votes of all records, computed a block at a time."""
    who, block = np.arange(len(records)), max(1, CELLS // (2 * len(candidates)))
    total = np.zeros((2, len(candidates)))
    for part, furthest in enumerate((False, True)):
        blocks = top_q_blocks(records, who, len(records), candidates, votes=VOTES, furthest=furthest, block=block)
        for rows in blocks:
            total[part] += rows.sum(axis=0)
    return total


def loop(records: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Return the same votes, computed one record after the other."""
    total = np.zeros((2, len(candidates)))
    worth = 0.5 ** np.arange(VOTES)
    for record in records:
        alike = candidates @ record
        for part, signed in enumerate((-alike, alike)):
            best = np.argpartition(signed, VOTES)[:VOTES]
            total[part, best[np.argsort(signed[best])]] += worth
    return total


def peak() -> float:
    """Return the largest resident memory so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--records", type=int, default=10_000)
    asked.add_argument("--candidates", type=int, default=100_000)
    asked.add_argument("--looped", type=int, default=200)
    given = asked.parse_args()
    random = np.random.default_rng(0)
    records, candidates = unit_rows(random, given.records), unit_rows(random, given.candidates)
    some = records[: given.looped]
    start, cpu = time.perf_counter(), time.process_time()
    expected = loop(some, candidates)
    scale = len(records) / len(some)
    theirs, theirs_cpu = scale * (time.perf_counter() - start), scale * (time.process_time() - cpu)
    before = peak()
    start, cpu = time.perf_counter(), time.process_time()
    summed(records, candidates)
    ours, ours_cpu = time.perf_counter() - start, time.process_time() - cpu
    grown = peak() - before
    differ = float(np.abs(summed(some, candidates) - expected).max())
    found = {"ours_seconds": ours, "loop_seconds": theirs, "ours_cpu": ours_cpu, "loop_cpu": theirs_cpu,
             "grown_mib": grown, "largest_difference": differ}  # fmt: skip
    print(f"{len(records):,} records x {len(candidates):,} candidates x {DIM}, {VOTES} near and {VOTES} far votes")
    print(f"  ours {ours:.1f} s ({ours_cpu:.1f} of CPU), loop {theirs:.1f} s ({theirs_cpu:.1f} of CPU)")
    print(
        f"  memory beyond inputs {grown:.0f} MiB; records x candidates would take {4 * given.records * given.candidates / 2**20:.0f}"
    )
    print(f"  largest difference of the sums {differ:.2g}")
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(found, indent=2) + "\n")
    if ours_cpu > theirs_cpu:
        sys.exit("slower than the loop")


if __name__ == "__main__":
    main()

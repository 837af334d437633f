"""The main job by stage, so that the next improvement is obvious.

    python benchmarks/main_job.py [--params privacy.epsilon=4,...]

One whole `kedro run` into a fresh directory; prints seconds by kind of node, largest first, and the peak memory, and
writes build/benchmarks/main_job.json. A node's time runs from its line in the log to the next one's.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEDRO = Path(sys.executable).with_name("kedro")
NODE = re.compile(r"Node \d+ of \d+, (?:[\w.]+\.)?(\w+):")


def timed_run(extra: str, data_root: str) -> tuple[dict[str, float], float]:
    """Seconds by node name (rounds added up, `start` for what precedes the first) and in all."""
    params = ",".join([f"data_root={data_root}", *([extra] if extra else [])])
    environment = {**os.environ, "FEDTEXT_PROGRESS": "0", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [str(KEDRO), "run", "--params", params],
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    stages: dict[str, float] = defaultdict(float)
    stage, began, first = "start", time.perf_counter(), time.perf_counter()
    for line in process.stdout:
        if found := NODE.search(line):
            now = time.perf_counter()
            stages[stage] += now - began
            stage, began = found.group(1), now
    stages[stage] += time.perf_counter() - began
    if process.wait():
        raise SystemExit(f"kedro run failed with exit code {process.returncode}")
    return dict(stages), time.perf_counter() - first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--params", default="")
    with tempfile.TemporaryDirectory() as data_root:
        stages, seconds = timed_run(parser.parse_args().params, data_root)
    gigabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    for name, spent in sorted(stages.items(), key=lambda item: -item[1]):
        print(f"{spent:8.1f} s  {spent / seconds:5.1%}  {name}")
    print(f"{seconds:8.1f} s in all, {gigabytes:.1f} GiB at the peak")
    out = ROOT / "build" / "benchmarks" / "main_job.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"seconds": seconds, "peak_gigabytes": gigabytes, "stages": stages}, indent=2))


if __name__ == "__main__":
    main()

"""Seconds and memory of the main job by stage, to see what to improve next.

    python -m benchmarks.main_job [--params privacy.epsilon=4,...] [--data-root DIR]

One whole `kedro run` into a fresh directory (or into DIR, which is kept); prints seconds and peak memory by kind of
node, largest first, and writes build/benchmarks/main_job.json. A node's time runs from its line in the log to the next
one's, and so does its peak: resident memory, which the kernel is asked to count anew for every node (Linux only).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fedtext.resuming.records import STORE
from fedtext.wiring.console import LOG_FILE

ROOT = Path(__file__).parents[1]
KEDRO = Path(sys.executable).with_name("kedro")
NODE = re.compile(r"Node \d+ of \d+, (?:[\w.]+\.)?(\w+):")
PEAK = re.compile(r"VmHWM:\s+(\d+) kB")
LOOKS = 0.2  # seconds between looks at the log
RESET_PEAK = "5"  # proc(5), clear_refs


class Stages(NamedTuple):
    """Seconds, added up over rounds, and peak gigabytes by node name; `start` is before the first node."""

    seconds: dict[str, float]
    gigabytes: dict[str, float]


def peak_gigabytes(process: int) -> float:
    """Return peak resident memory since the last call; 0 where the system does not report it."""
    status = Path(f"/proc/{process}")
    try:
        found = PEAK.search((status / "status").read_text())
        (status / "clear_refs").write_text(RESET_PEAK)
    except OSError:
        return 0.0
    return int(found.group(1)) / 2**20 if found else 0.0


def logged(process: subprocess.Popen[bytes], log: Path) -> Iterator[str]:
    """Yield lines soon after a run writes them to its log; a line that is half written waits for its rest."""
    seen = 0
    while True:
        ended = process.poll() is not None
        whole, _, _ = (log.read_text("utf-8") if log.is_file() else "")[seen:].rpartition("\n")
        yield from whole.splitlines()
        seen += len(whole)
        if ended:
            return
        time.sleep(LOOKS)


def timed_run(extra: str, data_root: str) -> Stages:
    """Run the main job once and return its stages."""
    params = ",".join([f"data_root={data_root}", *([extra] if extra else [])])
    environment = {**os.environ, "FEDTEXT_PROGRESS": "0"}
    process = subprocess.Popen(
        [str(KEDRO), "run", "--params", params], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL
    )
    stages = Stages(defaultdict(float), defaultdict(float))
    stage, began = "start", time.perf_counter()
    for line in logged(process, Path(data_root, STORE, LOG_FILE)):
        if found := NODE.search(line):
            now = time.perf_counter()
            stages.seconds[stage] += now - began
            stages.gigabytes[stage] = max(stages.gigabytes[stage], peak_gigabytes(process.pid))
            stage, began = found.group(1), now
        elif "Ran " in line:  # the process is still there; at the end of its output it is not
            stages.gigabytes[stage] = peak_gigabytes(process.pid)
    stages.seconds[stage] += time.perf_counter() - began
    if process.wait():
        raise SystemExit(f"kedro run failed with exit code {process.returncode}")
    return stages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--params", default="")
    parser.add_argument("--data-root")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as fresh:
        stages = timed_run(chosen.params, chosen.data_root or fresh)
    seconds, peak = sum(stages.seconds.values()), max(stages.gigabytes.values())
    for name, spent in sorted(stages.seconds.items(), key=lambda item: -item[1]):
        print(f"{spent:8.1f} s  {spent / seconds:5.1%}  {stages.gigabytes[name]:5.2f} GiB  {name}")
    print(f"{seconds:8.1f} s in all, {peak:.2f} GiB at the peak")
    out = ROOT / "build" / "benchmarks" / "main_job.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    found = {"seconds": seconds, "peak_gigabytes": peak, "stages": stages.seconds, "peaks": stages.gigabytes}
    out.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()

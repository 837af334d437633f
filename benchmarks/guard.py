"""What the guard costs a node that reads private data: its checks around a node that does nothing.

    python -m benchmarks.guard [FILES]

The working folder is this project, the data root a new one with FILES files (10,000 by default) in a hundred folders.
A run pays it once for each of its nodes that read or write private data.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from fedtext.wiring.guard.left_behind import FolderSnapshot
from fedtext.wiring.guard.side_effects import watched
from fedtext.wiring.guard.watch import Watch

REPEATS = 50
FOLDERS = 100


def main(files: int) -> None:
    """Print CPU and wall milliseconds of a node: of the first, which loads libraries, and of the others."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for number in range(files):
            path = root / f"{number % FOLDERS}/private_{number}"
            path.parent.mkdir(exist_ok=True)
            path.touch()
        surroundings = FolderSnapshot(root, Path.cwd())
        watch = Watch(who="a node", reads_private=True, may_read=True, data_root=root)
        taken = []
        for _ in range(REPEATS + 1):
            cpu, wall = time.process_time(), time.perf_counter()
            with watched(watch, surroundings):
                pass
            taken.append((1000 * (time.process_time() - cpu), 1000 * (time.perf_counter() - wall)))
    first, *others = taken
    print(f"first node: {first[0]:.0f} ms of a processor, {first[1]:.0f} ms in all")
    cpus, walls = zip(*others, strict=True)
    print(f"median of {REPEATS}: {statistics.median(cpus):.1f} ms of a processor, {statistics.median(walls):.1f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)

"""Measure a LargeFedBench build: memory, linearity, and documents a second against a plain implementation.

    python -m benchmarks.largefedbench_build ratio                # the same pages both ways, interleaved, same chunks
    python -m benchmarks.largefedbench_build scale --copies 158   # up to 134,000 speeches and 72,000 abstracts
    python -m benchmarks.largefedbench_build million --engine ray # a million documents, over processes or over Ray

Raw pages are the real ones (../shared, or --shared DIR), repeated with other dates and other words
(`largefedbench_pages`). The plain implementation (`largefedbench_plain`) does less: it hashes no page, keeps no counts
of turns, splits no clients and verifies nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import psutil

from benchmarks.largefedbench_pages import make_raw
from benchmarks.largefedbench_plain import plain_build
from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.snapshot import MANIFEST, provenance, read_table
from fedtext.largefedbench.tokens import ChunkTokenizer, load_tokenizer, words_of
from fedtext.models.language_model import bundled
from fedtext.params.largefedbench import LargeFedBench
from fedtext.system.engine import Engine, InProcess, computing_on, over_processes
from tests.parameters import conf_base

COMPARED = ["client_id", "index", "text", "n_tokens"]


def ratio(shared: Path, work: Path, copies: int, repeats: int, processes: int) -> dict[str, Any]:
    """Return documents a second of CPU time (of wall time, if more than one process), interleaved `repeats` times."""
    from transformers import AutoTokenizer

    raw = make_raw(shared, work / "raw", copies, 800 * copies)
    source = bundled("generator")
    slow = AutoTokenizer.from_pretrained(source)
    clock = time.process_time if processes == 1 else time.perf_counter
    seconds: dict[str, list[float]] = {"plain": [], "ours": []}
    for repeat in range(repeats):
        clients, took = _timed(clock, lambda: plain_build(raw, slow, work / "plain.parquet"))
        seconds["plain"].append(took)
        fast = load_tokenizer(source)
        words_of.cache_clear()  # it knows no word yet
        params = conf_base(LargeFedBench, snapshot=f"r{repeat}", near_duplicates="ignore")
        snapshot, took = _timed(clock, lambda p=params, f=fast: _built(processes, p, f, raw, work / "o"))
        seconds["ours"].append(took)
        _same_chunks(work / "plain.parquet", snapshot, clients)
    speed = {name: clients / min(took) for name, took in seconds.items()}
    return {
        "documents": clients,
        "clock": clock.__name__,
        "processes": processes,
        "seconds": seconds,
        "documents_a_second": speed,
        "ratio": speed["ours"] / speed["plain"],
    }


def _built(
    processes: int, params: LargeFedBench, tokenizer: ChunkTokenizer, raw: Path, out: Path, name: str = "processes"
) -> Path:
    """Build over so many processes, or so many of Ray's workers, their start included."""
    with _engine(name, processes, out) as engine, computing_on(engine):
        return build_snapshot(params, tokenizer, raw_dir=raw, out_dir=out)


def _engine(name: str, workers: int, out: Path) -> AbstractContextManager[Engine]:
    if name == "ray":
        from fedtext.system.ray_engine import over_ray

        return over_ray(workers, None, out / "spill")
    return nullcontext(InProcess()) if workers == 1 else over_processes(workers)


class Together(threading.Thread):
    """The most memory that this process and all that it started had together, while it was watched.

    Shared pages count once (proportional set sizes). Ray's own servers are among what was started.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak: dict[str, int] = {"all": 0, "workers_and_main": 0}
        self._over = threading.Event()

    def run(self) -> None:
        """Sample until `stop`."""
        while not self._over.wait(0.5):
            sizes = dict(self._sizes())
            own = sum(size for name, size in sizes.items() if name[1])
            self.peak = {
                "all": max(self.peak["all"], sum(sizes.values())),
                "workers_and_main": max(self.peak["workers_and_main"], own),
            }

    def _sizes(self) -> Iterator[tuple[tuple[int, bool], int]]:
        """Yield ((process, whether it builds), bytes)."""
        main = psutil.Process()
        for one in [main, *main.children(recursive=True)]:
            try:
                command = " ".join(one.cmdline())
                builds = one == main or "ray::" in command or "multiprocessing.spawn" in command
                yield (one.pid, builds), one.memory_full_info().pss
            except psutil.Error:
                continue

    def stop(self) -> dict[str, int]:
        """Return the peaks in MiB."""
        self._over.set()
        self.join()
        return {name: round(size / 2**20) for name, size in self.peak.items()}


def _timed(clock: Callable[[], float], work: Callable[[], Any]) -> tuple[Any, float]:
    started = clock()
    result = work()
    return result, clock() - started


def _same_chunks(plain: Path, snapshot: Path, clients: int) -> None:
    """Check that both made the same chunks of the same clients, to the letter."""
    import pandas as pd

    configs = provenance(snapshot)["configs"]
    ours = pd.concat([read_table(snapshot, one, "chunks").to_pandas()[COMPARED] for one in configs])
    tables = [
        table.sort_values(["client_id", "index"], ignore_index=True).astype({"index": int, "n_tokens": int})
        for table in (pd.read_parquet(plain), ours)
    ]
    pd.testing.assert_frame_equal(*tables, check_dtype=False)
    assert clients == sum(split["clients"] for splits in configs.values() for split in splits.values())


def scale(shared: Path, work: Path, copies: int, processes: int) -> dict[str, Any]:
    """Return wall and CPU seconds and peak memory of builds of a quarter, a half and all of `copies`."""
    measured = []
    for part in (copies // 4, copies // 2, copies):
        root = work / f"part{part}"
        raw = make_raw(shared, root / "raw", part, int(72_000 * part / 158))
        command = [
            sys.executable,
            "-m",
            "benchmarks.largefedbench_build",
            "one",
            "--work",
            str(root),
            "--processes",
            str(processes),
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        measured.append({"copies": part, **json.loads(done.stdout.splitlines()[-1])})
        print(json.dumps(measured[-1]), flush=True)
        shutil.rmtree(raw)
    return {"processes": processes, "measured": measured}


MILLION = {"copies": 770, "abstracts": 350_000}


def million(shared: Path, root: Path, processes: int, engine: str) -> dict[str, Any]:
    """Build about a million documents, whose pages are written to `root` unless they are there."""
    if not (root / "raw").exists():
        make_raw(shared, root / "raw", MILLION["copies"], MILLION["abstracts"])
    return one(root, processes, engine)


def one(root: Path, processes: int, engine: str = "processes") -> dict[str, Any]:
    """Run one build in this process; return its cost and its peak memory (and that of its largest worker)."""
    tokenizer = load_tokenizer(bundled("generator"), name="bundled:generator")
    params = conf_base(LargeFedBench, snapshot=f"s-{engine}", near_duplicates="report")  # of copies many resemble
    together = Together()
    together.start()
    started = time.perf_counter()
    snapshot = _built(processes, params, tokenizer, root / "raw", root, engine)
    wall = time.perf_counter() - started
    peaks = together.stop()
    configs = provenance(snapshot)["configs"]
    documents = {name: sum(split["clients"] for split in splits.values()) for name, splits in configs.items()}
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(u.ru_utime + u.ru_stime for u in usage)
    return {
        "documents": documents,
        "wall_seconds": round(wall, 1),
        "cpu_seconds": round(cpu, 1),
        "cpu_milliseconds_a_document": round(1000 * cpu / sum(documents.values()), 3),
        "peak_mib": [round(u.ru_maxrss / 1024) for u in usage],
        "peak_mib_together": peaks,
        "manifest_sha256": hashlib.sha256((snapshot / MANIFEST).read_bytes()).hexdigest()[:16],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ratio", "scale", "million", "one"])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--work", type=Path, help="where pages and snapshots go; `one`, `million`: holds raw/")
    parser.add_argument("--copies", type=int, help="of the three real days; default 2 for ratio, 158 for scale")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--engine", choices=["processes", "ray"], default="processes")
    options = parser.parse_args()
    shared, processes = options.shared / "data", options.processes
    if options.what == "one":
        print(json.dumps(one(options.work, processes, options.engine)))
        return
    if options.what == "million":
        print(json.dumps(million(shared, options.work, processes, options.engine)))
        return
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        if options.what == "ratio":
            result = ratio(shared, Path(work), options.copies or 2, options.repeats, processes)
        else:
            result = scale(shared, Path(work), options.copies or 158, processes)
    print(json.dumps(result))


if __name__ == "__main__":
    main()

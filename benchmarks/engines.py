"""Measure the engines: one release's bytes and seconds in process, over two processes, and over two Ray workers.

    python -m benchmarks.engines                                    # POPri's mean features of 4,000 clients
    python -m benchmarks.engines --candidates 3000 --clients 2000   # a round of ballots
    python -m benchmarks.engines --texts 2000                       # their embeddings by the encoder that ships

Samples are made up (6.6 a client, 384 numbers each). `killed` is Ray with one worker killed half-way. Engines run under
the guard that a private node's workers have. Ray is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks import large_federation as federation
from fedtext.models.encoder import load_encoder
from fedtext.system.engine import Engine, InProcess, computing_on, over_processes, worker_processes
from fedtext.system.ray_engine import is_installed, over_ray
from fedtext.wiring.guard.watch import Watch
from fedtext.wiring.guard.workers import watched_engine

WORKERS = 2
PROCESSES = {"one process": 1, "two processes": 2}
RAY_WORKERS = ("ray::IDLE", "ray::compute")  # Ray's agents have such names too, and end a cluster with them


class Killing:
    """An engine of which one worker is killed after the first piece."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def map(self, work: Callable[[Any], Any], pieces: Iterable[Any], /) -> Iterator[Any]:
        """Implement Engine."""
        for number, result in enumerate(self._engine.map(work, pieces)):
            if number == 0:
                next(one for one in _ray_workers()).kill()
            yield result


def _ray_workers() -> Iterator[psutil.Process]:
    return (one for one in psutil.Process().children(recursive=True) if "".join(one.cmdline()).startswith(RAY_WORKERS))


@contextmanager
def started(name: str, folder: Path) -> Iterator[Engine]:
    """Yield the engine, its workers watched as those of a private node."""
    watch = Watch(who="benchmark", reads_private=True, may_read=True, data_root=folder)
    with ExitStack() as stack:
        if name == "in process":
            yield InProcess()
        elif "process" in name:
            yield watched_engine(stack.enter_context(over_processes(PROCESSES[name])), watch)
        else:
            engine = watched_engine(stack.enter_context(over_ray(WORKERS, None, folder / "spill")), watch)
            yield Killing(engine) if "killed" in name else engine


def _since(began: float) -> float:
    return round(time.perf_counter() - began, 1)


def _cpu_seconds() -> float:
    """Return the processor seconds of this process and of the workers, so far."""
    alive = [os.getpid(), *filter(psutil.pid_exists, worker_processes())]
    return sum(sum(psutil.Process(one).cpu_times()[:2]) for one in alive)


def measured(name: str, release: Callable[[], bytes], folder: Path, repeats: int = 1) -> tuple[bytes, dict[str, Any]]:
    """Return the release's bytes, and what the engine costs: its start, the first release, and later ones' medians.

    Where a worker is killed there is one release.
    """
    began, used = time.perf_counter(), _cpu_seconds()
    with started(name, folder) as engine, computing_on(engine):
        cost: dict[str, Any] = {
            "engine": name,
            "start_s": _since(began),
            "start_cpu_s": round(_cpu_seconds() - used, 1),
        }
        turns: list[tuple[float, float]] = []
        for _ in range(1 if "killed" in name else 1 + repeats):
            began, used = time.perf_counter(), _cpu_seconds()
            found = release()
            turns.append((_since(began), round(_cpu_seconds() - used, 2)))
        cost["first_s"], cost["first_cpu_s"] = turns[0]
        if turns[1:]:
            cost["later_s"], cost["later_cpu_s"] = map(statistics.median, zip(*turns[1:], strict=True))
        alive = [psutil.Process(one) for one in worker_processes() if psutil.pid_exists(one)]
        cost["workers_mib"] = round(sum(one.memory_info().rss for one in alive) / 2**20)
    cost["own_peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return found, cost


def release_of(clients: int, candidates: int | None) -> Callable[[], bytes]:
    """Return a release of made-up clients, the same one whenever it is called."""
    samples, ledger = federation.made_up(clients, np.random.default_rng(0))
    if candidates is not None:
        federation.PROMPTS = candidates // federation.RESPONSES
    mechanism = federation.mean_features if candidates is None else federation.ballots

    def release() -> bytes:
        found: Any = mechanism(samples, ledger, np.random.default_rng(1))
        return np.asarray(found[0]).tobytes()

    return release


def embeddings_of(texts: int) -> Callable[[], bytes]:
    """Return the embedding of made-up texts of 30 words, on the CPU."""
    encoder, random = load_encoder("offline", device="cpu"), np.random.default_rng(0)
    words = ["account", "card", "transfer", "late", "question", "today", "nobody", "answers", "please", "why"]
    written = [" ".join(random.choice(words, size=30)) for _ in range(texts)]
    return lambda: encoder.encode(written).tobytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=4000)
    parser.add_argument("--candidates", type=int, help="of a round of ballots; without: the mean features")
    parser.add_argument("--texts", type=int, help="embed so many texts in place of a release")
    parser.add_argument("--repeats", type=int, default=1, help="releases after the first")
    parser.add_argument("--engines", nargs="*", default=["in process", "two processes", "Ray", "Ray, killed"])
    options = parser.parse_args()
    os.environ.setdefault("FEDTEXT_PROGRESS", "0")
    work = embeddings_of(options.texts) if options.texts else release_of(options.clients, options.candidates)
    wanted = [name for name in options.engines if "Ray" not in name or is_installed()]
    first: bytes | None = None
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            found, cost = measured(name, work, Path(folder), options.repeats)
            first = first or found
            print(json.dumps(cost | {"same_bytes": found == first}), flush=True)


if __name__ == "__main__":
    main()

"""POPri's release and a round of its ballots have the same bytes on every engine, and after a worker was killed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from fedtext.algorithms.popri.plan import planned_query
from fedtext.algorithms.popri.release import release_private_mean, score_by_ballots
from fedtext.federation import messages
from fedtext.federation.private_samples import PrivateSamples
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from fedtext.system.engine import Engine, computing_on, over_processes
from fedtext.system.ray_engine import over_ray
from fedtext.wiring.guard.watch import Watch
from fedtext.wiring.guard.workers import watched_engine
from tests.parameters import conf_base

CLIENTS, DIM, KEY = 60, 16, new_noise_key(5)
RANDOM = np.random.default_rng(0)
DECLARED = conf_base(Privacy, epsilon=8.0, delta=1e-5, noise_seed=0, noise_multiplier=2.0)


def unit_rows(count: int) -> np.ndarray:
    rows = RANDOM.normal(size=(count, DIM)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


UNIT = RANDOM.integers(0, CLIENTS, size=300)
SAMPLES = PrivateSamples(unit_rows(300), UNIT, np.zeros(300, dtype=np.int64), np.arange(CLIENTS))
CANDIDATES = unit_rows(40)


def asked(scoring: str) -> tuple[Popri, Any, Ledger]:
    sizes = {"rounds": 1, "prompts": 10, "responses": 4, "synthetic_texts": 1}
    popri = conf_base(Popri, {**sizes, "scoring": scoring, "prompt_pool": "random", "oversample": 1.0})
    round_number = 0 if scoring.startswith("witness") else 1
    query = planned_query(popri, DECLARED, CLIENTS, embedding_dim=DIM, round_number=round_number)
    return popri, query, Ledger(declaration=DECLARED, population=CLIENTS)


def mean_features() -> bytes:
    popri, query, ledger = asked("witness_rff")
    return release_private_mean(query, SAMPLES, popri, ledger, KEY)[0].tobytes()


def ballots() -> bytes:
    popri, query, ledger = asked("mean_cosine")
    label = np.zeros(len(CANDIDATES), dtype=np.int64)
    return score_by_ballots(query, SAMPLES, CANDIDATES, label, popri, ledger, KEY)[0].tobytes()


class LosingAWorker:
    """An engine over Ray, of which a worker is killed when two pieces are done."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.killed = engine, 0

    def map(self, work: Callable[[Any], Any], pieces: Iterable[Any], /) -> Iterator[Any]:
        for number, result in enumerate(self._engine.map(work, pieces)):
            if number == 1:
                workers = [p for p in psutil.Process().children(recursive=True) if "ray::" in " ".join(p.cmdline())]
                workers[0].kill()
                self.killed += 1
            yield result


@contextmanager
def engine(name: str, tmp_path: Path) -> Iterator[Engine]:
    """The engine, its workers watched as those of a node that reads private data."""
    watch = Watch(who="node 'n'", reads_private=True, may_read=False, data_root=tmp_path)
    if name == "two processes":
        with over_processes(2) as found:
            yield watched_engine(found, watch)
        return
    pytest.importorskip("ray", reason="the engine over Ray is tested where it is installed: pip install 'ray==2.60.*'")
    with over_ray(2, None, tmp_path / ".fedtext/spill") as found:
        watched = watched_engine(found, watch)
        yield LosingAWorker(watched) if "killed" in name else watched


@pytest.mark.parametrize(
    "name",
    [
        "two processes",
        pytest.param("two workers of Ray", marks=pytest.mark.slow),
        pytest.param("two workers of Ray, one of them killed", marks=pytest.mark.slow),
    ],
)
def test_release_and_ballots_have_the_same_bytes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = mean_features(), ballots()
    for bound in ("FEWEST", "MOST"):
        monkeypatch.setattr(messages, bound, 7)  # nine pieces
    assert (mean_features(), ballots()) == whole
    with engine(name, tmp_path) as found, computing_on(found):
        assert (mean_features(), ballots()) == whole
    assert not isinstance(found, LosingAWorker) or found.killed == 2

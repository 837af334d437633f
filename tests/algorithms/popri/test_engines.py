"""POPri's release and a round of its ballots have the same bytes on every engine, and after a worker was killed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from fedtext.algorithms.popri.plan import planned_query
from fedtext.algorithms.popri.release import release_private_mean, score_by_ballots
from fedtext.federation import messages
from fedtext.federation.federation import Simulated
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

RAY_WORKERS = ("ray::IDLE", "ray::compute")  # Ray's agents have such names too, and end a cluster with them
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
    sizes = {"rounds": 1, "prompts": 8, "responses": 5, "synthetic_texts": 1}
    popri = conf_base(Popri, {**sizes, "scoring": scoring, "prompt_pool": "random", "oversample": 1.0})
    round_number = 0 if scoring.startswith("witness") else 1
    query = planned_query(popri, DECLARED, CLIENTS, embedding_dim=DIM, round_number=round_number)
    return popri, query, Ledger(declaration=DECLARED, population=CLIENTS)


def mean_features() -> bytes:
    popri, query, ledger = asked("witness_rff")
    return release_private_mean(query, Simulated(SAMPLES, KEY), popri, ledger)[0].tobytes()


def ballots() -> bytes:
    popri, query, ledger = asked("mean_cosine")
    label = np.zeros(len(CANDIDATES), dtype=np.int64)
    return score_by_ballots(query, Simulated(SAMPLES, KEY), CANDIDATES, label, popri, ledger)[0].tobytes()


class LosingAWorker:
    """An engine over Ray, of which a worker is killed when two pieces are done."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.killed = engine, 0

    def map(self, work: Callable[[Any], Any], pieces: Iterable[Any], /) -> Iterator[Any]:
        for number, result in enumerate(self._engine.map(work, pieces)):
            if number == 1:
                below = psutil.Process().children(recursive=True)
                next(one for one in below if "".join(one.cmdline()).startswith(RAY_WORKERS)).kill()
                self.killed += 1
            yield result


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> tuple[bytes, bytes]:
    """What release and ballots are in one piece; from here on there are nine."""
    whole = mean_features(), ballots()
    for bound in ("FEWEST", "MOST"):
        monkeypatch.setattr(messages, bound, 7)
    return whole


def watched(engine: Engine, root: Path) -> Engine:
    """The engine, its workers watched as those of a node that reads private data."""
    return watched_engine(engine, Watch(who="node 'n'", reads_private=True, may_read=False, data_root=root))


def test_release_and_ballots_have_the_same_bytes_on_two_processes(
    in_pieces: tuple[bytes, bytes], tmp_path: Path
) -> None:
    assert (mean_features(), ballots()) == in_pieces
    with over_processes(2) as engine, computing_on(watched(engine, tmp_path)):
        assert (mean_features(), ballots()) == in_pieces


@pytest.mark.slow
def test_they_have_on_two_workers_of_ray_of_which_one_is_killed(in_pieces: tuple[bytes, bytes], tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the engine over Ray is tested where it is installed: pip install 'ray==2.60.*'")
    with over_ray(2, None, tmp_path / ".fedtext/spill") as engine:
        with computing_on(watched(engine, tmp_path)):
            assert (mean_features(), ballots()) == in_pieces
        losing = LosingAWorker(watched(engine, tmp_path))
        with computing_on(losing):
            assert (mean_features(), ballots()) == in_pieces
        assert losing.killed == 2

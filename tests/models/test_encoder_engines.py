"""Embeddings have the same bytes on every engine, computed under the watch of a node that reads private data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedtext.models import encoder as module
from fedtext.models.encoder import Encoder, load_encoder
from fedtext.models.offline_encoder import DISTRIBUTION
from fedtext.system.engine import Engine, InProcess, computing_on, over_processes
from fedtext.system.ray_engine import over_ray
from fedtext.wiring.guard.watch import Watch
from fedtext.wiring.guard.workers import watched_engine

TEXTS = [
    *(f"Sample number {i} is about {'databases ' * (i % 40)}and little else." for i in range(160)),
    "list " * 700,  # read by windows
    "",
]


class Counting:
    """An engine that counts the pieces that it is given."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.pieces = engine, 0

    def map(self, work: Callable[[Any], Any], pieces: Iterable[Any], /) -> Iterator[Any]:
        for result in self._engine.map(work, pieces):
            self.pieces += 1
            yield result


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    try:
        metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        pytest.skip("extra 'offline' is not installed")
    return load_encoder("offline", device="cpu")


@pytest.fixture
def in_pieces(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """What the embeddings are in this process; from here on a piece has four batches."""
    here = encoder.encode(TEXTS, undirected_as_zeros=True)
    monkeypatch.setattr(module, "PIECE", 4)
    return here


def on(started: AbstractContextManager[Engine], encoder: Encoder, root: Path) -> tuple[np.ndarray, int]:
    """The embeddings on an engine, and how many pieces its workers computed."""
    watch = Watch(who="node 'n'", reads_private=True, may_read=False, data_root=root)
    with started as engine:
        counting = Counting(watched_engine(engine, watch))
        with computing_on(counting):
            return encoder.encode(TEXTS, undirected_as_zeros=True), counting.pieces


@pytest.mark.slow  # each process imports torch; at every commit ballots and trainings show the same of an engine
def test_embeddings_have_the_same_bytes_on_two_processes(
    encoder: Encoder, in_pieces: np.ndarray, tmp_path: Path
) -> None:
    there, pieces = on(over_processes(2), encoder, tmp_path)
    assert pieces > 3
    assert there.tobytes() == in_pieces.tobytes()


@pytest.mark.slow
def test_they_have_on_two_workers_of_ray(encoder: Encoder, in_pieces: np.ndarray, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the engine over Ray is tested where it is installed: pip install 'ray==2.60.*'")
    there, pieces = on(over_ray(2, None, tmp_path / ".fedtext/spill"), encoder, tmp_path)
    assert pieces > 3
    assert there.tobytes() == in_pieces.tobytes()


def test_few_texts_and_a_gpu_s_stay_in_this_process(encoder: Encoder) -> None:
    counting = Counting(InProcess())
    with computing_on(counting):
        assert encoder.encode(TEXTS[:8]).shape == (8, encoder.dim)
    assert counting.pieces == 0

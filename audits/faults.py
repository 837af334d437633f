"""Planted faults: each makes the claimed epsilon false, and an audit must find it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from fedtext.algorithms.dpprefsyn import releases as dpprefsyn_releases
from fedtext.evaluation import units
from fedtext.federation import charged_release, mechanism, token_release
from fedtext.federation.units import Block
from fedtext.models.encoder import Encoder
from fedtext.pipelines.clients import nodes
from fedtext.pipelines.outputs import nodes as outputs
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey, discrete_gaussian
from fedtext.privacy.report import final_report
from fedtext.seeding import stream
from fedtext.training import federated_training, local_steps

Fault = Callable[[], AbstractContextManager[None]]
LOOSE = 8.0  # times the clip norm
FINE = 2.0**20  # deviation of noise that is scaled


@contextmanager
def unclipped() -> Iterator[None]:
    """Skip clipping, in the release mechanism and in units that clip by themselves.

    Rows are clipped at `LOOSE` times the norm: without any clip a training of several rounds overflows, and what is not
    a number tells no worlds apart.
    """
    rows_at, factor_at = mechanism.clip_rows, mechanism.clip_factor

    def kept(rows: np.ndarray, clip_norm: float) -> np.ndarray:
        return rows_at(rows, LOOSE * clip_norm)

    def kept_on_grid(rows: np.ndarray, clip: float) -> np.ndarray:
        return np.rint(rows / clip * token_release.GRID).astype(np.int64)

    def loose(row: np.ndarray, clip_norm: float) -> float:
        return factor_at(row, LOOSE * clip_norm)

    with (
        _patched("clip_rows", kept, mechanism, dpprefsyn_releases),
        _patched("clip_factor", loose, mechanism),
        _patched("on_grid", kept_on_grid, token_release),
    ):
        yield


@contextmanager
def too_little_noise(
    share: float = 0.85, concerns: Callable[[tuple[str, ...]], bool] = lambda stream: True
) -> Iterator[None]:
    """Scale the noise to `share` of the standard deviation that the ledger records, of the streams it `concerns`."""

    def drawn(key: NoiseKey, *, stddev_on_grid: float, size: int, stream: tuple[str, ...]) -> np.ndarray:
        scaled = stddev_on_grid * (share if concerns(stream) else 1.0)
        return discrete_gaussian(key, stddev_on_grid=scaled, size=size, stream=stream)

    with patch.object(charged_release, "discrete_gaussian", drawn):
        yield


def shared_among_silos(silos: int = 2) -> AbstractContextManager[None]:
    """Let silos split one noise among their steps, although an attacker sees each step and not only their sum."""
    return too_little_noise(silos**-0.5, _is_step)


def _is_step(stream: tuple[str, ...]) -> bool:
    """Return whether the noise is that of a step (fedtext.federation.noisy_steps)."""
    return stream[2].startswith("step ")


@contextmanager
def one_noise(named: Callable[[str, int], str]) -> Iterator[None]:
    """Draw the noise of steps from a name of the release and its step (from 0), and from nothing else."""

    def drawn(key: NoiseKey, *, stddev_on_grid: float, size: int, stream: tuple[str, ...]) -> np.ndarray:
        if not _is_step(stream):
            return discrete_gaussian(key, stddev_on_grid=stddev_on_grid, size=size, stream=stream)
        name = named(stream[0], int(stream[2].removeprefix("step ")) - 1)
        common = discrete_gaussian(key, stddev_on_grid=FINE, size=size, stream=(name,))
        return np.rint(common * (stddev_on_grid / FINE)).astype(np.int64)

    with patch.object(charged_release, "discrete_gaussian", drawn):
        yield


@contextmanager
def seeded_by_rank() -> Iterator[None]:
    """Make a client's code its rank among the sorted ids, so that a removed client changes all later ones."""

    def ranks(ids: Sequence[str]) -> np.ndarray:
        return np.unique(np.asarray(ids, dtype=object), return_inverse=True)[1].astype(np.int64)

    with _patched("unit_codes", ranks, nodes, units):
        yield


@contextmanager
def embedded_in_company(size: float = 2e-3, batch: int = 8) -> Iterator[None]:
    """Let the last bits of an embedding depend on its batch, as bfloat16 products of padded batches do.

    The error is random here, and not left to this machine's products, so that the fault is the same everywhere; up to
    0.0066 an entry was measured where it happened.
    """
    alone = Encoder.encode

    def encode(encoder: Encoder, texts: Sequence[str], **given: Any) -> np.ndarray:
        rows, order = alone(encoder, texts, **given), sorted(range(len(texts)), key=lambda i: (len(texts[i]), texts[i]))
        for first in range(0, len(order), batch):
            beside = order[first : first + batch]
            drawn = stream(0, "company", *(texts[i] for i in beside)).normal(0.0, size, rows[beside].shape)
            rows[beside] += drawn.astype(np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    with patch.object(Encoder, "encode", encode):
        yield


@contextmanager
def embedded_by_batch_statistics(batch: int = 4) -> Iterator[None]:
    """Subtract the mean of its batch from every embedding, as a normalisation left in training mode does."""
    alone = Encoder.encode

    def encode(encoder: Encoder, texts: Sequence[str], **given: Any) -> np.ndarray:
        rows = alone(encoder, texts, **given)
        for first in range(0, len(rows), batch):
            rows[first : first + batch] -= rows[first : first + batch].mean(axis=0)
        return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6), dtype=np.float32)

    with patch.object(Encoder, "encode", encode):
        yield


@contextmanager
def trained_in_company() -> Iterator[None]:
    """Let all clients draw the order of their batches from one random stream, one client after another."""

    def coupled(train: Callable[..., Iterator[Block]]) -> Callable[..., Iterator[Block]]:
        def updates(*given: Any, seed: int) -> Iterator[Block]:
            common = stream(seed, "all clients")
            with patch.object(local_steps, "stream", lambda *_: common):
                yield from list(train(*given, seed=seed))

        return updates

    with _patched("client_updates", coupled(federated_training.client_updates), federated_training):
        yield


@contextmanager
def last_release_uncharged() -> Iterator[None]:
    """Drop the last release from the ledger before the report."""

    def report(ledger: Ledger, *given: Any) -> tuple[dict[str, Any], str]:
        return final_report(ledger.model_copy(update={"releases": ledger.releases[:-1]}), *given)

    with _patched("final_report", report, outputs):
        yield


@contextmanager
def _patched(name: str, value: object, *modules: Any) -> Iterator[None]:
    with ExitStack() as stack:
        for module in modules:
            stack.enter_context(patch.object(module, name, value))
        yield

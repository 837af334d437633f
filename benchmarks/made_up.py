"""Simulated embeddings and clients for benchmarks: only their number and shape matter to speed and memory."""

from __future__ import annotations

import numpy as np

DIM = 384
_BLOCK = 10_000


def unit_rows(random: np.random.Generator, n: int) -> np.ndarray:
    """Return unit rows around a common direction, as sentence embeddings are; made in blocks to limit peak memory."""
    rows = np.empty((n, DIM), dtype=np.float32)
    for first in range(0, n, _BLOCK):
        block = random.standard_normal((min(_BLOCK, n - first), DIM), dtype=np.float32) + np.float32(0.3)
        rows[first : first + _BLOCK] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return rows


def clients_of(random: np.random.Generator, samples: int, clients: int) -> np.ndarray:
    """Return a client for each sample; every client has at least one."""
    return np.sort(np.concatenate([np.arange(clients), random.integers(0, clients, samples - clients)]))

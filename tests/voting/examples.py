"""Small federations, and the definitions of the papers written out one client at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Federation(NamedTuple):
    embeddings: np.ndarray
    client_index: np.ndarray
    n_clients: int
    candidates: np.ndarray


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def federation(
    seed: int, *, clients: int = 30, candidates: int = 40, dim: int = 16, dtype: str = "float32"
) -> Federation:
    """Unit embeddings around a common direction, as sentence embeddings are; some clients have no sample."""
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 6, size=clients)
    sizes[0], sizes[-1] = 0, 4
    shift = np.full(dim, 0.3)
    index = random.permutation(np.repeat(np.arange(clients), sizes))
    samples = unit(random.standard_normal((len(index), dim)) + shift)
    texts = unit(random.standard_normal((candidates, dim)) + shift)
    return Federation(samples.astype(dtype), index, clients, texts.astype(dtype))


def cosine_ballots(data: Federation, centre: str, responses: int, clip_norm: float) -> np.ndarray:
    """Algorithm 4 as printed: mean over a client's samples of the cosine with each candidate, clipped."""
    ballots = np.zeros((data.n_clients, len(data.candidates)))
    for client in range(data.n_clients):
        mine = data.embeddings[data.client_index == client].astype(np.float64)
        if not len(mine):
            continue
        for j, candidate in enumerate(data.candidates.astype(np.float64)):
            ballots[client, j] = np.mean([e @ candidate / np.linalg.norm(e) / np.linalg.norm(candidate) for e in mine])
        if centre == "all":
            ballots[client] -= ballots[client].mean()
        if centre == "prompt":
            for first in range(0, len(data.candidates), responses):
                ballots[client, first : first + responses] -= ballots[client, first : first + responses].mean()
        ballots[client] /= max(1.0, np.linalg.norm(ballots[client]) / clip_norm)
    return ballots


def nearest_ballots(data: Federation, clip_norm: float) -> np.ndarray:
    """Private Evolution's histogram, one sample at a time."""
    ballots = np.zeros((data.n_clients, len(data.candidates)))
    for sample, client in zip(data.embeddings, data.client_index, strict=True):
        ballots[client, int(np.argmax([sample @ candidate for candidate in data.candidates]))] += 1
    norms = np.linalg.norm(ballots, axis=1, keepdims=True)
    return ballots / np.maximum(1.0, norms / clip_norm)

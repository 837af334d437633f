"""Who takes part in a round: everybody, each with the same probability, a fixed number, or whose turn it is."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from fedtext.params.privacy import Sampling
from fedtext.privacy.noise import NoiseKey, keyed_bytes


def participants(
    n: int,
    *,
    sampling: Sampling,
    clients_per_round: int | None,
    key: NoiseKey,
    stream: tuple[str, ...],
) -> Int[np.ndarray, " participant"]:
    """Indices, ascending, of the clients of `n` that take part in the release that `stream` names.

    `poisson` takes each client on its own with probability clients_per_round / n, so that their number varies and may
    be zero (the release is then pure noise); `fixed_size` takes exactly `clients_per_round` of them. They are different
    mechanisms and are priced differently. Sampling helps privacy only as long as nobody knows who was drawn: the run's
    secret draws. Composition takes draws to be independent, so the stream must name all that tells two releases apart:
    had two of them the same clients, both together would cost what one release of twice the square would.

    Raises:
        ValueError: no clients, or a `clients_per_round` that is missing or larger than `n` where sampling needs it.
    """
    if n < 1:
        raise ValueError(f"participants of {n} clients: at least one is needed")
    if sampling == "full":
        return np.arange(n)
    if clients_per_round is None or not 1 <= clients_per_round <= n:
        raise ValueError(
            f"clients_per_round {clients_per_round} with {sampling} sampling: give a number from 1 to {n}, "
            "or set sampling to full"
        )
    lots = _lots(n, key, stream)
    if sampling == "poisson":
        return np.flatnonzero(lots < clients_per_round / n)
    return np.sort(np.argsort(lots, kind="stable")[:clients_per_round])


def scheduled(n: int, *, separation: int, round: int, key: NoiseKey) -> Int[np.ndarray, " participant"]:
    """Indices, ascending, of the clients of `n` whose turn it is in `round`, counted from 1.

    Everybody takes part once in `separation` rounds, always in the same place of the cycle, so that a client's rounds
    are never closer. Who is in which place the run's secret draws, but nothing relies on that: no amplification by
    sampling is claimed.

    Raises:
        ValueError: fewer clients than rounds in a cycle, one of which would be empty, or a round before the first.
    """
    if not 1 <= separation <= n:
        raise ValueError(f"separation {separation} with {n} clients: give a number from 1 to {n}")
    if round < 1:
        raise ValueError(f"round {round}: rounds of a schedule count from 1")
    order = np.argsort(_lots(n, key, ("schedule",)), kind="stable")
    return np.sort(order[(round - 1) % separation :: separation])


def _lots(n: int, key: NoiseKey, stream: tuple[str, ...]) -> Float[np.ndarray, " client"]:
    """One uniform number in [0, 1) a client."""
    words = np.frombuffer(keyed_bytes(key, 8 * n, ("participation", str(n), *stream)), dtype="<u8")
    return (words >> np.uint64(11)) * 2.0**-53

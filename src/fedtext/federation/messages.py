"""The sampled units' messages, added up piece by piece, wherever the pieces are computed (fedtext.system.engine).

A piece is a stretch of the sampled units, by ascending code, with their samples; the width of a message alone fixes its
size. A message depends on its own unit alone, and sums of integers modulo 2^64 are the same in any order. So neither
the pieces nor the place where they are computed change a bit of a sum. The run's secret travels with them, since each
unit's rounding randomness comes from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Int64

from fedtext.federation.charged_release import HolderNoise
from fedtext.federation.mechanism import PlannedSum, client_messages, summed_messages
from fedtext.federation.private_samples import Messages, PrivateSamples, sums_by_holder
from fedtext.federation.units import Block
from fedtext.privacy.noise import NoiseKey
from fedtext.system.engine import current

BlocksOf = Callable[[PrivateSamples], Iterable[Block]]
R = TypeVar("R")
NUMBERS = 2**24  # in a piece's messages
FEWEST, MOST = 64, 2048  # units in a piece: enough to be worth its way, and few enough to be spread


class Piece(NamedTuple):
    """Some of the sampled units, and their samples."""

    samples: PrivateSamples
    sampled: Int64[np.ndarray, " unit"]


@dataclass(frozen=True)
class Request:
    """What the sampled units are asked to send.

    Attributes:
        blocks_of: Computes the contributions of units from their samples, not yet clipped, at most one row a unit.
        plan: The plan of the sum.
        key: The run's secret.
        stream: The name of the sum, which names rounding randomness.
    """

    blocks_of: BlocksOf
    plan: PlannedSum
    key: NoiseKey
    stream: tuple[str, ...]

    @property
    def dim(self) -> int:
        """Width of a message."""
        return self.plan.query.dim

    def messages(self, piece: Piece) -> Messages:
        """Return the code and message of each unit of the piece."""
        return client_messages(self.blocks_of(piece.samples), self.plan, piece.sampled, self.key, self.stream)


def message_sum(
    request: Request, samples: PrivateSamples, sampled: Int64[np.ndarray, " unit"]
) -> Int64[np.ndarray, " dim"]:
    """Return the sum of the sampled units' messages, modulo 2^64.

    Raises:
        ValueError: the errors of `fedtext.federation.mechanism.client_messages`.
    """
    total = np.zeros(request.dim, dtype=np.int64)
    for part in _over_pieces(partial(_summed, request), request, samples, sampled):
        total += part
    return total


def holder_sums(
    request: Request, samples: PrivateSamples, sampled: Int64[np.ndarray, " unit"]
) -> Iterator[dict[int, Int64[np.ndarray, " dim"]]]:
    """Yield the sums of the messages of some units by their data holder, until all sampled units are in one."""
    return _over_pieces(partial(_summed_by_holder, request), request, samples, sampled)


def noised_sums(
    request: Request, samples: PrivateSamples, sampled: Int64[np.ndarray, " unit"], noise: HolderNoise
) -> Iterator[Int64[np.ndarray, " dim"]]:
    """Yield the sums of some units' messages, each with the unit's own noise, until all sampled units are in one."""
    return _over_pieces(partial(_noised, request, noise), request, samples, sampled)


def _over_pieces(
    work: Callable[[Piece], R], request: Request, samples: PrivateSamples, sampled: Int64[np.ndarray, " unit"]
) -> Iterator[R]:
    units = min(max(NUMBERS // request.dim, FEWEST), MOST)
    return current().map(work, (Piece(own, some) for some, own in samples.in_pieces(sampled, units)))


def _summed(request: Request, piece: Piece) -> Int64[np.ndarray, " dim"]:
    return summed_messages(request.blocks_of(piece.samples), request.plan, piece.sampled, request.key, request.stream)


def _summed_by_holder(request: Request, piece: Piece) -> dict[int, Int64[np.ndarray, " dim"]]:
    return sums_by_holder(request.messages(piece), piece.samples)


def _noised(request: Request, noise: HolderNoise, piece: Piece) -> Int64[np.ndarray, " dim"]:
    held = piece.samples.digests_of(piece.samples.unit)
    return noise.sum_of(request.messages(piece), request.dim, held)

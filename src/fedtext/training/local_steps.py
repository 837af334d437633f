"""Local training steps of each client: its batches and their shape, which depend on no other client.

A matrix product may round differently in another shape, which in bfloat16 is visible. A client is therefore computed
in a shape that its own rows determine: rows per step and positions per row, both rounded up so that there are few
shapes. Clients of one shape fill groups with a fixed number of slots; missing clients, rows and tokens are filled up
with `NO_TOKEN`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int, Int64

from fedtext.params.federated import LocalTraining
from fedtext.seeding import stream

NO_TOKEN = -1
NO_ROW = -1
# Positions come in multiples of it. With 16 of them, whatever a model whose sizes are multiples of four computes for a
# client fills whole vector registers: no slot's last numbers fall to the scalar code that ends a loop and may round
# otherwise. Of other models `fedtext.training.client_gradients.slots_are_alike` finds out.
POSITIONS = 16


@dataclass(frozen=True)
class LocalSteps:
    """Local training of one client.

    Attributes:
        code: The client's code.
        rows: Row indices of every step, `NO_ROW` where the last step of an epoch has fewer.
        positions: Number of tokens that a row shows the model, `NO_TOKEN` included.
    """

    code: int
    rows: Int[np.ndarray, "step place"]
    positions: int

    @property
    def shape(self) -> tuple[int, int]:
        """Shape that clients in one call must share."""
        return self.rows.shape[1], self.positions


def local_steps(
    tokens: Int[np.ndarray, "row position"], client: Int64[np.ndarray, " row"], local: LocalTraining, seed: int
) -> Iterator[LocalSteps]:
    """Yield the steps of each client that has a row, by increasing code; `seed` and the code determine its shuffles."""
    lengths = (tokens >= 0).sum(axis=1)
    rows = np.argsort(client, kind="stable")
    codes, first = np.unique(client[rows], return_index=True)
    for code, own in zip(codes.tolist(), np.split(rows, first[1:]), strict=False):
        yield LocalSteps(code, _shuffled(own, local, seed, code), positions_of(int(lengths[own].max())))


def _shuffled(
    rows: Int[np.ndarray, " row"], local: LocalTraining, seed: int, code: int
) -> Int[np.ndarray, "step place"]:
    places = min(local.batch_size, 1 << (len(rows) - 1).bit_length())  # no more than the next power of two
    drawn = stream(seed, "local training", code)
    missing = np.full(-len(rows) % places, NO_ROW)
    orders = [np.append(rows[drawn.permutation(len(rows))], missing) for _ in range(local.epochs)]
    return np.concatenate(orders).reshape(-1, places)


def positions_of(longest: int) -> int:
    """Return the positions that a unit with a longest row of `longest` tokens is computed in; the last is not shown."""
    return max(-(-(longest - 1) // POSITIONS), 1) * POSITIONS


def groups_of_one_shape(clients: Iterator[LocalSteps], slots: int) -> list[list[LocalSteps]]:
    """Group clients of one shape, at most `slots` a group, sorted by decreasing number of steps."""
    alike: dict[tuple[int, int], list[LocalSteps]] = defaultdict(list)
    for own in clients:
        alike[own.shape].append(own)
    for same in alike.values():
        same.sort(key=lambda own: len(own.rows), reverse=True)
    return [same[first : first + slots] for same in alike.values() for first in range(0, len(same), slots)]


def shown_tokens(
    tokens: Int[np.ndarray, "row position"], group: list[LocalSteps], slots: int
) -> Int64[np.ndarray, "step slot place shown"]:
    """Return the tokens of each step of a group in `slots` slots; finished clients and empty slots show no token."""
    places, positions = group[0].shape
    shown = np.full((len(group[0].rows), slots, places, positions + 1), NO_TOKEN, dtype=np.int64)
    for slot, own in enumerate(group):
        found = tokens[own.rows, : positions + 1]
        shown[: len(found), slot, :, : found.shape[-1]] = np.where(own.rows[..., None] == NO_ROW, NO_TOKEN, found)
    return shown

"""Which rows a client takes at each step of its own training, and in which shape: no other client has a say in either.

A matrix product may round otherwise in another shape, and in bfloat16 that shows. So a client is computed in a shape
that its own rows decide: places a step and positions a place, both rounded up so that there are few shapes. Clients of
one shape fill groups of a fixed number of slots; what is missing, clients, rows and tokens, is filled with `NO_TOKEN`.
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
        code: Of the client.
        rows: Row numbers of every step, `NO_ROW` where the last step of an epoch has fewer.
        positions: How many tokens a row shows the model, `NO_TOKEN` included.
    """

    code: int
    rows: Int[np.ndarray, "step place"]
    positions: int

    @property
    def shape(self) -> tuple[int, int]:
        """What must be alike in clients that share a call."""
        return self.rows.shape[1], self.positions


def local_steps(
    tokens: Int[np.ndarray, "row position"], client: Int64[np.ndarray, " row"], local: LocalTraining, seed: int
) -> Iterator[LocalSteps]:
    """Steps of each client that has a row, by rising code; `seed` and its code decide how it shuffles."""
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
    """How many positions a unit is computed in whose longest row has `longest` tokens; the last one is not shown."""
    return max(-(-(longest - 1) // POSITIONS), 1) * POSITIONS


def groups_of_one_shape(clients: Iterator[LocalSteps], slots: int) -> list[list[LocalSteps]]:
    """Groups of at most `slots` clients of one shape, those of like numbers of steps together, by falling numbers."""
    alike: dict[tuple[int, int], list[LocalSteps]] = defaultdict(list)
    for own in clients:
        alike[own.shape].append(own)
    for same in alike.values():
        same.sort(key=lambda own: len(own.rows), reverse=True)
    return [same[first : first + slots] for same in alike.values() for first in range(0, len(same), slots)]


def shown_tokens(
    tokens: Int[np.ndarray, "row position"], group: list[LocalSteps], slots: int
) -> Int64[np.ndarray, "step slot place shown"]:
    """Tokens of each step of a group in `slots` slots; clients that are done, and slots without one, show none."""
    places, positions = group[0].shape
    shown = np.full((len(group[0].rows), slots, places, positions + 1), NO_TOKEN, dtype=np.int64)
    for slot, own in enumerate(group):
        found = tokens[own.rows, : positions + 1]
        shown[: len(found), slot, :, : found.shape[-1]] = np.where(own.rows[..., None] == NO_ROW, NO_TOKEN, found)
    return shown

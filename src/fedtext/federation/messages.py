"""What each unit sends to a door: its clipped contribution on the grid, by coins of its own, or zeros."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
from jaxtyping import Float, Int, Int64

from fedtext.federation.blocks import Block
from fedtext.federation.mechanism import PlannedSum
from fedtext.privacy.clipping import clip_rows, positive_parts
from fedtext.privacy.noise import NoiseKey, keyed_bytes
from fedtext.privacy.quantisation import randomly_rounded
from fedtext.system.errors import InputError
from fedtext.system.threads import arrays_over_cores

_CELLS = 2**18  # coordinates that are clipped and rounded in one go
# Coordinates of a message that is worth a core of its own, and of which memory holds a few for each core.
_LONG = range(2**16, 2**22)


def client_messages(
    blocks: Iterable[Block],
    plan: PlannedSum,
    asked: Int[np.ndarray, " unit"],
    key: NoiseKey,
    stream: tuple[str, ...],
) -> Iterator[tuple[int, Int64[np.ndarray, " dim"]]]:
    """Each asked unit's code and message, one a unit; those of whom there is no row come last, with zeros.

    A message depends on the unit's own row and code, `stream` and the run's secret alone. Where the query says that
    nobody may lower the sum, a coordinate below 0 counts as 0 before the row is clipped; rounding to the grid keeps
    the sign, so the message has no negative coordinate either.

    Raises:
        ValueError: a block is not `plan.query.dim` wide, or a unit contributes that was not asked, or twice.
    """
    waiting = set(asked.tolist())
    for unit, message in _sent(blocks, plan, key, stream):
        if unit not in waiting:
            raise InputError(f"{plan.query.name}: a client contributes that was not asked, or contributes twice")
        waiting.remove(unit)
        yield unit, message
    nothing = np.zeros(plan.query.dim, dtype=np.int64)
    for unit in sorted(waiting):
        yield unit, nothing


def leaving(total: Int64[np.ndarray, " dim"], step: float) -> Float[np.ndarray, " dim"]:
    """The noised sum as it leaves the door: a multiple of the grid's step in every coordinate."""
    return np.asarray(total * step)


def receipt(key: NoiseKey, stream: tuple[str, ...]) -> str:
    """A name for what leaves, the same for the same noised sum; without the key it says nothing about it."""
    return keyed_bytes(key, 16, ("receipt", *stream)).hex()


def _sent(
    blocks: Iterable[Block], plan: PlannedSum, key: NoiseKey, stream: tuple[str, ...]
) -> Iterator[tuple[int, Int64[np.ndarray, " dim"]]]:
    query = plan.query
    for block in blocks:
        if block.rows.ndim != 2 or block.rows.shape != (len(block.unit), query.dim):
            raise InputError(
                f"{query.name}: a block of shape {block.rows.shape} of {len(block.unit)} clients; rows of "
                f"{query.dim} numbers were declared"
            )
        rows = max(1, _CELLS // query.dim)  # a few at a time: working memory in the cache, whatever a block's size
        pieces = [
            Block(block.unit[at : at + rows], block.rows[at : at + rows]) for at in range(0, len(block.rows), rows)
        ]
        taken = arrays_over_cores if query.dim in _LONG else map
        for some in taken(partial(_on_grid, plan=plan, key=key, stream=stream), pieces):
            yield from some


def _on_grid(
    block: Block, plan: PlannedSum, key: NoiseKey, stream: tuple[str, ...]
) -> list[tuple[int, Int64[np.ndarray, " dim"]]]:
    """Each unit of a small block and its message."""
    said = positive_parts(block.rows) if plan.query.non_negative else block.rows
    clipped = clip_rows(said, plan.query.clip_norm)
    return [
        (unit, randomly_rounded(row[None], plan.step, _coins(key, (*stream, str(unit))))[0])
        for unit, row in zip(block.unit.tolist(), clipped, strict=True)
    ]


def _coins(key: NoiseKey, stream: tuple[str, ...]) -> np.random.Generator:
    """Stands for a client's own coin tosses."""
    return np.random.Generator(np.random.SFC64(int.from_bytes(keyed_bytes(key, 16, ("rounding", *stream)), "big")))

"""The door for what pairs contribute: a unit's mean over its pairs, planned queries, and the ledger so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float, Shaped

from fedtext.algorithms.dpprefsyn.budget import Plan
from fedtext.federation.blocks import Block
from fedtext.federation.digest import digest
from fedtext.federation.noised_steps import Ask, noised_steps
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.secure_sum import BlocksOf, answer
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.voting.ballots import client_mean_blocks

CELLS = 2**22  # numbers in a block of contributions: 32 MB
Contribution = Callable[[Float[np.ndarray, "pair dim"]], Float[np.ndarray, "pair part"]]


def unit_means(
    held: PrivateSamples, contribution: Contribution | None = None, *, heads: int = 1, width: int
) -> Iterator[Block]:
    """What units that hold pairs send, unclipped: the mean over a unit's pairs, in the block of each pair's head.

    A mean is no longer than the longest of what it is made of. `held.label` is a pair's head; a pair of head -1 adds
    nothing, and counts among its unit's pairs.

    Args:
        held: Pairs, `features` as they are or as `contribution` maps them.
        contribution: Maps rows of features, each by itself.
        heads: How many blocks a row has.
        width: Of the whole row.
    """
    units, index = np.unique(held.unit, return_inverse=True)
    block = max(1, min(256, CELLS // width))
    first = 0
    for rows in client_mean_blocks(
        held.features, index, len(units), features=contribution, label=held.label, classes=heads, block=block
    ):
        if len(rows):
            yield Block(units[first : first + len(rows)], np.asarray(rows, dtype=np.float64))
        first += len(rows)


class Door:
    """Asks what was planned, release after release, and keeps the ledger that has paid for them.

    All parameters and all public arrays so far name every draw (docs/decisions/0010): two runs under one key that
    differ in any of them ask units drawn anew.

    Attributes:
        ledger: After the last release.
    """

    def __init__(self, plan: Plan, ledger: Ledger, key: NoiseKey, settings: str) -> None:
        self.plan, self.ledger, self._key, self._settings, self._shown = plan, ledger, key, settings, ""

    def show(self, *arrays: Shaped[np.ndarray, " ..."]) -> None:
        """Units compute all later answers with these public arrays."""
        self._shown = self.named(*arrays)

    def named(self, *arrays: Shaped[np.ndarray, " ..."]) -> str:
        """A name for all that was shown, and these."""
        return f"{self._shown} {digest(*arrays)}"

    def sum(
        self,
        name: str,
        number: int,
        samples: PrivateSamples,
        blocks_of: BlocksOf,
        *,
        clip_norm: float,
    ) -> Float[np.ndarray, " dim"]:
        """One noised sum.

        Raises:
            BudgetExceeded: the ledger or the gate refuses; nothing has been read.
        """
        query = self.plan.query(name, number, clip_norm).about(self._shown, self._settings)
        found = answer(query, blocks_of, samples, self.ledger, self._key)
        self.ledger = found.ledger
        return found.sum

    def steps(
        self,
        name: str,
        samples: PrivateSamples,
        training: Callable[[Ask], Float[np.ndarray, "head part"]],
        *,
        clip_norm: float,
    ) -> Float[np.ndarray, "head part"]:
        """What a training makes of planned Poisson steps, each of which it names (`named`)."""
        query = self.plan.query(name, 1, clip_norm).about(self._shown, self._settings)
        made, self.ledger = noised_steps(query, training, samples, self.ledger, self._key)
        return made

"""The door for training on private data: many noised sums, each asked where the one before led, at one price.

DP-SGD (Abadi et al., CCS 2016) asks some hundred times for the sum of clipped gradients of a secret Poisson draw. All
its steps are one release: they are charged together before the first, priced by the privacy loss distribution of the
sampled Gaussian, composed `Query.steps` times. That holds however a step depends on what the steps before gave out.

What the steps give out stays inside the call until the training is over. Then its receipt, a digest of all sums, is
written down, and only then do its result and the ledger leave: a training that was killed has released nothing, and
one that is repeated repeats its bytes and is the same release.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np
from jaxtyping import Float

from fedtext.federation.mechanism import PlannedSum, client_messages, dequantise, planned_sum, receipt
from fedtext.federation.private_samples import PrivateSamples, sampled_units, samples_of, sampling_name, taking_part
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import BlocksOf
from fedtext.federation.units import digest
from fedtext.privacy.budget_guard import current
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey, discrete_gaussian
from fedtext.system.errors import InputError

Made = TypeVar("Made")


class Ask(Protocol):
    """What a training is given to ask with: one step a call."""

    def __call__(self, blocks_of: BlocksOf, public_digest: str) -> Float[np.ndarray, " dim"]:
        """The noised sum of what the units drawn for this step answer, each clipped by the door.

        Args:
            blocks_of: What the units of given samples contribute, not yet clipped, at most one row a unit.
            public_digest: Digest of the public inputs that they compute it with, as the weights.

        Raises:
            ValueError: more steps are asked than were paid, or a block is malformed.
        """


def release_noisy_steps(
    query: Query, training: Callable[[Ask], Made], samples: PrivateSamples, ledger: Ledger, key: NoiseKey
) -> tuple[Made, Ledger]:
    """What `training` makes of at most `query.steps` noised sums, and the ledger that paid for all of them.

    Every step draws its units, coins and noise anew, by streams of its own that have the whole release and `query.draw`
    in them: no other training shares a draw. Noise is bound to the very sum it hides. A draw that comes out empty gives
    pure noise. The sums are to be divided by `query.batch`, the expected size of a draw, and never by what a draw came
    to, which is private.

    Args:
        query: What is asked, as it was planned (`fedtext.federation.mechanism.opened_ledger`).
        training: Asks step by step; what it returns is made of public values and of what it was answered.
        samples: What all units hold.
        ledger: What pays.
        key: The run's secret.

    Raises:
        BudgetExceeded: ledger or gate refuse; nothing has been read.
        ValueError: aggregation is local, whose senders the server sees; what `secure_sum.release_noisy_sum`
            refuses; or the training asks once more than it paid for.
    """
    return steps_of_several([query], lambda asks: training(asks[0]), samples, ledger, key)


def steps_of_several(
    queries: Sequence[Query],
    training: Callable[[Sequence[Ask]], Made],
    samples: PrivateSamples,
    ledger: Ledger,
    key: NoiseKey,
) -> tuple[Made, Ledger]:
    """`release_noisy_steps` of several queries in one training, as of one a party: an ask for each, in their order.

    All are charged before the first step of any. A party that answers alone (`Query.own`) is asked under any
    aggregation: it draws among its own units, and nobody sees what it adds up before its noise.

    Raises:
        BudgetExceeded: ledger or gate refuse one; nothing has been read.
        ValueError: what `release_noisy_steps` refuses, of any.
    """
    asks = []
    for query in queries:
        asks.append(_admitted(query, ledger, key))
        ledger = asks[-1].charged
    for ask in asks:
        ask.hold(samples)
    made = training(asks)
    for ask in asks:
        ask.confirm()
    return made, ledger


class _Steps:
    """The steps of one query (an `Ask`): charged and admitted, then answered one by one, at last confirmed."""

    def __init__(self, plan: PlannedSum, part: Ledger, charged: Ledger, key: NoiseKey) -> None:
        self.charged = charged
        self.draw = sampling_name(plan.query, part)  # in the names of all the steps' draws
        self._query, self._plan, self._part, self._key = plan.query, plan, part, key
        self._hidden: list[tuple[str, ...]] = []

    def hold(self, samples: PrivateSamples) -> None:
        """The samples of the units that may be drawn."""
        self._held = samples_of(samples, self.charged, self._part)

    def __call__(self, blocks_of: BlocksOf, public_digest: str) -> Float[np.ndarray, " dim"]:
        """One step (`Ask`)."""
        query, plan, step = self._query, self._plan, len(self._hidden) + 1
        if step > query.steps:
            raise InputError(f"{query.name}: step {step} of {query.steps} that were paid: plan as many as are asked")
        stream = (plan.release.stream_name(), str(query.dim), f"step {step}", public_digest, *query.draw)
        # One price for all steps holds for draws of its own: another noise or another training has other ones.
        drawn = sampled_units(self._held, self._part, self._key, replace(query, draw=stream))
        total = np.zeros(query.dim, dtype=np.int64)
        for _, message in client_messages(blocks_of(self._held.of_units(drawn)), plan, drawn, self._key, stream):
            total += message
        hidden = (*stream, digest(total))
        self._hidden.append(hidden)
        total += discrete_gaussian(self._key, stddev_on_grid=plan.stddev_on_grid, size=query.dim, stream=hidden)
        return dequantise(total, plan.step)

    def confirm(self) -> None:
        """Writes down that what was made of the steps is about to leave."""
        if not self._hidden:
            raise InputError(
                f"{self._query.name}: the training asked nothing: ask at least once, or leave the door closed"
            )
        names = tuple(name for step in self._hidden for name in step)
        current().confirm(self._plan.release, self._query.round, receipt(self._key, names), self.draw)


def _admitted(query: Query, ledger: Ledger, key: NoiseKey) -> _Steps:
    """The steps of a query that ledger and gate let pass."""
    part = taking_part(ledger, query.parties)
    plan = planned_sum(query, ledger.declaration, part.population, len(part.parties) or None)
    if ledger.declaration.aggregation == "local" and not query.own:
        raise InputError(f"{query.name}: steps are summed before noise is added: declare aggregation secure or trusted")
    plan.validate_modulus(64)
    key.validate_noise_source(ledger.declaration.noise_seed)
    charged = ledger.charge(plan.release)
    steps = _Steps(plan, part, charged, key)
    current().admit(plan.release, ledger, steps.draw)
    return steps

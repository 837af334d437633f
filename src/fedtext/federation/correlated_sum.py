"""Sums of many rounds whose noise is correlated: the door out of a client for a whole run, priced and charged once.

With X_t the sum of the clients' clipped, quantised contributions of round t, and a factorisation W = B C
(fedtext.privacy.factorisation), what leaves is C X + Z: each row as soon as its last round is over, with independent
discrete Gaussian noise Z. The server reads W X + B Z = B (C X + Z), which is post-processing. Nothing is approximated:
X is integer on the clients' grid and C on its own, so C X is integer on the product of the two, where Z is drawn.
(Adding C^-1 Z to X_t instead needs no earlier sums, but C^-1 is no integer matrix, and a grid plus real multiples of
discrete noise is no mechanism that has been analysed. docs/decisions/0006.)

So whoever adds up the clients' messages keeps the rows that have begun and are not complete: `open_sums`, at most the
bands of C less one, or log2 T of a tree. Weights are integers and sums are modular, so that secret shares of messages
can be weighted and kept as well as messages can, and no party need see a sum. They are as private as the messages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Int64

from fedtext.federation.blocks import Block
from fedtext.federation.mechanism import PlannedSum, noise_widening, planned_sum
from fedtext.federation.participation import scheduled
from fedtext.federation.secure_sum import client_messages, digest, receipt
from fedtext.params.privacy import Privacy
from fedtext.privacy.factorisation import Factorisation
from fedtext.privacy.gate import current
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.noise import NoiseKey, covering_stddev, discrete_gaussian, noise_bound, refuse_inexact

Contributions = Callable[[Int[np.ndarray, " participant"]], Iterable[Block]]


@dataclass(frozen=True)
class CorrelatedRound:
    """What a round gives: `released` rows (for the server), `open_sums` (private, for the next round), the ledger."""

    released: Float[np.ndarray, "row dim"]
    open_sums: Int64[np.ndarray, "open dim"]
    ledger: Ledger


@dataclass(frozen=True)
class PlannedRun:
    """All that is public of a run: `release` is charged once; `messages` is one round's plain sum on the clients' grid.

    Released values are multiples of `messages.step` x `weight_step`, with noise of `stddev_on_grid` such grid points.
    """

    factorisation: Factorisation
    messages: PlannedSum
    release: Release
    stddev_on_grid: float

    @property
    def step(self) -> float:
        """Of the released values."""
        return self.messages.step * self.factorisation.weight_step

    @property
    def sum_bits(self) -> int:
        """The smallest k with which no row can wrap around modulo 2^k."""
        largest = math.floor(self.messages.release.sensitivity / self.messages.step) * self.messages.contributors
        heaviest = int(self.factorisation.weights.sum(axis=1).max())
        return (heaviest * largest + noise_bound(self.stddev_on_grid)).bit_length() + 1


def planned_run(
    declaration: Privacy,
    population: int,
    *,
    factorisation: Factorisation,
    dim: int,
    clip_norm: float,
    noise_multiplier: float,
    name: str,
) -> PlannedRun:
    """What the rounds of `correlated_sum` will do, and the one release that pays for all of them.

    All released rows together are one Gaussian: a client moves C X by at most `factorisation.sensitivity` times its
    largest contribution, however it and others react to what was released before (Denisov et al., NeurIPS 2022,
    Theorem 2.1). `noise_multiplier` is the noise's deviation over that.

    Raises:
        ValueError: sampling is declared (a schedule is kept instead, and amplifies nothing) or aggregation is local
            (rows weight sums, which no client holds), a grid is impossible, or a row could wrap around.
    """
    if declaration.sampling != "full" or declaration.aggregation == "local":
        raise ValueError(
            f"{name}: privacy.sampling is {declaration.sampling}, privacy.aggregation {declaration.aggregation}; noise "
            "correlated across rounds keeps a schedule of its own and weights sums: declare sampling full and "
            "aggregation secure or trusted"
        )
    plain = planned_sum(
        declaration, population, dim=dim, clip_norm=clip_norm, noise_multiplier=noise_multiplier, name=name, round=0
    )
    release = plain.release.model_copy(
        update={
            "sensitivity": plain.release.sensitivity * factorisation.sensitivity,
            "noise_stddev": plain.release.noise_stddev * factorisation.sensitivity,
            "rounds": factorisation.rounds,
            "mechanism": f"{plain.release.mechanism}; {_described(factorisation)}",
        }
    )
    step = plain.step * factorisation.weight_step
    stddev = covering_stddev(release.noise_stddev / step * noise_widening(declaration))
    refuse_inexact(stddev)
    run = PlannedRun(factorisation, plain, release, stddev)
    if run.sum_bits > 64:
        raise ValueError(f"{name}: a released row needs {run.sum_bits} bits, 64 are the most: add less noise")
    return run


def correlated_sum(
    contributions: Contributions,
    plan: PlannedRun,
    *,
    enrolled: Int[np.ndarray, " unit"],
    clip_norm: float,
    round: int,
    open_sums: Int64[np.ndarray, "open dim"],
    ledger: Ledger,
    key: NoiseKey,
    public_digest: str,
) -> CorrelatedRound:
    """Round `round` of a planned run: the rows that it completes, noised, and those that stay open.

    The mechanism itself draws whose turn it is among the `enrolled` codes (`scheduled`) and asks `contributions` for
    the rows of these clients, so that none takes part more often than was priced; each is clipped here to `clip_norm`.
    Round 1 charges the ledger for the whole run; later rounds ask for the ledger that paid. The same call gives the
    same bytes.

    Raises:
        BudgetExceeded: the ledger cannot pay; nothing has been read.
        ValueError: the ledger has not paid for this very run, the open sums are not those of the round before, a block
            is malformed, or a client answers that was not asked.
    """
    factorisation, name = plan.factorisation, plan.release.name
    if not 1 <= round <= factorisation.rounds:
        raise ValueError(f"{name}: round {round} of a run of {factorisation.rounds} rounds")
    key.refuse_undeclared(ledger.declaration.noise_seed)
    charged = _paid(ledger, plan.release, round)
    held = (factorisation.start < round) & (factorisation.due >= round)
    if open_sums.shape != (held.sum(), plan.messages.dim):
        wanted = f"({held.sum()}, {plan.messages.dim})"
        raise ValueError(
            f"{name}: open sums of shape {open_sums.shape}, round {round} continues {wanted}; run in order"
        )
    current().admit(plan.release, ledger)
    asked = scheduled(enrolled, separation=factorisation.separation, round=round, key=key)
    stream = ("correlated", plan.release.model_dump_json(), str(plan.messages.dim), str(round), public_digest)
    total = _total(client_messages(contributions(asked), plan.messages, clip_norm, key, stream), plan, asked)
    counted = (factorisation.start <= round) & (factorisation.due >= round)
    rows = factorisation.weights[counted, round - 1, None] * total
    rows[held[counted]] += open_sums
    complete = factorisation.due[counted] == round
    hidden = (*stream, digest(rows[complete]))
    current().confirm(plan.release, round, receipt(key, hidden))
    return CorrelatedRound(_noised(rows[complete], plan, key, hidden), rows[~complete], charged)


def _paid(ledger: Ledger, release: Release, round: int) -> Ledger:
    if round == 1:
        return ledger.charge(release)
    if release not in ledger.releases:
        raise ValueError(
            f"round {round} of '{release.name}' is paid for by round 1, at the same weights, noise and clip norm, "
            "and this ledger has no such entry: hand on the ledger that round 1 returned, or run it again"
        )
    return ledger


def _total(
    messages: Iterable[tuple[int, Int64[np.ndarray, " dim"]]], plan: PlannedRun, asked: Int[np.ndarray, " participant"]
) -> Int64[np.ndarray, " dim"]:
    """The sum of the messages, which is one modulo 2^64."""
    waiting, total = set(asked.tolist()), np.zeros(plan.messages.dim, dtype=np.int64)
    for unit, message in messages:
        if unit not in waiting:
            raise ValueError(f"{plan.release.name}: a client contributes that was not asked, or contributes twice")
        waiting.remove(unit)
        total += message
    return total


def _noised(
    rows: Int64[np.ndarray, "row dim"], plan: PlannedRun, key: NoiseKey, hidden: tuple[str, ...]
) -> Float[np.ndarray, "row dim"]:
    """As in `private_sum`, the noise is bound to the very sums it hides."""
    noise = discrete_gaussian(key, stddev_on_grid=plan.stddev_on_grid, size=rows.size, stream=hidden).reshape(
        rows.shape
    )
    return np.asarray((rows + noise) * plan.step)


def _described(factorisation: Factorisation) -> str:
    """For the ledger; the digest of the weights makes two runs with different weights two releases."""
    return (
        f"correlated across {factorisation.rounds} rounds, of which a unit takes part in at most "
        f"{factorisation.participations}, at least {factorisation.separation} apart (weights "
        f"{digest(factorisation.weights)[:12]} of step {factorisation.weight_step:g})"
    )

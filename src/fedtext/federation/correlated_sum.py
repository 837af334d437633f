"""Sums of many rounds with correlated noise: the release mechanism of a whole run, charged once.

With X_t the sum of the clients' clipped, quantised contributions of round t, and a factorisation W = B C
(fedtext.privacy.matrix_mechanism), C X + Z is released: each row as soon as its last round is over, with independent
discrete Gaussian noise Z. The server computes W X + B Z = B (C X + Z), which is post-processing. The arithmetic is
exact: X is integer on the clients' grid and C on its own, so C X is integer on the product of the two, where Z is
drawn. (Adding C^-1 Z to X_t instead needs no earlier sums, but C^-1 is no integer matrix, and no published analysis
covers a grid plus real multiples of discrete noise. docs/decisions/0006.)

The aggregator of the clients' messages therefore keeps the rows that have begun and are not complete: `open_sums`, at
most the number of bands of C less one, or log2 T for a tree. Weights are integers and sums are modular, so secret
shares of messages can be weighted and kept instead of messages, and no party need see a sum. Open sums are as private
as the messages.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int64

from fedtext.federation.charged_release import charged_releases
from fedtext.federation.mechanism import (
    PlannedSum,
    dequantise,
    noise_widening,
    planned_release,
    planned_sum,
)
from fedtext.federation.messages import BlocksOf, Request, message_sum
from fedtext.federation.private_samples import PrivateSamples, enrolled_units, scheduled, taking_part
from fedtext.federation.query import Query
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.matrix_mechanism import Factorisation
from fedtext.privacy.noise import NoiseKey, covering_stddev, noise_bound, validate_exact_noise
from fedtext.system.errors import InputError


@dataclass(frozen=True)
class CorrelatedRound:
    """A round's result: `released` rows (for the server), `open_sums` (private, for the next round), the ledger."""

    released: Float[np.ndarray, "row dim"]
    open_sums: Int64[np.ndarray, "open dim"]
    ledger: Ledger


@dataclass(frozen=True)
class PlannedRun:
    """The public facts of a run: `release` is charged once; `messages` is one round's plain sum on the clients' grid.

    Released values are multiples of `messages.step` x `weight_step`, with noise of `stddev_on_grid` such grid points.
    """

    factorisation: Factorisation
    messages: PlannedSum
    release: Release
    stddev_on_grid: float

    @property
    def query(self) -> Query:
        """The query of this round."""
        return self.messages.query

    @property
    def step(self) -> float:
        """The grid step of the released values."""
        return self.messages.step * self.factorisation.weight_step

    @property
    def sum_bits(self) -> int:
        """The smallest k with which no row can wrap around modulo 2^k."""
        largest = math.floor(self.messages.release.sensitivity / self.messages.step) * self.messages.contributors
        heaviest = int(self.factorisation.weights.sum(axis=1).max())
        return (heaviest * largest + noise_bound(self.stddev_on_grid)).bit_length() + 1


def planned_run(
    query: Query, factorisation: Factorisation, declaration: Privacy, population: int, parties: int | None = None
) -> PlannedRun:
    """Compute the grid, noise and single release of all rounds of `correlated_sum`.

    All released rows together are one Gaussian: a client moves C X by at most `factorisation.sensitivity` times its
    largest contribution, even if contributions adapt to earlier releases (Denisov et al., NeurIPS 2022, Theorem 2.1).
    `query.noise_multiplier` is the noise's standard deviation over that. The query of every round gives the same plan.
    Weights are at least 0, so non-negative contributions stay non-negative.

    Raises:
        ValueError: sampling is declared (units follow a schedule instead, without amplification) or aggregation is
            local (rows weight sums, which no client holds), a grid is impossible, or a row could wrap around.
    """
    if declaration.sampling != "full" or declaration.aggregation == "local":
        raise InputError(
            f"{query.name}: privacy.sampling is {declaration.sampling}, privacy.aggregation {declaration.aggregation}; "
            "noise correlated across rounds keeps a schedule of its own and weights sums: declare sampling full and "
            "aggregation secure or trusted",
            code="correlated-noise-needs-full-sampling",
            parameter="privacy.sampling",
            value=declaration.sampling,
        )
    plain = planned_sum(query, declaration, population, parties)
    release = planned_release(query, declaration, population, factorisation)
    step = plain.step * factorisation.weight_step
    stddev = covering_stddev(release.noise_stddev / step * noise_widening(declaration))
    validate_exact_noise(stddev)
    run = PlannedRun(factorisation, plain, release, stddev)
    if run.sum_bits > 64:
        raise InputError(
            f"{query.name}: a released row needs {run.sum_bits} bits, 64 are the most: add less noise",
            code="row-needs-too-many-bits",
            value=run.sum_bits,
        )
    return run


def correlated_sum(
    query: Query,
    factorisation: Factorisation,
    blocks_of: BlocksOf,
    samples: PrivateSamples,
    open_sums: Int64[np.ndarray, "open dim"],
    ledger: Ledger,
    key: NoiseKey,
) -> CorrelatedRound:
    """Release the noisy rows that round `query.round` completes, and keep the rows that stay open.

    The mechanism itself selects the units scheduled for this round (`scheduled`) and passes their samples to
    `blocks_of`, so that no unit takes part more often than was accounted for; each contribution is clipped here. Round
    1 charges the ledger for the whole run; later rounds need the charged ledger. The same call gives the same bytes.

    Args:
        query: As `planned_run` planned it; its round counts from 1.
        factorisation: The run's factorisation W = B C.
        blocks_of: Computes the contributions of units from their samples, not yet clipped, at most one row a unit.
        samples: The samples of all units.
        open_sums: The open rows of the round before; private.
        ledger: The ledger to charge (round 1), or the charged one.
        key: The run's secret noise key.

    Raises:
        BudgetExceeded: the release would overdraw the budget; no private value has been read.
        ValueError: the ledger was not charged for this very run, the open sums are not those of the round before, a
            block is malformed, or a client contributes that is not scheduled.
    """
    part, name, round = taking_part(ledger, query.parties), query.name, query.round
    plan = planned_run(query, factorisation, ledger.declaration, part.population, len(part.parties) or None)
    if not 1 <= round <= factorisation.rounds:
        raise InputError(
            f"{name}: round {round} of a run of {factorisation.rounds} rounds", code="round-beyond-run", value=round
        )
    held = (factorisation.start < round) & (factorisation.due >= round)
    stream = ("correlated", plan.release.stream_name(), str(query.dim), str(round), query.public_digest)
    counted = (factorisation.start <= round) & (factorisation.due >= round)
    complete = factorisation.due[counted] == round
    with charged_releases([plan], samples, ledger, key) as (charged, [release]):
        if open_sums.shape != (held.sum(), query.dim):
            wanted = f"({held.sum()}, {query.dim})"
            raise InputError(
                f"{name}: open sums of shape {open_sums.shape}, round {round} continues {wanted}; run in order",
                code="rounds-out-of-order",
                value=round,
            )
        samples = release.samples
        enrolled = enrolled_units(samples, part)
        sampled = scheduled(enrolled, separation=factorisation.separation, round=round, key=key)
        total = message_sum(Request(blocks_of, plan.messages, key, stream), samples, sampled)
        rows = factorisation.weights[counted, round - 1, None] * total
        rows[held[counted]] += open_sums
        released = dequantise(release.noised(rows[complete], stream), plan.step)
        return CorrelatedRound(released, rows[~complete], charged)

"""Sums of many rounds whose noise is correlated: the door out of a client for a whole run, priced and charged once.

With X_t the sum of the clients' clipped, quantised contributions of round t, and a factorisation W = B C
(fedtext.privacy.matrix_mechanism), what leaves is C X + Z: each row as soon as its last round is over, with independent
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
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int64

from fedtext.federation.mechanism import (
    PlannedSum,
    client_messages,
    noise_widening,
    planned_release,
    planned_sum,
    receipt,
)
from fedtext.federation.private_samples import (
    NO_LOTS,
    PrivateSamples,
    enrolled_units,
    samples_of,
    scheduled,
    taking_part,
)
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import BlocksOf
from fedtext.federation.units import digest
from fedtext.params.privacy import Privacy
from fedtext.privacy.budget_guard import current
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.matrix_mechanism import Factorisation
from fedtext.privacy.noise import NoiseKey, covering_stddev, discrete_gaussian, noise_bound, validate_exact_noise
from fedtext.system.errors import InputError


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
    query: Query, factorisation: Factorisation, declaration: Privacy, population: int, parties: int | None = None
) -> PlannedRun:
    """What the rounds of `correlated_sum` will do, and the one release that pays for all of them.

    All released rows together are one Gaussian: a client moves C X by at most `factorisation.sensitivity` times its
    largest contribution, however it and others react to what was released before (Denisov et al., NeurIPS 2022,
    Theorem 2.1). `query.noise_multiplier` is the noise's deviation over that. Every round's query plans the same run.
    Weights are at least 0, so what is non-negative before them is so after them.

    Raises:
        ValueError: sampling is declared (a schedule is kept instead, and amplifies nothing) or aggregation is local
            (rows weight sums, which no client holds), a grid is impossible, or a row could wrap around.
    """
    if declaration.sampling != "full" or declaration.aggregation == "local":
        raise InputError(
            f"{query.name}: privacy.sampling is {declaration.sampling}, privacy.aggregation {declaration.aggregation}; "
            "noise correlated across rounds keeps a schedule of its own and weights sums: declare sampling full and "
            "aggregation secure or trusted"
        )
    plain = planned_sum(query, declaration, population, parties)
    release = planned_release(query, declaration, population, factorisation)
    step = plain.step * factorisation.weight_step
    stddev = covering_stddev(release.noise_stddev / step * noise_widening(declaration))
    validate_exact_noise(stddev)
    run = PlannedRun(factorisation, plain, release, stddev)
    if run.sum_bits > 64:
        raise InputError(f"{query.name}: a released row needs {run.sum_bits} bits, 64 are the most: add less noise")
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
    """Round `query.round` of a planned run: the rows that it completes, noised, and those that stay open.

    The mechanism itself draws whose turn it is among the enrolled units (`scheduled`) and gives `blocks_of` their
    samples, so that none takes part more often than was priced; each contribution is clipped here. Round 1 charges the
    ledger for the whole run; later rounds ask for the ledger that paid. The same call gives the same bytes.

    Args:
        query: As `planned_run` planned it; its round counts from 1.
        factorisation: Of the run.
        blocks_of: What the units of given samples contribute, not yet clipped, at most one row a unit.
        samples: What all units hold.
        open_sums: What the round before left open; private.
        ledger: What pays, or has paid.
        key: The run's secret.

    Raises:
        BudgetExceeded: the ledger cannot pay; nothing has been read.
        ValueError: the ledger has not paid for this very run, the open sums are not those of the round before, a block
            is malformed, or a client answers that was not asked.
    """
    part, name, round = taking_part(ledger, query.parties), query.name, query.round
    plan = planned_run(query, factorisation, ledger.declaration, part.population, len(part.parties) or None)
    if not 1 <= round <= factorisation.rounds:
        raise InputError(f"{name}: round {round} of a run of {factorisation.rounds} rounds")
    key.validate_noise_source(ledger.declaration.noise_seed)
    charged = _paid(ledger, plan.release, round)
    held = (factorisation.start < round) & (factorisation.due >= round)
    if open_sums.shape != (held.sum(), query.dim):
        wanted = f"({held.sum()}, {query.dim})"
        raise InputError(
            f"{name}: open sums of shape {open_sums.shape}, round {round} continues {wanted}; run in order"
        )
    current().admit(plan.release, ledger, NO_LOTS)
    samples = samples_of(samples, ledger, part)
    asked = scheduled(enrolled_units(samples, part), separation=factorisation.separation, round=round, key=key)
    stream = ("correlated", plan.release.stream_name(), str(query.dim), str(round), query.public_digest)
    total = np.zeros(query.dim, dtype=np.int64)
    for _, message in client_messages(blocks_of(samples.of_units(asked)), plan.messages, asked, key, stream):
        total += message  # modulo 2^64
    counted = (factorisation.start <= round) & (factorisation.due >= round)
    rows = factorisation.weights[counted, round - 1, None] * total
    rows[held[counted]] += open_sums
    complete = factorisation.due[counted] == round
    hidden = (*stream, digest(rows[complete]))
    current().confirm(plan.release, round, receipt(key, hidden), NO_LOTS)
    return CorrelatedRound(_noised(rows[complete], plan, key, hidden), rows[~complete], charged)


def _paid(ledger: Ledger, release: Release, round: int) -> Ledger:
    if round == 1:
        return ledger.charge(release)
    if release not in ledger.releases:
        raise InputError(
            f"round {round} of '{release.name}' is paid for by round 1, at the same weights, noise and clip norm, "
            "and this ledger has no such entry: hand on the ledger that round 1 returned, or run it again"
        )
    return ledger


def _noised(
    rows: Int64[np.ndarray, "row dim"], plan: PlannedRun, key: NoiseKey, hidden: tuple[str, ...]
) -> Float[np.ndarray, "row dim"]:
    """As in `secure_sum.release_noisy_sum`, the noise is bound to the very sums it hides."""
    noise = discrete_gaussian(key, stddev_on_grid=plan.stddev_on_grid, size=rows.size, stream=hidden).reshape(
        rows.shape
    )
    return np.asarray((rows + noise) * plan.step)

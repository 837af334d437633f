"""The mechanism of one noisy sum: its public facts, and the message of each unit.

- The public facts are fixed before a private value is read: grid, sensitivity, noise, message size.
- A unit's message is its clipped contribution, rounded to the grid with the unit's own randomness, or zeros.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock

import numpy as np
from jaxtyping import Float, Int, Int64

from fedtext.federation.private_samples import local_stddev, most_draws, population_of
from fedtext.federation.query import Query
from fedtext.federation.units import Block, digest
from fedtext.params.privacy import Privacy
from fedtext.privacy.clipping import clip_factor, clip_rows, positive_parts
from fedtext.privacy.ledger import Ledger, Part, Release, open_ledger
from fedtext.privacy.matrix_mechanism import Factorisation
from fedtext.privacy.noise import NoiseKey, covering_stddev, keyed_bytes, noise_bound, validate_exact_noise
from fedtext.privacy.parties import Party, most_units
from fedtext.privacy.plan import accounted_rate, accounted_sampling, batch_rate, sampling_rate, within_party
from fedtext.privacy.quantisation import adjusted_sensitivity, grid_step, randomly_rounded, rounded_stretches
from fedtext.privacy.signal import Signal, Training, Votes
from fedtext.system.errors import InputError
from fedtext.system.threads import arrays_over_cores

NEGLIGIBLE = 1e-9  # nats of epsilon: far below the digits that any report shows
_TERMS = 2**16  # of a bound's sum that are added one by one; more would fill the memory


@dataclass(frozen=True)
class PlannedSum:
    """The public facts of one noisy sum.

    Attributes:
        query: The query of the sum.
        release: The release that the ledger is charged with.
        step: The grid's step, in units of the sum.
        stddev_on_grid: Standard deviation of one draw of noise, in grid points.
        draws: The most draws of noise that are added: one, or one a data holder under local noise.
        contributors: The most units that may contribute.
    """

    query: Query
    release: Release
    step: float
    stddev_on_grid: float
    draws: int
    contributors: int

    @property
    def message_bits(self) -> int:
        """The smallest k with which no sum can wrap around modulo 2^k: the bits of one coordinate of a message.

        It counts `contributors` messages of the largest legal coordinate and the largest noise that can be drawn.
        """
        return self.largest_sum.bit_length() + 1

    @property
    def largest_contribution(self) -> int:
        """The largest absolute value that one unit can add to a coordinate, in grid points."""
        return math.floor(self.release.sensitivity / self.step)

    @property
    def largest_sum(self) -> int:
        """A bound on the absolute value of a coordinate: every unit at its largest, and the largest noise."""
        return self.contributors * self.largest_contribution + self.draws * noise_bound(self.stddev_on_grid)

    def in_shares(self, shares: int) -> PlannedSum:
        """Return the plan of the same noise in so many independent draws, one a data holder (aggregation `secure`).

        Each has a share of the variance. Their sum is one discrete Gaussian but for `share_divergence`, which
        `planned_sum` has bounded.
        """
        share = math.nextafter(self.stddev_on_grid / math.sqrt(shares), math.inf)
        return replace(self, stddev_on_grid=share, draws=shares)

    def validate_modulus(self, modulus_bits: int) -> None:
        """Raise ValueError if a sum modulo 2^modulus_bits could wrap around, which would destroy it silently."""
        if not self.message_bits <= modulus_bits <= 64:
            raise InputError(
                f"{self.release.name}: the sum of n = {self.contributors} clients on a grid of step {self.step} with "
                f"noise needs {self.message_bits} bits a coordinate, k = {modulus_bits} were given and 64 are the "
                f"most: set modulus_bits to at least {self.message_bits}, or take a smaller noise multiplier",
                code="modulus-too-small",
                parameter="modulus_bits",
                value=modulus_bits,
            )


def planned_sum(query: Query, declaration: Privacy, population: int, parties: int | None = None) -> PlannedSum:
    """Compute the plan of `fedtext.federation.secure_sum.release_noisy_sum` for this query.

    Under `secure` the noise drawn is wider by 1 / sqrt(honest_fraction): the accounted noise remains when the other
    shares are missing. Each data holder adds noise, or a share of it: as many as `parties`, or as the declaration
    implies (`fedtext.federation.private_samples`).

    Raises:
        ValueError: `planned_release` raises it, or the noise cannot be drawn exactly.
    """
    declaration = _declaration_of(query, declaration)
    release, step = planned_release(query, declaration, population), grid_step(query.clip_norm, query.dim)
    stddev_on_grid = covering_stddev(release.noise_stddev / step * noise_widening(declaration))
    validate_exact_noise(stddev_on_grid)
    if declaration.aggregation == "secure":
        shares = parties or declaration.holders or population
        _validate_shares(stddev_on_grid, shares, query.dim, query.name)
    fixed = declaration.clients_per_round if declaration.sampling == "fixed_size" else None
    return PlannedSum(
        query=query,
        release=release,
        step=step,
        stddev_on_grid=stddev_on_grid,
        draws=most_draws(declaration, population, parties),
        contributors=fixed or most_units(declaration, population),
    )


def planned_release(
    query: Query, declaration: Privacy, population: int, correlation: Factorisation | None = None
) -> Release:
    """Build the release of a query: the ledger is opened for it and later charged with it.

    Sensitivity is the L2 norm that one contribution can have on the grid, `clip_norm + step sqrt(dim)`; noise_stddev is
    `noise_multiplier` times that, so the declared multiplier holds on the grid. Under `local` the server sees each
    message and its sender, so the privacy cost is that of one message and client sampling does not amplify. A query
    with a batch has its own Poisson sample; a query of several steps is charged once for all of them; a local query of
    one party is sampled in secret. With a `correlation` one release, of round 0, covers all rounds: a unit moves all
    weighted sums together by at most `correlation.sensitivity` times its largest contribution.

    Raises:
        ValueError: `noise_multiplier` is not positive and finite, `clip_norm` or `dim` gives no grid, the sample is
            larger than the population, or a local query of one party names several.
    """
    if not (query.noise_multiplier > 0 and math.isfinite(query.noise_multiplier)):
        raise InputError(
            f"noise_multiplier {query.noise_multiplier} of {query.name}: it must be positive and finite",
            code="noise-multiplier-out-of-range",
            parameter="noise_multiplier",
            value=query.noise_multiplier,
        )
    declaration = _declaration_of(query, declaration)
    step = grid_step(query.clip_norm, query.dim)
    sensitivity = adjusted_sensitivity(query.clip_norm, step, query.dim)
    moved = 1.0 if correlation is None else correlation.sensitivity
    words = _described(declaration, step, own=query.own)
    sampling, rate = accounted_sampling(declaration), accounted_rate(declaration, population)
    if query.batch is not None:
        sampling = "poisson"
        rate = batch_rate(declaration, population, query.batch, parameter=f"the expected batch of {query.name}")
    return Release(
        name=query.name,
        round=query.round if correlation is None else 0,
        mechanism=words if correlation is None else f"{words}; {_correlated(correlation)}",
        sensitivity=sensitivity * moved,
        noise_stddev=query.noise_multiplier * sensitivity * moved,
        sampling=sampling,
        rate=rate,
        unit=declaration.unit,
        steps=query.steps,
        rounds=1 if correlation is None else correlation.rounds,
        non_negative=query.non_negative,
        secret_sample=query.own,
        parties=query.parties,
    )


def opened_ledger(
    queries: Iterable[Query],
    declaration: Privacy,
    population: int,
    *,
    part: Part = "train",
    parties: Sequence[Party] = (),
) -> Ledger:
    """Open an empty ledger for `population` units, after checking that the planned queries fit the budgets.

    Args:
        queries: All queries that may be made.
        declaration: The run's declared privacy parameters.
        population: The public number of units; with parties the sum of their populations.
        part: The clients whose data are queried.
        parties: All data holders of the units, if the ledger tells them apart.

    Raises:
        BudgetExceeded: the queries would overdraw a budget.
        ValueError: a query cannot be released, or the declaration is invalid for this population.
    """
    queries = tuple(queries)
    planned = [planned_release(query, declaration, _held(query, population, parties)) for query in queries]
    ledger = open_ledger(declaration, population, planned, part=part, parties=parties)
    if part != "train":  # signals say whether an algorithm can learn
        return ledger
    return ledger.model_copy(update={"signals": planned_signals(queries, declaration, population, parties)})


def planned_signals(
    queries: Sequence[Query], declaration: Privacy, population: int, parties: Sequence[Party] = ()
) -> tuple[Signal, ...]:
    """Compute signal and noise of the queries of each name, from public values; queries of one round are one sum."""
    return tuple(
        _signal([query for query in queries if query.name == name], declaration, population, parties)
        for name in dict.fromkeys(query.name for query in queries)
    )


def _signal(queries: Sequence[Query], declaration: Privacy, population: int, parties: Sequence[Party]) -> Signal:
    *_, last = queries
    joint = [query for query in queries if query.round == last.round]
    rounds = len(queries) // len(joint)
    each = [_asked_and_noise(query, declaration, _held(query, population, parties), parties) for query in joint]
    numbers = last.dim if isinstance(last.use, Votes | Training) else min(last.dim, last.use.span or last.dim)
    return Signal(
        release=last.name,
        use="votes" if isinstance(last.use, Votes) else "training" if isinstance(last.use, Training) else "vector",
        unit=declaration.unit,
        population=sum(_held(query, population, parties) for query in joint),
        asked=sum(asked for asked, _, _ in each),
        numbers=numbers,
        noise=math.hypot(*(noise for _, noise, _ in each)),
        draws=max(draws for _, _, draws in each),
        steps=last.steps * rounds if isinstance(last.use, Training) else 1,
    )


def _asked_and_noise(
    query: Query, declaration: Privacy, held: int, parties: Sequence[Party]
) -> tuple[float, float, float]:
    """Return the expected units asked, the noise in the sum over the clip norm, and the holders that each add all."""
    declaration = _declaration_of(query, declaration)
    asked = query.batch or held * sampling_rate(declaration, held)
    holders = len(query.parties or parties) or declaration.holders or asked
    draws = max(1.0, holders) if declaration.aggregation == "local" else 1.0
    return asked, query.noise_multiplier * noise_widening(declaration) * math.sqrt(draws), draws


def _held(query: Query, population: int, parties: Sequence[Party]) -> int:
    return population if query.parties is None else population_of(parties, query.parties)


def _declaration_of(query: Query, declaration: Privacy) -> Privacy:
    """Return the declaration that holds for the query: that within its party, if it is a local query."""
    if not query.own:
        return declaration
    if query.parties is None or len(query.parties) != 1:
        raise InputError(
            f"{query.name}: one party answers alone, and {len(query.parties or ())} are named: ask each by a query of "
            "its own",
            code="not-one-party",
            value=query.parties,
        )
    return within_party(declaration)


def _validate_shares(stddev_on_grid: float, shares: int, dim: int, name: str) -> None:
    """Raise if a sum of noise shares differs visibly from the one draw of noise that is accounted for."""
    thin = stddev_on_grid**2 < shares / 4  # no bound is known
    if thin or 2 * share_divergence(stddev_on_grid, shares, dim) > NEGLIGIBLE:
        raise InputError(
            f"{name}: noise of {stddev_on_grid:.3g} grid points in {shares} shares is not one discrete Gaussian to "
            f"{NEGLIGIBLE} nats: ask for more noise, or declare aggregation local or trusted",
            code="shares-are-no-gaussian",
            value=shares,
        )


def noise_widening(declaration: Privacy) -> float:
    """Return the factor between drawn and accounted noise: above 1 under `secure`, for shares that may be missing."""
    return 1 / math.sqrt(declaration.honest_fraction) if declaration.aggregation == "secure" else 1.0


def summed_stddev(ledger: Ledger) -> float:
    """Compute the standard deviation of the noise in each coordinate of the sum that was released last.

    The ledger accounts for the noise that may be relied on: one message's under `local`, the noise without the missing
    shares under `secure`. The sum carries more: the noise of every data holder that sends, or every share.
    """
    if ledger.declaration.aggregation == "local":
        return local_stddev(ledger)
    return ledger.releases[-1].noise_stddev * noise_widening(ledger.declaration)


def _described(declaration: Privacy, step: float, *, own: bool = False) -> str:
    """Describe the mechanism in words, for the ledger and the privacy report."""
    widening = noise_widening(declaration)
    adder = "by the party itself" if own else f"{declaration.aggregation} aggregation"
    words = f"exact discrete Gaussian, {adder}, grid step 2^{math.frexp(step)[1] - 1}"
    if widening > 1:
        words += f", noise {widening:.4g} times wider for an honest fraction of {declaration.honest_fraction}"
    return words


def _correlated(factorisation: Factorisation) -> str:
    """Describe a factorisation for the ledger; the digest of its weights tells two runs' releases apart."""
    return (
        f"correlated across {factorisation.rounds} rounds, of which a unit takes part in at most "
        f"{factorisation.participations}, at least {factorisation.separation} apart (weights "
        f"{digest(factorisation.weights)[:12]} of step {factorisation.weight_step:g})"
    )


def share_divergence(stddev_on_grid: float, shares: int, dim: int) -> float:
    """Bound the log ratio, in nats, between a sum of noise shares and one discrete Gaussian of the same variance.

    For `shares` discrete Gaussians of variance s^2 = stddev_on_grid^2 / shares each, in `dim` coordinates, it is `dim`
    times 10 sum_{k < shares} exp(-2 pi^2 s^2 k / (k + 1)) (Kairouz, Liu and Steinke, ICML 2021). A deployment adds
    twice this to epsilon. On the grid of `grid_step` it is far below 1e-300.

    Raises:
        ValueError: a share's standard deviation is below half a grid point, where the bound does not hold.
    """
    variance = stddev_on_grid**2 / shares
    if variance < 0.25:
        raise InputError(
            f"noise of {stddev_on_grid} grid points in {shares} shares: a share needs a deviation of at least 0.5; "
            "take a smaller step or fewer shares",
            code="share-too-small",
            value=shares,
        )
    k = np.arange(1, min(shares, _TERMS))
    terms = np.exp(-2.0 * math.pi**2 * variance * k / (k + 1))
    further = (shares - 1 - len(k)) * terms[-1:].sum()  # terms decrease with k
    return float(dim * 10.0 * (terms.sum() + further))


_CELLS = 2**18  # coordinates that are clipped and rounded in one go
_LONG = 2**16  # width of a message that is worth a core of its own, and is computed stretch by stretch
_HELD = 2**22  # width up to which memory holds a few messages for each core


def client_messages(
    blocks: Iterable[Block],
    plan: PlannedSum,
    sampled: Int[np.ndarray, " unit"],
    key: NoiseKey,
    stream: tuple[str, ...],
) -> Iterator[tuple[int, Int64[np.ndarray, " dim"]]]:
    """Yield the code and message of each sampled unit; units without a row come last, with zeros.

    A message depends on the unit's own row and code, `stream` and the run's secret alone. If the query is
    `non_negative`, a coordinate below 0 counts as 0 before the row is clipped; rounding to the grid keeps the sign, so
    the message has no negative coordinate either.

    Raises:
        ValueError: a block is not `plan.query.dim` wide, or a unit contributes that was not sampled, or twice.
    """
    silent = set(sampled.tolist())
    pieces = _contributions(blocks, plan.query, silent)
    on_grid = partial(_on_grid, plan=plan, key=key, stream=stream)
    for some in arrays_over_cores(on_grid, pieces) if _LONG <= plan.query.dim < _HELD else map(on_grid, pieces):
        yield from some
    nothing = np.zeros(plan.query.dim, dtype=np.int64)
    for unit in sorted(silent):
        yield unit, nothing


def summed_messages(
    blocks: Iterable[Block],
    plan: PlannedSum,
    sampled: Int[np.ndarray, " unit"],
    key: NoiseKey,
    stream: tuple[str, ...],
) -> Int64[np.ndarray, " dim"]:
    """Return the sum of `client_messages`, modulo 2^64; a long message is added as it is computed, and never held."""
    total = np.zeros(plan.query.dim, dtype=np.int64)
    if plan.query.dim < _LONG:
        for _, message in client_messages(blocks, plan, sampled, key, stream):
            total += message
        return total
    add = partial(_add_messages, total, Lock(), plan=plan, key=key, stream=stream)
    pieces = _contributions(blocks, plan.query, set(sampled.tolist()))
    for _ in arrays_over_cores(add, pieces, ahead=1):  # a row may be as large as a model
        pass
    return total


def dequantise(total: Int64[np.ndarray, "*row dim"], step: float) -> Float[np.ndarray, "*row dim"]:
    """Convert the noisy sum from grid points to a multiple of the grid's step in every coordinate."""
    return np.asarray(total * step)


def _contributions(blocks: Iterable[Block], query: Query, silent: set[int]) -> Iterator[Block]:
    """Yield the rows of the blocks, a few at a time, and take their units out of those that are `silent`."""
    rows = max(1, _CELLS // query.dim)  # working memory stays in the cache, whatever a block's size
    for block in blocks:
        if block.rows.ndim != 2 or block.rows.shape != (len(block.unit), query.dim):
            raise InputError(
                f"{query.name}: a block of shape {block.rows.shape} of {len(block.unit)} clients; rows of "
                f"{query.dim} numbers were declared",
                code="contribution-of-another-shape",
                value=block.rows.shape,
            )
        for unit in block.unit.tolist():
            if unit not in silent:
                raise InputError(
                    f"{query.name}: a client contributes that was not asked, or contributes twice",
                    code="contribution-not-asked",
                    value=query.name,
                )
            silent.remove(unit)
        for at in range(0, len(block.rows), rows):
            yield block.part(at, at + rows)


def _on_grid(
    block: Block, plan: PlannedSum, key: NoiseKey, stream: tuple[str, ...]
) -> list[tuple[int, Int64[np.ndarray, " dim"]]]:
    """Return each unit of a small block and its message."""
    if plan.query.dim >= _LONG:
        messages = np.zeros(block.rows.shape, dtype=np.int64)
        for at, message in enumerate(messages):
            _add_messages(message, nullcontext(), block.part(at, at + 1), plan=plan, key=key, stream=stream)
        return list(zip(block.unit.tolist(), messages, strict=True))
    clipped = clip_rows(_said(block, plan.query), plan.query.clip_norm)
    return [
        (unit, randomly_rounded(row[None], plan.step, _rounding_randomness(key, (*stream, str(unit))))[0])
        for unit, row in zip(block.unit.tolist(), clipped, strict=True)
    ]


def _add_messages(
    total: Int64[np.ndarray, " dim"],
    alone: AbstractContextManager[object],
    block: Block,
    *,
    plan: PlannedSum,
    key: NoiseKey,
    stream: tuple[str, ...],
) -> None:
    """Add the units' long messages to the total, to which one thread at a time may add (`alone`)."""
    for unit, row in zip(block.unit.tolist(), _said(block, plan.query), strict=True):
        factor = clip_factor(row, plan.query.clip_norm)
        if factor == 0:
            continue  # the row counts as zeros
        randomness = _rounding_randomness(key, (*stream, str(unit)))
        for places, integers in rounded_stretches(row, factor, plan.step, randomness):
            with alone:
                total[places] += integers


def _said(block: Block, query: Query) -> Float[np.ndarray, "unit dim"]:
    return positive_parts(block.rows) if query.non_negative else block.rows


def _rounding_randomness(key: NoiseKey, stream: tuple[str, ...]) -> np.random.Generator:
    """Create the generator that stands for a client's own rounding randomness."""
    return np.random.Generator(np.random.SFC64(int.from_bytes(keyed_bytes(key, 16, ("rounding", *stream)), "big")))

"""Noise that is correlated across rounds: what leaves, its covariance, its price, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fedtext.federation import charged_release, mechanism
from fedtext.federation.correlated_sum import PlannedRun, correlated_sum, planned_run
from fedtext.federation.private_samples import PrivateSamples, scheduled
from fedtext.federation.query import Query
from fedtext.federation.units import Block
from fedtext.params.privacy import Privacy
from fedtext.privacy.budget_guard import NoBudgetGuard, guarding
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.ledger import BudgetExceeded, Ledger, Release
from fedtext.privacy.matrix_mechanism import (
    Factorisation,
    banded_factor,
    independent,
    on_weight_grid,
    prefix_sums,
    tree,
)
from fedtext.privacy.noise import NoiseKey, new_noise_key
from tests.parameters import conf_base
from tests.refusals import refuses

KEY = new_noise_key(5)
MULTIPLIER, CLIP_NORM, CLIENTS, ROUNDS, SEPARATION = 2.0, 0.5, 12, 6, 3


def banded(rounds: int = ROUNDS, separation: int = SEPARATION) -> Factorisation:
    workload = prefix_sums(rounds)
    return on_weight_grid(banded_factor(workload, min(rounds, separation)), workload, separation=separation)


FACTORISATIONS = [
    banded(),
    tree(prefix_sums(ROUNDS), separation=SEPARATION),
    tree(prefix_sums(ROUNDS), separation=SEPARATION, honaker=True),
    independent(prefix_sums(ROUNDS), separation=SEPARATION),
]


def ledger(population: int = CLIENTS, **declared: Any) -> Ledger:
    return Ledger(
        declaration=conf_base(Privacy, {"epsilon": 8.0, "delta": 1e-6, "noise_seed": 0, **declared}),
        population=population,
    )


def query(dim: int, round: int = 1, **other: Any) -> Query:
    return Query(
        **{"name": "sums", "round": round, "dim": dim, "clip_norm": CLIP_NORM, "noise_multiplier": MULTIPLIER, **other}
    )


def plan(factorisation: Factorisation, opened: Ledger, dim: int, **other: Any) -> PlannedRun:
    return planned_run(query(dim, **other), factorisation, opened.declaration, opened.population)


def holding(units: np.ndarray) -> PrivateSamples:
    return PrivateSamples.of_one_class(np.zeros((len(units), 0)), units)


def run(
    data: np.ndarray,
    factorisation: Factorisation,
    opened: Ledger,
    key: NoiseKey = KEY,
    enrolled: np.ndarray | None = None,
    **other: Any,
) -> tuple[np.ndarray, Ledger]:
    """All rounds; `data[round, client]` is what a client would send. Released rows in order, and the last ledger."""
    everybody = np.arange(data.shape[1]) if enrolled is None else enrolled
    open_sums, released, charged = np.zeros((0, data.shape[2]), dtype=np.int64), [], opened
    for t in range(1, factorisation.rounds + 1):
        done = correlated_sum(
            query(data.shape[2], t, **other), factorisation,
            lambda held, t=t: [Block(held.unit, data[t - 1, held.unit])],
            holding(everybody), open_sums, charged, key,
        )  # fmt: skip
        open_sums, charged = done.open_sums, done.ledger
        released.append(done.released)
    assert len(open_sums) == 0
    return np.concatenate(released), charged


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        charged_release, "discrete_gaussian", lambda key, *, stddev_on_grid, size, stream: np.zeros(size, np.int64)
    )


def round_sums(data: np.ndarray, separation: int = SEPARATION) -> np.ndarray:
    """X: what the clients whose turn it is add up to, clipped."""
    norms = np.linalg.norm(data, axis=2, keepdims=True)
    clipped = data * np.minimum(1, CLIP_NORM / np.maximum(norms, 1e-300))
    everybody = np.arange(data.shape[1])
    turns = [scheduled(everybody, separation=separation, round=t + 1, key=KEY) for t in range(len(data))]
    return np.array([rows[asked].sum(axis=0) for rows, asked in zip(clipped, turns, strict=True)])


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("factorisation", FACTORISATIONS)
def test_without_noise_the_weighted_sums_leave_and_prefix_sums_are_read(factorisation: Factorisation) -> None:
    data = np.random.default_rng(0).normal(size=(ROUNDS, CLIENTS, 30))
    released, _ = run(data, factorisation, ledger())
    step = 2.0**-13
    assert np.abs(released - factorisation.encoder @ round_sums(data)).max() < 60 * step
    assert np.abs(factorisation.decoder @ released - np.cumsum(round_sums(data), axis=0)).max() < 60 * step


@pytest.mark.parametrize("factorisation", FACTORISATIONS)
def test_the_noise_of_what_is_read_has_covariance_b_b_transposed(factorisation: Factorisation) -> None:
    dim, opened = 20_000, ledger()
    released, _ = run(np.zeros((ROUNDS, CLIENTS, dim)), factorisation, opened)
    stddev = plan(factorisation, opened, dim).release.noise_stddev
    read = factorisation.decoder @ released / stddev
    assert covariance_fits(read, factorisation.decoder)
    assert not covariance_fits(1.05 * read, factorisation.decoder), "5% more noise"
    for other in FACTORISATIONS:
        if not np.array_equal(other.weights, factorisation.weights):
            assert not covariance_fits(read, other.decoder), "the noise of another factorisation"


def covariance_fits(read: np.ndarray, decoder: np.ndarray) -> bool:
    """Whether columns of `read` look drawn from N(0, B B^T): whitened, their squares add up and are uncorrelated."""
    dim = read.shape[1]
    white = np.linalg.solve(np.linalg.cholesky(decoder @ decoder.T), read)
    p_values = [stats.chi2.cdf(np.square(row).sum(), dim) for row in white]
    pairs = np.corrcoef(white)[np.triu_indices(len(white), 1)]
    return bool(all(1e-5 < p < 1 - 1e-5 for p in p_values) and np.abs(pairs).max() < 4.5 / math.sqrt(dim))


def test_released_values_are_on_the_product_of_the_grids() -> None:
    released, _ = run(np.random.default_rng(1).normal(size=(ROUNDS, CLIENTS, 16)), banded(), ledger())
    step = plan(banded(), ledger(), 16).step
    assert step == 2.0**-13 * 2.0**-10
    assert np.array_equal(released / step, np.rint(released / step))


@pytest.mark.parametrize("factorisation", FACTORISATIONS)
def test_the_run_is_charged_once_and_calibrated_exactly(factorisation: Factorisation) -> None:
    opened = ledger(epsilon=1.0)
    multiplier = noise_multiplier(epsilon=1.0, delta=1e-6, rounds=1)
    data = np.zeros((ROUNDS, CLIENTS, 4))
    _, charged = run(data, factorisation, opened, noise_multiplier=multiplier)
    assert len(charged.releases) == 1
    assert charged.epsilon() == pytest.approx(1.0, abs=1e-6)
    only = charged.releases[0]
    assert only.sensitivity == pytest.approx(CLIP_NORM * factorisation.sensitivity, rel=2e-3)
    assert "at most 2, at least 3 apart" in only.mechanism
    with pytest.raises(BudgetExceeded):
        run(data, factorisation, opened, noise_multiplier=0.99 * multiplier)


def moved_by(data: np.ndarray, neighbour: np.ndarray, factorisation: Factorisation) -> np.ndarray:
    first, second = (run(some, factorisation, ledger())[0] for some in (data, neighbour))
    return first - second


@pytest.mark.sampled(every=2)
@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("factorisation", FACTORISATIONS)
def test_no_client_moves_all_rows_by_more_than_the_stated_sensitivity(factorisation: Factorisation) -> None:
    rng = np.random.default_rng(3)
    data, dim = rng.normal(size=(ROUNDS, CLIENTS, 5)), 5
    stated = plan(factorisation, ledger(), dim).release.sensitivity
    whole, largest = run(data, factorisation, ledger())[0], 0.0
    for client in range(CLIENTS):
        for aligned in (False, True):
            changed, other = data.copy(), data.copy()
            changed[:, client] = 0.0
            other[:, client] = 9 * (np.eye(5)[0] if aligned else rng.normal(size=(ROUNDS, 5)))
            if not aligned:  # one who goes moves nobody: what is left is what a client that sends zeros leaves
                left = run(data, factorisation, ledger(), enrolled=np.delete(np.arange(CLIENTS), client))[0]
                assert np.array_equal(left, run(changed, factorisation, ledger())[0])
                assert 0 < np.linalg.norm(whole - left) <= stated
            moved = moved_by(other, changed, factorisation)
            largest = max(largest, float(np.linalg.norm(moved)))
            if aligned:
                changed[:, client] = -other[:, client]
                swapped = moved_by(other, changed, factorisation)
                assert np.linalg.norm(swapped) <= 2 * stated
    assert 0.9 * stated < largest <= stated


def test_the_same_rounds_give_the_same_bytes_and_other_inputs_other_noise() -> None:
    data = np.zeros((ROUNDS, CLIENTS, 2000))
    first, again = run(data, banded(), ledger())[0], run(data, banded(), ledger())[0]
    assert first.tobytes() == again.tobytes()
    other = data.copy()
    other[0, :, 0] = 0.1
    for changed in (
        run(other, banded(), ledger())[0],
        run(data, banded(), ledger(), name="others")[0],
        run(data, banded(), ledger(), public_digest="others")[0],
        run(data, FACTORISATIONS[1], ledger())[0],
        run(data, banded(), ledger(), key=new_noise_key(6))[0],
    ):
        assert abs(np.corrcoef(first[0], changed[0])[0, 1]) < 4 / math.sqrt(2000)


def test_missing_shares_are_made_up_for_once() -> None:
    data = np.zeros((ROUNDS, CLIENTS, 8000))
    ratio = np.std(run(data, banded(), ledger(honest_fraction=0.64))[0]) / np.std(run(data, banded(), ledger())[0])
    assert ratio == pytest.approx(1.25, rel=0.02)


def untouched(held: PrivateSamples) -> Iterator[Block]:
    raise AssertionError("private data were read")
    yield


def ask(round: int = 1, rows: int = 0, paid: Ledger | None = None, blocks_of: Any = untouched) -> None:
    """One round of four numbers, after a round that left so many `rows` open."""
    open_sums = np.zeros((rows, 4), np.int64)
    correlated_sum(query(4, round), banded(), blocks_of, holding(np.arange(CLIENTS)), open_sums, paid or ledger(), KEY)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"round": 2}, "release-of-first-round-missing"),
        ({"round": 7}, "round-beyond-run"),
        ({"rows": 1}, "rounds-out-of-order"),
        ({"paid": ledger(epsilon=0.1)}, "budget-exceeded"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_read(changes: dict[str, Any], code: str) -> None:
    with refuses(code):
        ask(**changes)


def test_a_ledger_that_paid_for_other_weights_does_not_pay_for_these() -> None:
    _, paid = run(np.zeros((ROUNDS, CLIENTS, 4)), FACTORISATIONS[1], ledger())
    with refuses("release-of-first-round-missing"):
        ask(round=4, rows=2, paid=paid)


def test_a_ledger_is_charged_the_very_release_that_it_was_opened_for_whichever_round_planned_it() -> None:
    opened = ledger()
    planned = plan(banded(), opened, 4).release
    assert all(plan(banded(), opened, 4, round=t).release == planned for t in range(1, ROUNDS + 1))
    _, charged = run(np.zeros((ROUNDS, CLIENTS, 4)), banded(), opened.model_copy(update={"planned": (planned,)}))
    assert charged.releases == charged.planned == (planned,)


@pytest.mark.parametrize(
    "declared",
    [{"aggregation": "local"}, {"sampling": "poisson", "clients_per_round": 4}],
)
def test_declarations_that_do_not_fit_are_refused(declared: dict[str, Any]) -> None:
    with refuses("correlated-noise-needs-full-sampling"):
        plan(banded(), ledger(**declared), 4)


def test_adding_or_removing_a_client_costs_what_silencing_it_does() -> None:
    """A client more or less moves nobody to another round, so add_remove can be declared, at the same price."""
    data = np.zeros((ROUNDS, CLIENTS, 4))
    zeroed, removed = (run(data, banded(), ledger(adjacency=one))[1] for one in ("zero_out", "add_remove"))
    assert removed.epsilon() == zeroed.epsilon() < removed.epsilon("replace_one")


@pytest.mark.parametrize("answer", ["another", "twice", "all of them, one twice"])
def test_a_client_that_was_not_asked_or_answers_twice_is_refused(answer: str) -> None:
    asked_in_round_1 = scheduled(np.arange(CLIENTS), separation=SEPARATION, round=1, key=KEY)
    another = np.setdiff1d(np.arange(CLIENTS), asked_in_round_1)[:1]
    once_too_often = np.append(asked_in_round_1, asked_in_round_1[0])
    codes = {"another": another, "twice": asked_in_round_1[[0, 0]]}.get(answer, once_too_often)
    with refuses("contribution-not-asked", value="sums"):
        ask(blocks_of=lambda _: [Block(codes, np.zeros((len(codes), 4)))])


def test_the_gate_stands_before_every_round_and_is_told_of_each() -> None:
    told: list[tuple[str, int]] = []

    class Watch(NoBudgetGuard):
        def admit(self, release: Release, ledger: Ledger, draw: str) -> None:
            told.append(("admit", 0))

        def confirm(self, release: Release, round: int, receipt: str, draw: str) -> None:
            told.append((receipt, round))

    class Shut(NoBudgetGuard):
        def admit(self, release: Release, ledger: Ledger, draw: str) -> None:
            raise RuntimeError("not admitted")

    data = np.zeros((ROUNDS, CLIENTS, 4))
    with guarding(Watch()):
        released, _ = run(data, banded(), ledger())
    assert np.array_equal(released, run(data, banded(), ledger())[0])
    assert [word for word, _ in told[::2]] == ["admit"] * ROUNDS
    assert [round for _, round in told[1::2]] == [1, 2, 3, 4, 5, 6]
    assert len({receipt for receipt, _ in told[1::2]}) == ROUNDS
    with guarding(Shut()), pytest.raises(RuntimeError, match="not admitted"):
        ask()


def test_a_sum_that_could_wrap_is_refused() -> None:
    with refuses("noise-beyond-sampler"):
        plan(banded(), ledger(epsilon=1e-3), 4, noise_multiplier=1e12)


CANARIES, SURE = 1500, 1e-6


def passes_audit(factorisation: Factorisation) -> bool:
    """Every canary has its own coordinate and, on a coin's toss, sends ten times the allowed norm whenever asked.

    The auditor weights all released rows as the likelihood ratio does. A run of noise multiplier s makes each guess
    right with probability at most Phi(1 / 2s), and guesses are independent: their number is binomial.
    """
    present = np.random.default_rng(7).integers(0, 2, CANARIES).astype(bool)
    data = np.broadcast_to(np.diag(10 * CLIP_NORM * present), (ROUNDS, CANARIES, CANARIES))
    released, _ = run(data, factorisation, ledger(CANARIES))
    signal = np.zeros((len(released), CANARIES))
    for t in range(1, ROUNDS + 1):
        asked = scheduled(np.arange(CANARIES), separation=SEPARATION, round=t, key=KEY)
        signal[:, asked] += CLIP_NORM * factorisation.encoder[:, t - 1, None]
    seen = (signal * released).sum(axis=0) / np.square(signal).sum(axis=0)
    right = int(((seen > 0.5) == present).sum())
    assert right > 0.55 * CANARIES, "the audit sees nothing at all"
    return bool(stats.binom.sf(right - 1, CANARIES, stats.norm.cdf(1 / (2 * MULTIPLIER))) > SURE)


@pytest.mark.parametrize("factorisation", FACTORISATIONS)
def test_the_audit_passes(factorisation: Factorisation) -> None:
    assert passes_audit(factorisation)


@pytest.mark.parametrize("factorisation", FACTORISATIONS[:2])
def test_the_audit_fails_without_the_clip(monkeypatch: pytest.MonkeyPatch, factorisation: Factorisation) -> None:
    monkeypatch.setattr(mechanism, "clip_rows", lambda rows, clip_norm: rows)
    assert not passes_audit(factorisation)


def test_the_audit_fails_with_half_the_noise_of_the_participations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Priced as one participation where each client takes part in two rounds, and then in all of them."""
    whole = Factorisation.__dict__["sensitivity"].func
    monkeypatch.setattr(Factorisation, "sensitivity", property(lambda self: whole(self) / 2))
    assert not passes_audit(FACTORISATIONS[0])

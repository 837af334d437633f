"""Contributions without a negative coordinate: what replacing one can move, what it costs, and that the door keeps it.

Three ways: a search through the real clip and grid, the same search with signs (so that the claim matters), and an
audit of the real mechanism, whose lower bound on epsilon lies between a price that is too low and the one charged.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fedtext.federation import charged_release, mechanism
from fedtext.federation.mechanism import client_messages, planned_sum
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import release_noisy_sum
from fedtext.federation.units import Block
from fedtext.params.privacy import Privacy
from fedtext.privacy.accounting import epsilon
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.dominating_pairs import gaussian_epsilon
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from tests.parameters import conf_base

DELTA, KEY = 1e-6, new_noise_key(8)
Shape = Literal["dense", "sparse", "one", "faint"]


def on_the_grid(row: np.ndarray, seed: int, **changes: Any) -> tuple[np.ndarray, float]:
    """What a client sends, in units of the sum, and the sensitivity that is charged for it."""
    query = Query(**{"name": "votes", "round": 1, "dim": len(row), "clip_norm": 1.0, "noise_multiplier": 9.0} | changes)
    plan = planned_sum(query, conf_base(Privacy, epsilon=8.0, delta=DELTA), 1000)
    code = np.array([seed])
    ((_, message),) = client_messages([Block(code, row[None])], plan, code, KEY, ("search",))
    return message * plan.step, plan.release.sensitivity


def drawn(rng: np.random.Generator, dim: int, shape: Shape) -> np.ndarray:
    """A row of many kinds: dense, few coordinates, a single one, or so small that rounding decides what is left."""
    row = rng.exponential(size=dim) * {"dense": 1.0, "sparse": 4.0, "one": 9.0, "faint": 1e-4}[shape]
    if shape in ("sparse", "one"):
        row *= rng.permutation(dim) < (1 if shape == "one" else max(1, dim // 3))
    return row


SHAPES = st.sampled_from(["dense", "sparse", "one", "faint"])


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**31), dim=st.integers(1, 30), shapes=st.tuples(SHAPES, SHAPES),
    clip_norm=st.sampled_from([0.01, 1.0, 7.0]), signed=st.booleans(),
)  # fmt: skip
def test_no_two_rows_through_the_grid_are_further_apart_than_a_right_angle(
    seed: int, dim: int, shapes: tuple[Shape, Shape], clip_norm: float, signed: bool
) -> None:
    """Whatever is handed in, signs too: the door makes it non-negative, and rounding keeps it so."""
    rng = np.random.default_rng(seed)
    rows = [clip_norm * drawn(rng, dim, shape) * (rng.choice([-1, 1], dim) if signed else 1) for shape in shapes]
    claim = {"non_negative": True, "clip_norm": clip_norm}
    (one, stated), (other, _) = (on_the_grid(row, i, **claim) for i, row in enumerate(rows))
    assert min(one.min(), other.min()) >= 0
    assert max(np.linalg.norm(one), np.linalg.norm(other)) <= stated
    assert np.linalg.norm(one - other) <= math.sqrt(2) * stated


def test_two_clients_with_disjoint_votes_reach_it() -> None:
    (one, stated), (other, _) = (on_the_grid(row, i, non_negative=True) for i, row in enumerate(np.eye(40)[:2] * 9))
    assert 1.41 < np.linalg.norm(one - other) <= math.sqrt(2) * stated


def test_signed_rows_are_further_apart_so_the_claim_is_needed() -> None:
    """The same search without the claim: opposed rows are twice the clip apart, and many pairs more than sqrt 2."""
    rng, apart = np.random.default_rng(0), []
    for seed in range(200):
        rows = rng.normal(size=(2, 3)) * 9
        (one, stated), (other, _) = (on_the_grid(row, seed + i) for i, row in enumerate(rows))
        apart.append(np.linalg.norm(one - other) / stated)
    assert max(apart) > 1.9
    assert np.mean(np.array(apart) > math.sqrt(2)) > 0.2


@pytest.mark.parametrize(("bad", "left"), [(np.nan, 0.0), (np.inf, 0.0), (1e200, 0.0), (-np.inf, 1.0), (-5.0, 1.0)])
def test_a_coordinate_below_zero_counts_as_zero_and_a_broken_row_is_silent(bad: float, left: float) -> None:
    sent, _ = on_the_grid(np.array([1.0, bad, 0.0]), 1, non_negative=True)
    assert sent == pytest.approx([left, 0, 0], abs=1e-3)


def test_the_claim_moves_no_byte_of_what_is_non_negative_anyway() -> None:
    rows = np.abs(np.random.default_rng(2).normal(size=(9, 12)))
    held = PrivateSamples.of_one_class(rows, np.arange(9))
    opened = Ledger(declaration=conf_base(Privacy, epsilon=8.0, delta=DELTA, noise_seed=0), population=9)
    plain, votes = (
        release_noisy_sum(
            Query("votes", 1, 12, 1.0, 9.0, claim), lambda held: [Block(held.unit, held.features)], held, opened, KEY
        )
        for claim in (False, True)
    )
    assert plain.sum.tobytes() == votes.sum.tobytes()
    assert plain.ledger.epsilon() == votes.ledger.epsilon()
    assert votes.ledger.epsilon("replace_one") < 0.75 * plain.ledger.epsilon("replace_one")


@pytest.mark.parametrize(
    "declared", [{}, {"sampling": "poisson", "rate": 0.1}, {"sampling": "fixed_size", "rate": 0.1}]
)
def test_noise_is_calibrated_to_the_smaller_move_under_replace_one_and_to_no_other(declared: dict[str, Any]) -> None:
    known = {"delta": DELTA, "rounds": 5, **declared}
    plain, votes = (
        noise_multiplier(epsilon=1.0, adjacency="replace_one", non_negative=sign, **known) for sign in (False, True)
    )
    assert 0.5 < votes / plain < (0.75 if not declared else 0.9)
    assert epsilon(noise_multiplier=votes, adjacency="replace_one", non_negative=True, **known) <= 1.0
    assert epsilon(noise_multiplier=0.999 * votes, adjacency="replace_one", non_negative=True, **known) > 1.0
    same = {noise_multiplier(epsilon=1.0, adjacency="zero_out", non_negative=sign, **known) for sign in (False, True)}
    assert len(same) == 1


def test_without_sampling_the_move_is_exactly_sqrt_2() -> None:
    for accountant in ("pld", "rdp"):
        known = {"delta": DELTA, "rounds": 5, "accountant": accountant}
        votes = epsilon(noise_multiplier=9.0 * math.sqrt(2), adjacency="replace_one", non_negative=True, **known)
        assert votes == pytest.approx(epsilon(noise_multiplier=9.0, **known), rel=1e-9)


CANARIES, MULTIPLIER, SURE = 3000, 1.0, 1e-6


def audited(rows: tuple[float, float], non_negative: bool, seed: int = 0) -> float:
    """A lower bound on epsilon, wrong with probability `SURE`: each canary is one of two clients, and is guessed.

    Canary i has two coordinates and sends `rows[0]` in the first or, if a coin says so, `rows[1]` in the second; the
    sign of the difference tells best. A shift of m makes a guess right with probability at most Phi(m / 2), so a lower
    confidence limit of how many were right is one of m, whose epsilon is exact.
    """
    coin = np.random.default_rng(seed).integers(0, 2, CANARIES)
    heard = np.zeros((CANARIES, 2))
    heard[np.arange(CANARIES), coin] = np.asarray(rows)[coin]

    def blocks_of(held: PrivateSamples) -> list[Block]:
        blocks = []
        for units in np.array_split(held.unit, 30):
            sparse = np.zeros((len(units), 2 * CANARIES))
            for side in (0, 1):
                sparse[np.arange(len(units)), 2 * units + side] = heard[units, side]
            blocks.append(Block(units, sparse))
        return blocks

    everybody = PrivateSamples.of_one_class(np.zeros((CANARIES, 0)), np.arange(CANARIES))
    declared = conf_base(Privacy, epsilon=50.0, delta=DELTA, adjacency="replace_one", noise_seed=seed)
    query = Query("audit", 1, 2 * CANARIES, 1.0, MULTIPLIER, non_negative)
    seen = release_noisy_sum(
        query, blocks_of, everybody, Ledger(declaration=declared, population=CANARIES), new_noise_key(seed)
    )
    score = seen.sum.reshape(CANARIES, 2) @ np.array([-rows[0], rows[1]])
    right = int(((score > (rows[1] ** 2 - rows[0] ** 2) / 2) == coin.astype(bool)).sum())
    surely = float(stats.beta.ppf(SURE, right, CANARIES - right + 1))
    return gaussian_epsilon(max(2 * float(stats.norm.ppf(surely)), 1e-9), DELTA)


PRICE = epsilon(noise_multiplier=MULTIPLIER, delta=DELTA, rounds=1, adjacency="replace_one", non_negative=True)
TOO_LOW = epsilon(noise_multiplier=MULTIPLIER, delta=DELTA, rounds=1)  # as if replacing one moved the sum by one clip


@pytest.mark.parametrize("seed", range(2))
def test_the_audit_s_bound_is_below_the_price_and_above_one_that_is_too_low(seed: int) -> None:
    assert TOO_LOW < audited((1.0, 1.0), non_negative=True, seed=seed) <= PRICE


def test_the_audit_catches_a_price_for_votes_on_a_mechanism_that_lets_signs_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Opposed rows, on one coordinate: within the price as long as the door keeps the sign, beyond it if not."""
    assert opposed() <= PRICE
    monkeypatch.setattr(mechanism, "positive_parts", lambda rows: rows)
    assert opposed() > PRICE


def test_the_audit_catches_too_little_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = charged_release.discrete_gaussian
    monkeypatch.setattr(
        charged_release, "discrete_gaussian", lambda *a, **k: np.rint(0.7 * whole(*a, **k)).astype(np.int64)
    )
    assert audited((1.0, 1.0), non_negative=True) > PRICE


def opposed() -> float:
    """As `audited`, of canaries that send a clip's worth up or down in one coordinate of their own."""
    coin = np.random.default_rng(3).integers(0, 2, CANARIES)

    def blocks_of(held: PrivateSamples) -> list[Block]:
        blocks = []
        for units in np.array_split(held.unit, 15):
            rows = np.zeros((len(units), CANARIES))
            rows[np.arange(len(units)), units] = 2.0 * coin[units] - 1
            blocks.append(Block(units, rows))
        return blocks

    everybody = PrivateSamples.of_one_class(np.zeros((CANARIES, 0)), np.arange(CANARIES))
    opened = Ledger(declaration=conf_base(Privacy, epsilon=50.0, delta=DELTA, noise_seed=3), population=CANARIES)
    seen = release_noisy_sum(
        Query("audit", 1, CANARIES, 1.0, MULTIPLIER, True), blocks_of, everybody, opened, new_noise_key(3)
    ).sum
    right = int(((seen > np.median(seen)) == coin.astype(bool)).sum())
    surely = float(stats.beta.ppf(SURE, right, CANARIES - right + 1))
    return gaussian_epsilon(max(2 * float(stats.norm.ppf(surely)), 1e-9), DELTA)

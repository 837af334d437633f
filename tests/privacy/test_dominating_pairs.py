"""The dominating pairs of Gaussian releases, against integrals and a search for worse neighbours."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.privacy.dominating_pairs import gaussian_delta, gaussian_epsilon, gaussian_pair, gaussian_shift, worst_pair
from tests.refusals import refuses

LINE = np.linspace(-15, 20, 350_001)


def density(centre: float) -> np.ndarray:
    return np.exp(-((LINE - centre) ** 2) / 2) / math.sqrt(2 * math.pi)


@settings(max_examples=25)
@given(shift=st.floats(0.05, 4), epsilon=st.floats(0, 6))
def test_delta_is_the_hockey_stick_divergence(shift, epsilon) -> None:
    excess = np.maximum(density(shift) - math.exp(epsilon) * density(0.0), 0)
    found = gaussian_delta(shift, np.array([epsilon]))[0]
    assert found == pytest.approx(excess.sum() * (LINE[1] - LINE[0]), abs=1e-8)


@settings(max_examples=100)
@given(epsilon=st.floats(1e-3, 200), log_delta=st.floats(-60, -1))
def test_shift_and_epsilon_are_inverse(epsilon, log_delta) -> None:
    delta = math.exp(log_delta)
    assert gaussian_epsilon(gaussian_shift(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("shift", [1e-4, 1e-2, 1.0, 30.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-5, 0.4, 0.9])
def test_epsilon_is_the_smallest(shift, delta) -> None:
    epsilon = gaussian_epsilon(shift, delta)
    assert gaussian_delta(shift, np.array([epsilon]))[0] <= delta * (1 + 1e-6)
    if epsilon > 0:
        assert gaussian_delta(shift, np.array([epsilon * 0.999]))[0] > delta


RATES = st.floats(0.01, 0.95)
SHIFTS = st.floats(0.05, 3.0)
EPSILONS = st.floats(0.0, 4.0)
PRICED = [
    ("poisson", "zero_out"),
    ("poisson", "add_remove"),
    ("poisson", "replace_one"),
    ("fixed_size", "zero_out"),
    ("fixed_size", "replace_one"),
]


def mixture(x: np.ndarray, rate: float, drawn: float, left_out: float = 0.0) -> np.ndarray:
    """Density at x of a release from which the unit is left out with probability 1 - rate."""
    at = [np.exp(-((x - centre) ** 2) / 2) / math.sqrt(2 * math.pi) for centre in (left_out, drawn)]
    return (1 - rate) * at[0] + rate * at[1]


def divergence(p: np.ndarray, q: np.ndarray, epsilon: float, cell: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * cell)


LINE_WORST_PAIRS = np.linspace(-20, 20, 80_001)
CELL = float(LINE_WORST_PAIRS[1] - LINE_WORST_PAIRS[0])


def stated_pair(sampling: str, adjacency: str, q: float, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """Densities of the module's table."""
    if sampling == "poisson":
        other = mixture(LINE_WORST_PAIRS, q, -mu) if adjacency == "replace_one" else mixture(LINE_WORST_PAIRS, q, 0.0)
        return mixture(LINE_WORST_PAIRS, q, mu), other
    return mixture(LINE_WORST_PAIRS, q, 2 * mu), mixture(LINE_WORST_PAIRS, q, mu if adjacency == "zero_out" else 0.0)


@pytest.mark.parametrize(("sampling", "adjacency"), PRICED)
@settings(max_examples=40)
@given(q=RATES, mu=SHIFTS, epsilon=EPSILONS)
def test_closed_forms_are_the_divergences(sampling, adjacency, q, mu, epsilon) -> None:
    out, _ = worst_pair(sampling, adjacency, q, mu)
    p, other = stated_pair(sampling, adjacency, q, mu)
    assert out.delta(np.array([epsilon]))[0] == pytest.approx(divergence(p, other, epsilon, CELL), abs=2e-6)


@settings(max_examples=40)
@given(q=RATES, mu=SHIFTS, epsilon=EPSILONS)
def test_closed_forms_of_the_way_back(q, mu, epsilon) -> None:
    nothing, with_unit = mixture(LINE_WORST_PAIRS, q, 0.0), mixture(LINE_WORST_PAIRS, q, mu)
    _, back = worst_pair("poisson", "zero_out", q, mu)
    assert back.delta(np.array([epsilon]))[0] == pytest.approx(divergence(nothing, with_unit, epsilon, CELL), abs=2e-6)
    # In a fixed-size draw the zeroed unit can be the one that is 'closer': its neighbour's substitute moves as it does.
    _, back = worst_pair("fixed_size", "zero_out", q, mu)
    assert back.delta(np.array([epsilon]))[0] == pytest.approx(divergence(with_unit, nothing, epsilon, CELL), abs=2e-6)


@settings(max_examples=15)
@given(q=RATES, mu=SHIFTS, epsilon=EPSILONS)
def test_of_non_negative_contributions_the_worst_stand_at_a_right_angle(q, mu, epsilon) -> None:
    """The integral over the plane, written out, against the module's; less than of opposed contributions."""
    axis = np.arange(-9.0, 12.0, 0.02)
    ratio = (1 - q) + q * np.exp(mu * axis - mu * mu / 2)
    weight = np.exp(-(axis**2) / 2) / math.sqrt(2 * math.pi) * 0.02
    grid, brute = np.array([epsilon]), 0.0
    for own, other in zip(weight, ratio, strict=True):
        brute += own * float(np.maximum(ratio - math.exp(epsilon) * other, 0) @ weight)
    out, back = worst_pair("poisson", "replace_one", q, mu, non_negative=True)
    assert out.delta(grid)[0] == pytest.approx(brute, abs=2e-5)
    assert back is out
    assert out.delta(grid)[0] <= worst_pair("poisson", "replace_one", q, mu)[0].delta(grid)[0] + 1e-12
    fixed, _ = worst_pair("fixed_size", "replace_one", q, mu, non_negative=True)
    apart = mixture(LINE_WORST_PAIRS, q, math.sqrt(2) * mu), mixture(LINE_WORST_PAIRS, q, 0.0)
    assert fixed.delta(grid)[0] == pytest.approx(divergence(*apart, epsilon, CELL), abs=2e-6)


KINK = 1e-3  # error of a sum over the plane along the edge of the event; a wrong pair errs by 1e-2 and more


def plane(reach: float) -> tuple[np.ndarray, float]:
    axis = np.arange(-reach, reach, 0.12)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1), 0.12**2


def at(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    return np.exp(-((points - centre) ** 2).sum(axis=-1) / 2) / (2 * math.pi)


@pytest.mark.parametrize(("sampling", "adjacency"), PRICED)
@settings(max_examples=25)
@given(q=RATES, mu=st.floats(0.1, 2.0), epsilon=EPSILONS, seed=st.integers(0, 2**32 - 1), wide=st.booleans())
def test_no_contributions_in_the_unit_disc_do_worse(sampling, adjacency, q, mu, epsilon, seed, wide) -> None:
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * math.pi, 3)
    radius = np.ones(3) if wide else np.sqrt(rng.uniform(0, 1, 3))
    unit, changed, substitute = mu * radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    if adjacency != "replace_one":
        changed = np.zeros(2)
    if sampling == "poisson":
        substitute = np.zeros(2)
    points, cell = plane(mu + 6)
    left_out = (1 - q) * at(points, substitute)
    p, other = left_out + q * at(points, unit), left_out + q * at(points, changed)
    out, back = worst_pair(sampling, adjacency, q, mu)
    grid = np.array([epsilon])
    assert divergence(p, other, epsilon, cell) <= out.delta(grid)[0] + KINK
    assert divergence(other, p, epsilon, cell) <= back.delta(grid)[0] + KINK


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
@settings(max_examples=40)
@given(q=RATES, mu=st.floats(0.1, 2.0), epsilon=EPSILONS, seed=st.integers(0, 2**32 - 1), wide=st.booleans())
def test_no_contributions_in_a_quarter_of_the_disc_do_worse(sampling, q, mu, epsilon, seed, wide) -> None:
    rng = np.random.default_rng(seed)
    angle = rng.choice([0, math.pi / 2], 3) if wide else rng.uniform(0, math.pi / 2, 3)
    radius = np.ones(3) if wide else np.sqrt(rng.uniform(0, 1, 3))
    unit, changed, substitute = mu * radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    points, cell = plane(mu + 6)
    left_out = (1 - q) * at(points, substitute if sampling == "fixed_size" else np.zeros(2))
    p, other = left_out + q * at(points, unit), left_out + q * at(points, changed)
    out, _ = worst_pair(sampling, "replace_one", q, mu, non_negative=True)
    grid = np.array([epsilon])
    assert divergence(p, other, epsilon, cell) <= out.delta(grid)[0] + KINK


def test_opposed_contributions_do_worse_than_the_right_angle_so_the_search_could_fail() -> None:
    q, mu, grid = 0.5, 1.0, np.array([0.5])
    points, cell = plane(mu + 6)
    left_out, (east, west) = (1 - q) * at(points, np.zeros(2)), (np.array([mu, 0]), np.array([-mu, 0]))
    true = divergence(left_out + q * at(points, east), left_out + q * at(points, west), 0.5, cell)
    assert true > worst_pair("poisson", "replace_one", q, mu, non_negative=True)[0].delta(grid)[0] + 20 * KINK


@pytest.mark.parametrize("adjacency", ["zero_out", "add_remove"])
def test_the_sign_tells_under_replace_one_alone(adjacency) -> None:
    grid = np.linspace(0, 3, 7)
    for plain, votes in zip(*(worst_pair("poisson", adjacency, 0.2, 0.9, non_negative=n) for n in (False, True)),
                            strict=True):  # fmt: skip
        assert np.array_equal(plain.delta(grid), votes.delta(grid))


@pytest.mark.parametrize("adjacency", ["zero_out", "replace_one"])
def test_a_fixed_size_draw_is_as_bad_as_stated_and_worse_than_poisson(adjacency) -> None:
    """Every draw of 2 of 5 units, written out: the bound is met by opposed data, and Poisson's is broken by it."""
    n, m, mu, epsilon = 5, 2, 0.7, 0.3
    others = [-mu] * (n - 1)
    changed = 0.0 if adjacency == "zero_out" else -mu

    def density(unit: float) -> np.ndarray:
        data = [unit, *others]
        sums = [sum(data[i] for i in drawn) for drawn in combinations(range(n), m)]
        return np.mean([mixture(LINE_WORST_PAIRS, 1.0, s) for s in sums], axis=0)

    true = divergence(density(mu), density(changed), epsilon, CELL)
    grid = np.array([epsilon])
    fixed, poisson = (worst_pair(kind, adjacency, m / n, mu)[0].delta(grid)[0] for kind in ("fixed_size", "poisson"))
    assert true == pytest.approx(fixed, abs=1e-6)
    assert true > 1.2 * poisson


@pytest.mark.parametrize(("sampling", "adjacency"), PRICED)
def test_nothing_is_lost_beyond_the_top(sampling, adjacency) -> None:
    pairs = [worst_pair(sampling, adjacency, 0.1, 0.8, non_negative=sign) for sign in (False, True)]
    for half in {id(half): half for pair in pairs for half in pair}.values():
        assert 0 <= half.delta(np.array([half.top]))[0] < 1e-20
        assert half.delta(np.array([half.top / 2]))[0] > 0


def test_a_rate_near_one_is_the_gaussian() -> None:
    epsilons = np.array([0.0, 0.5, 1.5])
    for adjacency, factor in (("zero_out", 1), ("replace_one", 2)):
        for sampling in ("poisson", "fixed_size"):
            out, _ = worst_pair(sampling, adjacency, 1 - 1e-9, 0.9)
            assert out.delta(epsilons) == pytest.approx(gaussian_pair(0.9 * factor)[0].delta(epsilons), abs=1e-7)
    for sampling in ("poisson", "fixed_size"):
        out, _ = worst_pair(sampling, "replace_one", 1 - 1e-9, 0.9, non_negative=True)
        assert out.delta(epsilons) == pytest.approx(gaussian_pair(0.9 * 2**0.5)[0].delta(epsilons), abs=1e-7)


def test_fixed_size_under_add_remove_is_refused() -> None:
    with refuses("fixed-size-needs-public-population", value="add_remove"):
        worst_pair("fixed_size", "add_remove", 0.1, 1.0)

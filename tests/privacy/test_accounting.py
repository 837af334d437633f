"""The analytic Gaussian: against the definition, against its own inverse, at extreme values.

- The worst pairs, against brute force: their divergence is right, and no contributions do worse.
- Composition: against dp_accounting's own accountants where it has one, and never below what is exact.
- The accountant's face: what it refuses, how epsilon moves, and how it stands beside Opacus' two accountants.
"""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.privacy import accounting
from fedtext.privacy.accounting import SampledGaussian, composed_epsilon, epsilon
from fedtext.privacy.dominating_pairs import gaussian_epsilon
from tests.refusals import refuses

DELTA = 3e-6
POISSON = SampledGaussian("poisson", 0.1, 1 / 2.5, 20)


def library_epsilon(adjacency: str, events: list[tuple[object, int]]) -> float:
    from dp_accounting import privacy_accountant
    from dp_accounting.pld import PLDAccountant

    relation = privacy_accountant.NeighboringRelation[
        "REPLACE_ONE" if adjacency == "replace_one" else "ADD_OR_REMOVE_ONE"
    ]
    accountant = PLDAccountant(relation, value_discretization_interval=1e-3)
    for event, count in events:
        accountant.compose(event, count)
    return accountant.get_epsilon(DELTA)


@pytest.mark.parametrize("adjacency", ["zero_out", "add_remove", "replace_one"])
def test_poisson_sampling_as_the_library_prices_it(adjacency) -> None:
    import dp_accounting

    event = dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.GaussianDpEvent(2.5))
    found = composed_epsilon([POISSON], delta=DELTA, adjacency=adjacency)
    assert found == pytest.approx(library_epsilon(adjacency, [(event, 20)]), abs=1e-4)


@pytest.mark.parametrize("adjacency", ["zero_out", "replace_one"])
def test_sampled_and_unsampled_releases_together(adjacency) -> None:
    import dp_accounting

    norm = 2.0 if adjacency == "replace_one" else 1.0  # the library takes an unsampled multiplier per sensitivity
    events = [
        (dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.GaussianDpEvent(2.5)), 20),
        (dp_accounting.PoissonSampledDpEvent(0.3, dp_accounting.GaussianDpEvent(4.0)), 5),
    ]
    releases = [POISSON, SampledGaussian("poisson", 0.3, 1 / 4.0, 5)]
    apart = library_epsilon(adjacency, events)
    assert composed_epsilon(releases, delta=DELTA, adjacency=adjacency) == pytest.approx(apart, abs=2e-4)
    both = [*releases, SampledGaussian("full", 1.0, 1 / 3.0, 2)]
    if adjacency == "zero_out":
        together = library_epsilon(adjacency, [*events, (dp_accounting.GaussianDpEvent(3.0), 2)])
        assert composed_epsilon(both, delta=DELTA, adjacency=adjacency) == pytest.approx(together, abs=2e-4)
    alone = gaussian_epsilon(norm * 2**0.5 / 3.0, DELTA)
    assert max(apart, alone) < composed_epsilon(both, delta=DELTA, adjacency=adjacency) < apart + alone


@pytest.mark.parametrize("adjacency", ["zero_out", "add_remove", "replace_one"])
def test_beside_a_release_with_hardly_any_noise_sampling_is_not_counted(adjacency) -> None:
    """A control without noise, as dpprefsyn_no_noise: its epsilon is of billions, and it must have one."""
    bare = SampledGaussian("full", 1.0, 1e6)
    found = composed_epsilon([POISSON, bare], delta=DELTA, adjacency=adjacency)
    alone = composed_epsilon([bare], delta=DELTA, adjacency=adjacency)
    assert alone <= found <= alone * (1 + 1e-6)


def test_fixed_size_lies_between_its_worst_fixed_data_and_renyi_accounting() -> None:
    """2.6 in the design note: opposed data in every round cost 2.571; what can be proven is 2.672."""
    import dp_accounting
    from dp_accounting import privacy_accountant
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
    from dp_accounting.rdp import RdpAccountant

    found = composed_epsilon([SampledGaussian("fixed_size", 0.1, 1 / 2.5, 20)], delta=DELTA, adjacency="replace_one")
    opposed = from_gaussian_mechanism(2.5, sensitivity=2, sampling_prob=0.1, value_discretization_interval=1e-3)
    attained = opposed.self_compose(20).get_epsilon_for_delta(DELTA)
    renyi = RdpAccountant(neighboring_relation=privacy_accountant.NeighboringRelation.REPLACE_ONE)
    # The library wants the multiplier of the replace-one sensitivity, which is two clip norms.
    renyi.compose(
        dp_accounting.SampledWithoutReplacementDpEvent(10_000, 1_000, dp_accounting.GaussianDpEvent(1.25)), 20
    )
    assert attained == pytest.approx(2.571, abs=1e-3)
    assert found == pytest.approx(2.672, abs=1e-3)
    assert attained < found < renyi.get_epsilon(DELTA)


def test_order_and_grouping_do_not_matter() -> None:
    mixed = [POISSON, SampledGaussian("full", 1.0, 0.1), SampledGaussian("fixed_size", 0.2, 0.2, 3)]
    parts = [SampledGaussian(k.sampling, k.rate, k.shift) for k in mixed for _ in range(k.rounds)]
    whole = composed_epsilon(mixed, delta=DELTA, adjacency="zero_out")
    assert composed_epsilon(parts[::-1], delta=DELTA, adjacency="zero_out") == whole


def test_full_participation_is_exact_whatever_it_is_called() -> None:
    exact = gaussian_epsilon(20**0.5 / 19.3, DELTA)
    for sampling in ("full", "poisson", "fixed_size"):
        everyone = SampledGaussian(sampling, 1.0, 1 / 19.3, 20)
        assert composed_epsilon([everyone], delta=DELTA, adjacency="zero_out") == pytest.approx(exact, rel=1e-12)


def test_a_fine_grid_changes_nothing_that_matters(monkeypatch) -> None:
    from fedtext.privacy import accounting

    round_counts = composed_epsilon([POISSON], delta=DELTA, adjacency="zero_out")
    step = accounting._grid_step
    monkeypatch.setattr(accounting, "_grid_step", lambda parts: step(parts) / 8)
    accounting._composed_epsilon.cache_clear()
    fine = composed_epsilon([POISSON], delta=DELTA, adjacency="zero_out")
    accounting._composed_epsilon.cache_clear()
    assert fine < round_counts < fine + 1e-5


def test_the_grid_is_exact_enough_for_the_smallest_delta() -> None:
    """A Gaussian put on the grid, beside the closed form: where rounding would show first."""
    from fedtext.privacy import accounting

    pair = accounting.gaussian_pair(1.0)
    for delta in (1e-5, accounting.SMALLEST_DELTA):
        found = accounting._one_way_epsilon([(pair, 10)], 5e-4, delta)
        assert found == pytest.approx(gaussian_epsilon(10**0.5, delta), rel=1e-4)


def test_too_small_a_delta_is_refused_only_with_sampling() -> None:
    with refuses("delta-too-small", parameter="delta", value=1e-12):
        composed_epsilon([POISSON], delta=1e-12, adjacency="zero_out")
    assert composed_epsilon([SampledGaussian("full", 1.0, 0.1)], delta=1e-12, adjacency="zero_out") > 0


def test_nothing_costs_nothing() -> None:
    assert composed_epsilon([], delta=DELTA, adjacency="zero_out") == 0.0


POPRI = {"noise_multiplier": 2.5, "delta": 3e-6, "rounds": 20}
SAMPLED = {**POPRI, "sampling": "poisson", "rate": 0.1}


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"noise_multiplier": 0.0}, "noise-multiplier-out-of-range"),
        ({"noise_multiplier": -1.0}, "noise-multiplier-out-of-range"),
        ({"noise_multiplier": float("nan")}, "noise-multiplier-out-of-range"),
        ({"noise_multiplier": float("inf")}, "noise-multiplier-out-of-range"),
        ({"delta": 0.0}, "delta-out-of-range"),
        ({"delta": 1.0}, "delta-out-of-range"),
        ({"delta": float("nan")}, "delta-out-of-range"),
        ({"rounds": 0}, "rounds-out-of-range"),
        ({"rounds": 2.5}, "rounds-out-of-range"),
        ({"rounds": True}, "rounds-out-of-range"),
        ({"adjacency": "swap"}, "unknown-choice"),
        ({"sampling": "shuffle"}, "unknown-choice"),
        ({"sampling": "poisson", "rate": 0.0}, "rate-out-of-range"),
        ({"sampling": "poisson", "rate": 1.1}, "rate-out-of-range"),
        ({"sampling": "fixed_size", "rate": float("nan")}, "rate-out-of-range"),
        ({"rate": 0.5}, "rate-of-all-below-one"),
        ({"accountant": "moments"}, "unknown-choice"),
        ({"sampling": "fixed_size", "rate": 0.1, "adjacency": "add_remove"}, "fixed-size-needs-public-population"),
        ({"sampling": "fixed_size", "rate": 0.1, "accountant": "rdp"}, "accountant-cannot-price"),
        (
            {"sampling": "poisson", "rate": 0.1, "adjacency": "replace_one", "accountant": "rdp"},
            "accountant-cannot-price",
        ),
    ],
)
def test_what_cannot_be_priced_is_refused_by_name_and_value(changed, code) -> None:
    with refuses(code) as caught:
        epsilon(**{**POPRI, **changed})
    assert caught.value.parameter in changed


def test_arguments_are_named() -> None:
    with pytest.raises(TypeError):
        epsilon(2.5, 3e-6, 20)  # type: ignore[misc]


@settings(max_examples=12)
@given(
    multiplier=st.floats(0.6, 30),
    rounds=st.integers(1, 40),
    rate=st.floats(0.01, 1),
    sampling=st.sampled_from(["poisson", "fixed_size"]),
    adjacency=st.sampled_from(["zero_out", "replace_one"]),
)
def test_epsilon_grows_with_rounds_and_falls_with_noise(multiplier, rounds, rate, sampling, adjacency) -> None:
    def cost(noise: float, rounds: int, rate: float = rate) -> float:
        return epsilon(
            noise_multiplier=noise, delta=1e-5, rounds=rounds, adjacency=adjacency, sampling=sampling, rate=rate
        )

    here, slack = cost(multiplier, rounds), 1.1e-5  # of the grid: 1.006e-5 at a rate next to 1
    assert cost(multiplier, 2 * rounds) > here
    assert cost(multiplier * 1.1, rounds) < here + slack
    assert cost(multiplier, rounds, rate=rate / 2) < here + slack
    everyone = epsilon(noise_multiplier=multiplier, delta=1e-5, rounds=rounds, adjacency=adjacency)
    assert here <= everyone + slack


def test_rounds_without_sampling_are_one_release_of_less_noise() -> None:
    together = epsilon(**POPRI)
    assert together == pytest.approx(epsilon(noise_multiplier=2.5 / 20**0.5, delta=3e-6, rounds=1), rel=1e-12)


@pytest.mark.parametrize("accountant", ["pld", "rdp"])
def test_replace_one_doubles_the_norm_without_sampling(accountant) -> None:
    doubled = epsilon(noise_multiplier=20.0, delta=3e-6, rounds=20, adjacency="replace_one", accountant=accountant)
    assert doubled == pytest.approx(epsilon(noise_multiplier=10.0, delta=3e-6, rounds=20, accountant=accountant))


def test_adjacencies_and_samplings_in_order() -> None:
    cost = {
        (sampling, adjacency): epsilon(**POPRI, sampling=sampling, rate=0.1, adjacency=adjacency)
        for sampling, adjacency in [
            ("poisson", "zero_out"),
            ("poisson", "add_remove"),
            ("poisson", "replace_one"),
            ("fixed_size", "zero_out"),
            ("fixed_size", "replace_one"),
        ]
    }
    assert cost["poisson", "zero_out"] == cost["poisson", "add_remove"] == pytest.approx(0.8588, abs=1e-4)
    assert cost["poisson", "replace_one"] == pytest.approx(1.4947, abs=1e-4)
    assert cost["fixed_size", "zero_out"] == pytest.approx(1.6078, abs=1e-4)
    assert cost["fixed_size", "replace_one"] == pytest.approx(2.6722, abs=1e-4)


def by_opacus(kind: str, multiplier: float, *, rate: float, rounds: int = 20, delta: float = 3e-6) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        accountant = getattr(pytest.importorskip("opacus.accountants"), kind)()
        accountant.history = [(multiplier, rate, rounds)]
        return float(accountant.get_epsilon(delta))


@pytest.mark.parametrize(
    ("multiplier", "rate"), [(0.82, 0.1), (1.23, 0.25), (2.5, 0.1), (0.475, 1 / 133), (1.54, 0.017), (19.3, 1.0)]
)
def test_rdp_is_that_of_opacus_and_never_below_it(multiplier, rate, caplog) -> None:
    expected = by_opacus("RDPAccountant", multiplier, rate=rate)
    found = epsilon(noise_multiplier=multiplier, delta=3e-6, rounds=20, sampling="poisson", rate=rate, accountant="rdp")
    assert expected - 1e-9 <= found <= 1.002 * expected
    assert not caplog.records  # of the orders that are left out


def test_the_exact_value_lies_below_opacus_and_within_its_interval_of_prv() -> None:
    exact, prv = epsilon(**SAMPLED), by_opacus("PRVAccountant", 2.5, rate=0.1)
    assert exact < prv < exact + 0.02
    assert prv < epsilon(**SAMPLED, accountant="rdp")


def test_ten_thousand_rounds_are_priced_as_they_are() -> None:
    """DP-SGD of flexible participation: the printed 1.540 is PRV's; 1.537 is enough."""
    steps = {"delta": 3.467e-6, "rounds": 10_000, "rate": 256 / 15_000}
    assert epsilon(noise_multiplier=1.5375, sampling="poisson", **steps) < 6
    assert epsilon(noise_multiplier=1.536, sampling="poisson", **steps) > 6
    assert by_opacus("PRVAccountant", 1.540, **steps) < 6 < by_opacus("PRVAccountant", 1.537, **steps)


def test_pricing_loads_no_torch() -> None:
    code = (
        "import sys; from fedtext.privacy.accounting import epsilon; assert 'scipy' not in sys.modules\n"
        "for a in ('pld', 'rdp'):\n"
        "    epsilon(noise_multiplier=2.5, delta=3e-6, rounds=20, sampling='poisson', rate=.1, accountant=a)\n"
        "assert 'torch' not in sys.modules and 'pandas' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("rate", [0.01, 0.3])
def test_the_divergence_of_sampled_releases_is_that_of_dp_accounting(rate: float) -> None:
    releases = [SampledGaussian("poisson", rate, 0.7, 20), SampledGaussian("full", 1.0, 0.2)]
    found = accounting.composed_profiles(releases, adjacency="zero_out")
    sampled, unsampled = accounting._split(accounting._kinds(releases, "zero_out"), "zero_out")
    parts = accounting._parts(sampled, unsampled, "zero_out")
    step, points = accounting._grid_step(parts), np.array([-3.0, -0.5, 0.0, 0.01, 0.5, 2.0, 8.0, 400.0])
    for profile, ordered in zip(found, accounting._orders(parts, "zero_out"), strict=True):
        expected = accounting._total_loss(ordered, step).get_delta_for_epsilon(points)
        np.testing.assert_allclose(profile(points), expected, rtol=1e-9, atol=1e-13)

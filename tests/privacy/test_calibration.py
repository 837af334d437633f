"""Calibration: the smallest noise that keeps the budget, never less, and never by the classical formula."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fedtext.algorithms.flexible.plan import planned_ledger
from fedtext.params.flexible import Flexible
from fedtext.params.privacy import LARGEST_EPSILON, SMALLEST_EPSILON, Privacy
from fedtext.privacy.accounting import SampledGaussian, accounted_shift, composed_epsilon
from fedtext.privacy.accounting import epsilon as epsilon_of
from fedtext.privacy.calibration import keeps, noise_multiplier
from fedtext.privacy.parties import Party
from tests.parameters import conf_base
from tests.refusals import refuses


@settings(max_examples=60)
@given(
    epsilon=st.floats(0.05, 50),
    log_delta=st.floats(-30, -3),
    rounds=st.integers(1, 500),
    adjacency=st.sampled_from(["zero_out", "add_remove", "replace_one"]),
)
def test_without_sampling_the_budget_is_used_up_and_not_more(epsilon, log_delta, rounds, adjacency) -> None:
    declared = {"delta": math.exp(log_delta), "rounds": rounds, "adjacency": adjacency}
    found = noise_multiplier(epsilon=epsilon, **declared)
    assert epsilon_of(noise_multiplier=found, **declared) <= epsilon
    assert epsilon_of(noise_multiplier=found * (1 - 1e-7), **declared) > epsilon


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("sampling", "adjacency"),
    [("poisson", "zero_out"), ("poisson", "replace_one"), ("fixed_size", "zero_out"), ("fixed_size", "replace_one")],
)
@pytest.mark.parametrize(("epsilon", "rate"), [(1.0, 0.1), (7.0, 0.02), (0.3, 0.7), (1.0, 0.99999)])
def test_with_sampling_too(sampling, adjacency, epsilon, rate) -> None:
    declared = {"delta": 3e-6, "rounds": 20, "sampling": sampling, "adjacency": adjacency, "rate": rate}
    found = noise_multiplier(epsilon=epsilon, **declared)
    assert epsilon_of(noise_multiplier=found, **declared) <= epsilon
    assert epsilon_of(noise_multiplier=found * (1 - 1e-5), **declared) > epsilon


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"epsilon": 0.0}, "epsilon-out-of-range"),
        ({"epsilon": -1.0}, "epsilon-out-of-range"),
        ({"epsilon": float("nan")}, "epsilon-out-of-range"),
        ({"epsilon": float("inf")}, "epsilon-out-of-range"),
        ({"delta": 0.0}, "delta-out-of-range"),
        ({"rounds": 0}, "rounds-out-of-range"),
        ({"adjacency": "swap"}, "unknown-choice"),
        ({"sampling": "shuffle"}, "unknown-choice"),
        ({"rate": 0.5}, "rate-of-all-below-one"),
        ({"sampling": "poisson", "rate": 2.0}, "rate-out-of-range"),
        ({"sampling": "fixed_size", "rate": 0.1, "adjacency": "add_remove"}, "fixed-size-needs-public-population"),
    ],
)
def test_what_cannot_be_priced_is_refused_by_name_and_value(changed, code) -> None:
    with refuses(code) as caught:
        noise_multiplier(**{"epsilon": 1.0, "delta": 3e-6, "rounds": 20, **changed})
    assert caught.value.parameter in changed


def test_every_epsilon_that_may_be_declared_has_its_noise_and_others_are_refused() -> None:
    for extreme in (SMALLEST_EPSILON, LARGEST_EPSILON):
        declared = conf_base(Privacy, epsilon=extreme, total_epsilon=None)
        found = noise_multiplier(epsilon=declared.epsilon, delta=3e-6, rounds=20)
        assert 0 < found < math.inf
    for beyond in (1e20, 1e308, math.inf, math.nan, SMALLEST_EPSILON / 2):
        with pytest.raises(ValidationError):
            conf_base(Privacy, epsilon=beyond, total_epsilon=None)


def test_the_classical_formula_is_not_used() -> None:
    """It wastes noise at epsilon 1, and above about 5 its noise is too little to be private."""
    for epsilon, wasteful in ((1.0, True), (12.0, False)):
        classical = math.sqrt(2 * math.log(1.25 / 1e-2)) / epsilon
        found = noise_multiplier(epsilon=epsilon, delta=1e-2, rounds=1)
        assert (classical > found) is wasteful
        assert (epsilon_of(noise_multiplier=classical, delta=1e-2, rounds=1) <= epsilon) is wasteful


@pytest.mark.parametrize("adjacency", ["zero_out", "replace_one"])
@pytest.mark.parametrize(("sampling", "rate"), [("full", 1.0), ("poisson", 0.1)])
def test_beside_other_releases_all_together_use_up_the_budget(adjacency, sampling, rate) -> None:
    beside = (SampledGaussian("full", 1.0, 0.2, non_negative=True), SampledGaussian("full", 1.0, 0.1, rounds=3))
    asked = {"delta": 1e-5, "rounds": 4, "adjacency": adjacency, "sampling": sampling, "rate": rate}
    found = noise_multiplier(epsilon=2.0, beside=beside, **asked)
    assert found > noise_multiplier(epsilon=2.0, **asked)

    def together(multiplier: float) -> float:
        release = SampledGaussian(sampling, rate, 1 / multiplier, 4)
        return composed_epsilon([*beside, release], delta=1e-5, adjacency=adjacency)

    assert together(found) <= 2.0
    assert together(found * (1 - 1e-5)) > 2.0


def test_releases_beside_that_leave_nothing_are_refused() -> None:
    with refuses("budget-spent-by-others", parameter="epsilon", value=0.5):
        noise_multiplier(epsilon=0.5, delta=1e-5, rounds=1, beside=(SampledGaussian("full", 1.0, 1.0),))


def test_beside_a_sampled_release_a_plain_one_is_found_too() -> None:
    beside = (SampledGaussian("poisson", 0.05, 1.0, rounds=20),)
    found = noise_multiplier(epsilon=3.0, delta=1e-5, rounds=1, beside=beside)
    release = SampledGaussian("full", 1.0, 1 / found)
    assert composed_epsilon([*beside, release], delta=1e-5, adjacency="zero_out") == pytest.approx(3.0, rel=1e-4)


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(("epsilon", "population"), [(1.0, 900), (4.0, 3000), (4.0, 200), (8.0, 1500)])
def test_what_is_planned_is_what_its_own_ledger_lets_pass(epsilon: float, population: int) -> None:
    """A sampled release's price moves by 1e-7 with the last digit of its shift; at the first two settings, upwards."""
    silos = [
        Party(name=name, kind=f"{name} silo", population=held, epsilon=epsilon)
        for name, held in (("strong", population), ("weak", population // 2))
    ]
    declared = conf_base(Privacy, {"epsilon": epsilon, "delta": 1e-7, "population": population + population // 2})
    flexible = conf_base(Flexible, {"labels": ["json", "email"]})
    ledger = planned_ledger(silos, flexible, declared, dim=1000, embedding_dim=384)
    for release in ledger.planned or ():
        ledger = ledger.charge(release)
    assert 0.999 * epsilon < ledger.spent() <= epsilon * (1 + 1e-9)


def test_a_shift_has_one_price_whatever_its_last_bits() -> None:
    assert accounted_shift(0.1 + 0.2) == accounted_shift(0.3) >= 0.3
    assert accounted_shift(0.123456789012345) == 0.123456789012


def test_a_price_beyond_the_budget_is_not_kept() -> None:
    kinds = [SampledGaussian("poisson", 0.05, 0.7, 40)]
    told = {"delta": 1e-6, "adjacency": "zero_out"}
    exact = composed_epsilon(kinds, **told)
    assert keeps(kinds, epsilon=exact * (1 + 1e-5), **told)
    assert not keeps(kinds, epsilon=exact * (1 - 1e-5), **told)


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("rate", [1e-6, 1e-12, 1e-300, 1e-320])
@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_a_unit_that_is_hardly_ever_asked_is_covered_by_delta_and_so_by_no_noise(sampling: str, rate: float) -> None:
    one = {"delta": 1e-5, "rounds": 10, "sampling": sampling, "rate": rate}
    assert epsilon_of(noise_multiplier=1e-3, **one) == 0.0
    with refuses("delta-covers-participation", parameter="delta", value=1e-05):
        noise_multiplier(epsilon=1.0, **one)
    rare = one | {"rate": 2e-6}  # twice as often as delta covers
    assert epsilon_of(noise_multiplier=noise_multiplier(epsilon=1.0, **rare), **rare) <= 1.0 + 1e-6


@pytest.mark.parametrize("multiplier", [1e-3, 1e-6])
def test_next_to_no_noise_has_a_price_and_sampling_never_raises_it(multiplier: float) -> None:
    whole = epsilon_of(noise_multiplier=multiplier, delta=1e-5, rounds=3)
    sampled = epsilon_of(noise_multiplier=multiplier, delta=1e-5, rounds=3, sampling="poisson", rate=0.1)
    assert 1e5 < sampled <= whole < math.inf

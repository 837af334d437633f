"""What an attacker gains: never less than an attack finds, and no more than the guarantee allows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from fedtext.params.privacy import Adjacency
from fedtext.privacy.accounting import SampledGaussian, composed_epsilon
from fedtext.privacy.dominating_pairs import gaussian_shift
from fedtext.privacy.report import privacy_report, render_markdown
from fedtext.privacy.trade_off import TradeOff, attacker, percent, trade_off
from tests.privacy.histories import ledger as small_ledger
from tests.privacy.histories import party, release

ALARMS = np.array([0.0, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.9, 1.0])
SAMPLED = SampledGaussian("poisson", 0.1, 0.7)


def bound(*releases: SampledGaussian, adjacency: Adjacency = "zero_out") -> TradeOff:
    return TradeOff.of([releases], adjacency=adjacency)


def gaussian(shift: float) -> TradeOff:
    return bound(SampledGaussian("full", 1.0, shift))


@given(st.floats(0.02, 8.0))
@settings(deadline=None, max_examples=25)
def test_of_a_gaussian_it_is_the_closed_form(shift: float) -> None:
    assert gaussian(shift).right_at_most == pytest.approx(norm.cdf(shift / 2), abs=1e-12)
    exact = norm.cdf(norm.ppf(ALARMS) + shift)
    found = gaussian(shift).found(ALARMS)
    assert found == pytest.approx(exact, abs=1e-4)
    assert (found >= exact - 1e-12).all(), "never below what the best attack finds"


@given(st.floats(0.1, 8.0), st.integers(1, 50), st.floats(0.3, 3.0), st.sampled_from([1e-9, 1e-6, 1e-3]))
@settings(deadline=None, max_examples=15)
def test_no_more_is_gained_than_epsilon_and_delta_allow(shift: float, rounds: int, other: float, delta: float) -> None:
    releases = [SampledGaussian("full", 1.0, shift), SampledGaussian("full", 1.0, other / math.sqrt(rounds), rounds)]
    epsilon = composed_epsilon(releases, delta=delta, adjacency="zero_out")
    allowed = (1 + delta / math.exp(epsilon)) / (1 + math.exp(-epsilon))  # (e^epsilon + delta) / (e^epsilon + 1)
    assert bound(*releases).right_at_most <= allowed + 1e-9
    found = bound(*releases).found(np.array([0.01]))[0]
    assert found <= math.exp(min(epsilon, 50.0)) * 0.01 + delta + 1e-3


def test_no_more_is_gained_than_allowed_under_sampling() -> None:
    releases = SampledGaussian("poisson", 0.1, 0.7, 20)
    epsilon = composed_epsilon([releases], delta=1e-6, adjacency="zero_out")
    found = bound(releases).found(ALARMS)
    assert (found <= math.exp(epsilon) * ALARMS + 1e-6 + 1e-4).all()
    assert bound(releases).right_at_most <= (math.exp(epsilon) + 1e-6) / (1 + math.exp(epsilon))


@given(st.floats(0.05, 4.0), st.floats(1.01, 3.0))
@settings(deadline=None, max_examples=20)
def test_less_noise_never_gains_less(shift: float, factor: float) -> None:
    assert (gaussian(shift * factor).found(ALARMS) >= gaussian(shift).found(ALARMS)).all()
    assert gaussian(shift * factor).right_at_most > gaussian(shift).right_at_most


def test_the_curve_rises_from_chance_and_of_one_order_is_concave() -> None:
    alarms = np.linspace(0, 1, 101)
    for curve in (bound(SAMPLED).found(alarms), gaussian(0.7).found(alarms)):
        assert (curve >= alarms).all()
        assert (np.diff(curve) >= -1e-12).all()
    assert (np.diff(curve, 2) <= 1e-9).all()


def test_of_one_sampled_release_it_is_what_integration_gives() -> None:
    """M(mu) against N(0): the best test is a threshold on x, whichever of the two is called present."""
    rate, shift = SAMPLED.rate, SAMPLED.shift
    cuts = np.linspace(-9, 9, 20_001)
    absent, present = norm.sf(cuts), (1 - rate) * norm.sf(cuts) + rate * norm.sf(cuts - shift)
    one_way = np.interp(ALARMS, absent[::-1], present[::-1])
    other_way = np.interp(ALARMS, 1 - present, 1 - absent)
    expected = np.maximum(one_way, other_way)
    assert bound(SAMPLED).found(ALARMS)[1:] == pytest.approx(expected[1:], abs=2e-4)
    assert bound(SAMPLED).right_at_most == pytest.approx((1 + (present - absent).max()) / 2, abs=1e-5)


def test_an_attack_on_real_draws_finds_what_is_told_and_no_more() -> None:
    rng, draws, shift = np.random.default_rng(5), 400_000, 1.2
    cut = np.quantile(rng.standard_normal(draws), 0.99)
    found = (rng.standard_normal(draws) + shift > cut).mean()
    assert gaussian(shift).found(np.array([0.01]))[0] == pytest.approx(found, abs=4e-3)
    assert gaussian(1.3).found(np.array([0.01]))[0] > found + 1e-2, "a wrong shift would be seen"


def test_replacing_moves_the_sum_twice_as_far() -> None:
    one = SampledGaussian("full", 1.0, 0.4)
    assert bound(one, adjacency="replace_one").right_at_most == pytest.approx(norm.cdf(0.4))


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 30])
def test_it_agrees_with_riskcal(rounds: int) -> None:
    """An independent library's curve of dp_accounting's own distribution: DP-SGD's, under add or remove."""
    riskcal = pytest.importorskip("riskcal")
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

    pld = from_gaussian_mechanism(1 / 0.7, sampling_prob=0.1, value_discretization_interval=1e-4).self_compose(rounds)
    ours = bound(SampledGaussian("poisson", 0.1, 0.7, rounds), adjacency="add_remove")
    theirs = 1 - riskcal.analysis.get_beta_from_pld(pld, alpha=ALARMS[1:-1])
    assert ours.found(ALARMS[1:-1]) == pytest.approx(theirs, abs=2e-3)  # it joins the two orders by a chord
    assert (ours.found(ALARMS[1:-1]) <= theirs + 1e-4).all()
    assert 2 * ours.right_at_most - 1 == pytest.approx(riskcal.analysis.get_advantage_from_pld(pld), abs=1e-4)


def test_epsilon_one_is_said_in_guesses() -> None:
    """The issue's own example: 55% right, 2.0% found at 1% false alarms."""
    shift = gaussian_shift(1.0, 1e-5)
    said = attacker(small_ledger(releases=(release(1 / shift),), epsilon=1.01, delta=1e-5))
    assert said["right_at_most"] == pytest.approx(0.5533, abs=1e-4)
    assert said["statement"] == (
        "Whoever guesses whether one client contributed is right at most 55.4% of the time, where chance is 50%; at 1% "
        "false alarms at most 2% are found."
    )


def test_the_party_that_paid_most_is_told_of() -> None:
    held: Any = (party("a", "silo", 1000, 9.0), party("b", "silo", 1000, 9.0))
    made = (release(2.0, name="x", parties=("a",)), release(1.0, name="y", parties=("b",)))
    found = trade_off(small_ledger(parties=held, releases=made, epsilon=9.0))
    assert found is not None
    assert found.right_at_most == pytest.approx(norm.cdf(0.5), abs=1e-9)


def test_nothing_released_is_chance_and_an_unaccounted_read_has_no_bound() -> None:
    assert attacker(small_ledger(releases=()))["right_at_most"] == 0.5
    read = small_ledger(releases=(release(5.0),)).unaccounted_read("checkpoint", "chosen on private text")
    assert trade_off(read) is None
    assert attacker(read)["statement"].startswith("Nothing bounds")


def test_the_report_says_it_below_its_verdict() -> None:
    report = privacy_report(small_ledger(releases=(release(5.0),)))
    assert report["attacker"]["statement"] in render_markdown(report).splitlines()[6]


def test_percent_rounds_up() -> None:
    assert [percent(share) for share in (0.5, 0.55331, 0.0198, 0.01, 1.0)] == ["50%", "55.4%", "2%", "1%", "100%"]

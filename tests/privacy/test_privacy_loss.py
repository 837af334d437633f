"""Composition: against dp_accounting's own accountants where it has one, and never below what is exact."""

from __future__ import annotations

import pytest

from fedtext.privacy.gaussian import gaussian_epsilon
from fedtext.privacy.privacy_loss import SampledGaussian, composed_epsilon

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
    from fedtext.privacy import privacy_loss

    coarse = composed_epsilon([POISSON], delta=DELTA, adjacency="zero_out")
    step = privacy_loss._grid_step
    monkeypatch.setattr(privacy_loss, "_grid_step", lambda parts: step(parts) / 8)
    privacy_loss._composed_epsilon.cache_clear()
    fine = composed_epsilon([POISSON], delta=DELTA, adjacency="zero_out")
    privacy_loss._composed_epsilon.cache_clear()
    assert fine < coarse < fine + 1e-5


def test_the_grid_is_exact_enough_for_the_smallest_delta() -> None:
    """A Gaussian put on the grid, beside the closed form: where rounding would show first."""
    from fedtext.privacy import privacy_loss

    pair = privacy_loss.gaussian_pair(1.0)
    for delta in (1e-5, privacy_loss.SMALLEST_DELTA):
        found = privacy_loss._one_way_epsilon([(pair, 10)], 5e-4, delta)
        assert found == pytest.approx(gaussian_epsilon(10**0.5, delta), rel=1e-4)


def test_too_small_a_delta_is_refused_only_with_sampling() -> None:
    with pytest.raises(ValueError, match="delta is 1e-12"):
        composed_epsilon([POISSON], delta=1e-12, adjacency="zero_out")
    assert composed_epsilon([SampledGaussian("full", 1.0, 0.1)], delta=1e-12, adjacency="zero_out") > 0


def test_nothing_costs_nothing() -> None:
    assert composed_epsilon([], delta=DELTA, adjacency="zero_out") == 0.0

"""Plans: the noise that a number of releases asks for, and budgets that are refused before anything is read."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.federation.mechanism import planned_sum
from fedtext.params.privacy import Privacy
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.ledger import BudgetExceeded
from fedtext.privacy.plan import planned_ledger, planned_multiplier, sampling_rate
from tests.parameters import conf_base


def privacy(**changes: Any) -> Privacy:
    return conf_base(Privacy, {"epsilon": 1.0, "delta": 1e-5, **changes})


def test_the_multiplier_is_calibrated_to_all_releases_or_declared() -> None:
    assert planned_multiplier(privacy(), 500, 5) == noise_multiplier(epsilon=1.0, delta=1e-5, rounds=5)
    assert planned_multiplier(privacy(noise_multiplier=2.5), 500, 5) == 2.5


@pytest.mark.parametrize(
    ("declared", "rate"),
    [({}, 1.0), ({"sampling": "poisson", "clients_per_round": 50}, 0.1)],
)
def test_the_rate_is_the_share_of_units_asked(declared: dict[str, Any], rate: float) -> None:
    assert sampling_rate(privacy(**declared), 500) == rate


def test_more_units_than_there_are_cannot_be_asked() -> None:
    with pytest.raises(ValueError, match="clients_per_round is 501, but there are 500 clients"):
        sampling_rate(privacy(sampling="fixed_size", clients_per_round=501), 500)


@pytest.mark.parametrize("declared", [{"sampling": "poisson"}, {"sampling": "fixed_size"}, {"clients_per_round": 50}])
def test_sampling_and_its_size_are_declared_together(declared: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"clients_per_round is (not set|50).*sampling"):
        privacy(**declared)


def test_sampling_amplifies_except_where_the_server_watches_who_answers() -> None:
    sampled = {"sampling": "poisson", "clients_per_round": 50}
    everybody = planned_multiplier(privacy(), 500, 3)
    assert planned_multiplier(privacy(**sampled), 500, 3) < 0.5 * everybody
    assert planned_multiplier(privacy(aggregation="local", **sampled), 500, 3) == everybody


def test_a_plan_within_budget_opens_an_empty_ledger_and_one_beyond_it_names_itself() -> None:
    assert not planned_ledger(privacy(), 500, name="votes", releases=3).releases
    with pytest.raises(BudgetExceeded, match="'votes' of round 2"):
        planned_ledger(privacy(noise_multiplier=4.0), 500, name="votes", releases=3)


def test_a_ledger_is_opened_for_the_planned_releases_and_no_others() -> None:
    opened = planned_ledger(privacy(), 500, name="votes", releases=3, first_round=0, clip_norm=7.0)
    assert [(plan.name, plan.round) for plan in opened.planned or ()] == [("votes", 0), ("votes", 1), ("votes", 2)]
    noise = planned_multiplier(privacy(), 500, 3)
    plans = opened.planned or ()
    assert [plan.noise_multiplier for plan in plans] == [pytest.approx(noise)] * 3
    for plan in plans:
        opened = opened.charge(plan)
    with pytest.raises(ValueError, match=r"'votes' of round 3 .* is not what the ledger was opened for"):
        opened.charge(plan.model_copy(update={"round": 3}))


@pytest.mark.parametrize("aggregation", ["secure", "local"])
def test_a_plan_is_sampled_as_the_release_will_be_priced(aggregation: str) -> None:
    sampled = privacy(aggregation=aggregation, sampling="poisson", clients_per_round=50)
    opened = planned_ledger(sampled, 500, name="votes", releases=1)
    noise = planned_multiplier(sampled, 500, 1)
    made = planned_sum(sampled, 500, dim=9, clip_norm=1.0, noise_multiplier=noise, name="votes", round=1).release
    assert opened.charge(made).epsilon() == pytest.approx(1.0, abs=1e-5)


def test_sensitivity_scales_with_the_clip_and_leaves_the_price_alone() -> None:
    assert planned_ledger(privacy(noise_multiplier=5.0), 500, name="votes", releases=1, clip_norm=7.0).population == 500


def test_too_large_a_delta_is_refused() -> None:
    with pytest.raises(ValueError, match="delta"):
        planned_ledger(privacy(delta=0.01), 100, name="votes", releases=1)

"""Ledgers that are opened for questions: budgets that are refused before anything is read, and releases as planned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fedtext.federation.mechanism import opened_ledger, planned_signals, planned_sum
from fedtext.federation.query import Query
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.parties import Party
from fedtext.privacy.plan import planned_multiplier
from fedtext.privacy.signal import Training, Votes
from tests.parameters import conf_base
from tests.refusals import refuses


def privacy(**changes: Any) -> Privacy:
    return conf_base(Privacy, {"epsilon": 1.0, "delta": 1e-5, **changes})


def votes(declared: Privacy, releases: int, first_round: int = 1, clip_norm: float = 1.0) -> list[Query]:
    noise = planned_multiplier(declared, 500, releases)
    return [Query("votes", t, 9, clip_norm, noise) for t in range(first_round, first_round + releases)]


def opened(declared: Privacy, releases: int, population: int = 500, **other: Any) -> Ledger:
    return opened_ledger(votes(declared, releases, **other), declared, population)


def test_a_plan_within_budget_opens_an_empty_ledger_and_one_beyond_it_names_itself() -> None:
    assert not opened(privacy(), 3).releases
    with refuses("budget-exceeded") as caught:
        opened(privacy(noise_multiplier=4.0), 3)
    assert "'votes' of round 2" in str(caught.value)


def test_a_ledger_is_opened_for_the_planned_releases_and_no_others() -> None:
    book = opened(privacy(), 3, first_round=0, clip_norm=7.0)
    assert [(plan.name, plan.round) for plan in book.planned or ()] == [("votes", 0), ("votes", 1), ("votes", 2)]
    plans = book.planned or ()
    assert [plan.noise_multiplier for plan in plans] == [pytest.approx(planned_multiplier(privacy(), 500, 3))] * 3
    for plan in plans:
        book = book.charge(plan)
    with refuses("release-not-planned", value="votes"):
        book.charge(plan.model_copy(update={"round": 3}))


@pytest.mark.parametrize("aggregation", ["secure", "local"])
def test_a_plan_is_sampled_as_the_release_will_be_priced(aggregation: str) -> None:
    sampled = privacy(aggregation=aggregation, sampling="poisson", clients_per_round=50)
    book, (query,) = opened(sampled, 1), votes(sampled, 1)
    made = planned_sum(query, sampled, 500).release
    assert (made,) == book.planned
    assert book.charge(made).epsilon() == pytest.approx(1.0, abs=1e-5)


def test_an_answer_of_another_width_is_paid_for_by_the_plan() -> None:
    """Generated candidates may be fewer than were planned: the grid is another one, the price is the same."""
    declared = privacy()
    book, (query,) = opened(declared, 1), votes(declared, 1)
    narrower = planned_sum(Query("votes", 1, 5, query.clip_norm, query.noise_multiplier), declared, 500).release
    assert narrower not in (book.planned or ())
    assert book.charge(narrower).epsilon() == pytest.approx(1.0, abs=1e-6)
    louder = planned_sum(Query("votes", 1, 5, 1.0, 0.9 * query.noise_multiplier), declared, 500).release
    with refuses("release-not-planned"):
        book.charge(louder)


def test_sensitivity_scales_with_the_clip_and_leaves_the_price_alone() -> None:
    assert opened(privacy(noise_multiplier=5.0), 1, clip_norm=7.0).population == 500


def test_too_large_a_delta_is_refused() -> None:
    with refuses("delta-above-one-unit", parameter="privacy.delta"):
        opened(privacy(delta=0.01), 1, population=100)


def test_a_ledger_knows_signal_and_noise_of_its_plan() -> None:
    (signal,) = opened(privacy(), 3).signals
    multiplier = planned_multiplier(privacy(), 500, 3)
    assert (signal.release, signal.use, signal.asked, signal.numbers) == ("votes", "vector", 500, 9)
    assert signal.noise == pytest.approx(multiplier / privacy().honest_fraction ** 0.5)


def test_each_holder_of_a_local_sum_brings_all_of_the_noise() -> None:
    (one,), (other,) = (opened(privacy(aggregation=trust), 1).signals for trust in ("trusted", "local"))
    assert other.noise == pytest.approx(one.noise * 500**0.5)
    assert (one.draws, other.draws) == (1, 500)


def test_a_sampled_sum_has_the_signal_of_those_who_are_asked() -> None:
    (signal,) = opened(privacy(sampling="poisson", clients_per_round=50), 1).signals
    assert (signal.asked, signal.population) == (50, 500)


def test_steps_of_silos_are_one_sum_of_their_batches() -> None:
    silos = [Party(name=name, kind="silo", population=250, epsilon=1.0) for name in "ab"]
    queries = [
        Query("steps", 0, 9, 1.0, 3.0, parties=(one.name,), batch=10, steps=4, own=True, use=Training())
        for one in silos
    ]
    (signal,) = planned_signals(queries, privacy(), 500, silos)
    assert (signal.asked, signal.population, signal.steps, signal.draws) == (20, 500, 4, 1)
    assert signal.noise == pytest.approx(3.0 * 2**0.5)


def test_what_a_test_client_pays_for_is_no_signal_of_an_algorithm() -> None:
    assert opened_ledger(votes(privacy(), 1), privacy(), 500, part="test").signals == ()


def test_how_a_sum_is_used_changes_no_price_and_no_sample() -> None:
    query = Query("votes", 1, 9, 1.0, 3.0)
    assert query.cost_terms == replace(query, use=Votes()).cost_terms
    assert (
        planned_sum(query, privacy(), 500).release == planned_sum(replace(query, use=Votes()), privacy(), 500).release
    )

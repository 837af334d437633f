"""Which silo pays for what, at which noise: the note's golden prices, and what is refused before anything is read."""

from __future__ import annotations

import logging
import math
from typing import Any

import pytest

from fedtext.algorithms.flexible import plan
from fedtext.federation.mechanism import planned_release
from fedtext.federation.query import Query
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from tests.algorithms.flexible.examples import declared, params, parties, units_of
from tests.refusals import refuses

# delta is 1 / (n log n) of a silo's n records; sigma and totals: the design note, section 2
YELP = {"records": 15_000, "delta": 6.93e-6, "rounds": 200, "local_steps": 50}
PUBMED = {"records": 2_250, "delta": 5.76e-5, "rounds": 50, "local_steps": 20}
PUBLISHED = {"epsilon": 8.0, "calibration": "published", "noise_multiplier": None}


def published(of: dict[str, Any], **changes: Any) -> tuple[Any, Privacy, Any]:
    """One strong and one weak silo of a data set, as printed: parameters, declaration, parties."""
    training = {"rounds": of["rounds"], "local_steps": of["local_steps"], "batch_size": 256}
    chosen = params(training=training, votes_per_record=5, profile_epsilon=2.0)
    privacy = declared(**{**PUBLISHED, "delta": of["delta"], **changes})
    return chosen, privacy, parties(units_of(2, of["records"]), privacy.epsilon)


def priced(privacy: Privacy, population: int, *queries: Query) -> float:
    releases = tuple(
        planned_release(query, privacy, population).model_copy(update={"parties": None}) for query in queries
    )
    return Ledger(declaration=privacy, population=population, releases=releases).epsilon()


@pytest.mark.parametrize(
    ("of", "profile", "votes", "total"), [(YELP, 2.105, 1.783, 6.282), (PUBMED, 1.878, 1.629, 6.274)]
)
def test_a_weak_silo_s_published_eight_is_less(of: dict[str, Any], profile: float, votes: float, total: float) -> None:
    chosen, privacy, held = published(of)
    counting, voting = plan.profile_query(chosen, privacy), plan.votes_query(chosen, privacy, held)
    assert voting is not None
    assert counting.noise_multiplier == pytest.approx(profile, abs=5e-4)
    assert voting.noise_multiplier * math.sqrt(5) == pytest.approx(votes, abs=5e-4)
    assert priced(privacy, of["records"], counting, voting) == pytest.approx(total, abs=5e-4)


def test_another_record_in_its_place_costs_sqrt_2_and_not_2() -> None:
    chosen, privacy, held = published(YELP)
    voting = plan.votes_query(chosen, privacy, held)
    assert voting is not None
    queries = (plan.profile_query(chosen, privacy), voting)
    replaced = privacy.model_copy(update={"adjacency": "replace_one", "epsilon": 20.0})
    assert priced(replaced, 15_000, *queries) == pytest.approx(9.52, abs=5e-3)
    signed = (Query(**{**vars(query), "non_negative": False}) for query in queries)
    assert priced(replaced, 15_000, *signed) == pytest.approx(14.66, abs=5e-3)


@pytest.mark.parametrize(
    ("of", "profile", "sigma", "total"),
    [(YELP, 2.105, 1.537, 6.272), (PUBMED, 1.878, 2.743, 6.260), (YELP, 20.0, 1.248, 8.0)],
)
def test_a_strong_silo_s_published_eight_is_less(
    of: dict[str, Any], profile: float, sigma: float, total: float
) -> None:
    steps, privacy = of["rounds"] * of["local_steps"], declared(delta=of["delta"])
    gradients = Query("sgd", 0, 100, 1.0, sigma, parties=("a",), batch=256, steps=steps, own=True)
    counts = Query("profile", 0, 50, 1.0, profile, non_negative=True)
    assert priced(privacy, of["records"], gradients, counts) == pytest.approx(total, abs=0.02)


@pytest.mark.slow
def test_the_published_multiplier_of_dp_sgd_is_found() -> None:
    chosen, privacy, held = published(YELP)
    (query,) = plan.dp_sgd_queries(chosen, privacy, held, dim=100)
    assert query.noise_multiplier == pytest.approx(1.537, abs=1e-3)


def test_a_profile_that_needs_less_leaves_more_for_the_votes() -> None:
    chosen, privacy, held = published(YELP, calibration="exact")
    chosen = chosen.model_copy(update={"profile_stddev": 20.0})
    voting = plan.votes_query(chosen, privacy, held)
    assert voting is not None
    assert voting.noise_multiplier * math.sqrt(5) == pytest.approx(1.362, abs=5e-4)
    assert priced(privacy, 15_000, plan.profile_query(chosen, privacy), voting) == pytest.approx(8.0, rel=1e-8)


def test_every_silo_has_a_bill_of_its_own_and_the_worst_is_the_headline() -> None:
    held = parties(units_of(4), strong=0.5)
    ledger = plan.planned_ledger(held, params(), declared(), dim=10, embedding_dim=6)
    names = [(release.name, release.parties) for release in ledger.planned or ()]
    assert names == [
        ("flexible.dp_sgd", ("silo-00",)),
        ("flexible.dp_sgd", ("silo-01",)),
        ("flexible.profile", None),
        ("flexible.votes", ("silo-02", "silo-03")),
    ]
    spent = ledger
    for release in ledger.planned or ():
        before = {party.name: spent.spent(party=party.name) for party in held}
        spent = spent.charge(release)
        after = {party.name: spent.spent(party=party.name) for party in held}
        assert all((after[p.name] > before[p.name]) is release.costs(p.name) for p in held)
    assert spent.epsilon() == max(spent.spent(party=party.name) for party in held)
    steps = [release for release in spent.releases if release.name == "flexible.dp_sgd"]
    assert {(release.steps, release.rate, release.secret_sample) for release in steps} == {(6, 8 / 40, True)}


def test_the_silo_whose_budget_does_not_do_is_named() -> None:
    held = parties(units_of(4), strong=0.5, budgets={"silo-01": 0.5})
    with refuses("budget-exceeded") as raised:
        plan.planned_ledger(held, params(), declared(), dim=10, embedding_dim=6)
    assert raised.value.party == "silo-01"


def test_noise_follows_a_silo_s_own_budget_and_the_least_of_the_weak() -> None:
    privacy = declared(epsilon=4.0, noise_multiplier=None)
    held = parties(units_of(4), 4.0, strong=0.5, budgets={"silo-01": 2.0, "silo-03": 1.0})
    first, second = plan.dp_sgd_queries(params(), privacy, held, dim=10)
    assert second.noise_multiplier > first.noise_multiplier
    ledger = plan.planned_ledger(held, params(profile_stddev=20.0), privacy, dim=10, embedding_dim=6)
    everything = ledger.model_copy(update={"releases": ledger.planned})
    spent = {party.name: everything.spent(party=party.name) for party in held}
    assert spent == pytest.approx({"silo-00": 4.0, "silo-01": 2.0, "silo-02": 1.0, "silo-03": 1.0}, rel=1e-4)


def test_local_noise_of_counts_and_votes_takes_nothing_from_a_silo_s_secret_sample() -> None:
    held = parties(units_of(2), strong=0.5)
    secure, local = (
        plan.planned_ledger(held, params(), declared(aggregation=aggregation), dim=10, embedding_dim=6)
        for aggregation in ("secure", "local")
    )
    spent = [ledger.model_copy(update={"releases": ledger.planned}).spent() for ledger in (secure, local)]
    assert spent[0] == pytest.approx(spent[1])
    (release,) = (one for one in local.planned or () if one.name == "flexible.dp_sgd")
    watched = release.model_copy(update={"secret_sample": False})
    bare = local.model_copy(update={"planned": None})
    assert bare.charge(watched).spent() > bare.charge(release).spent() + 0.5


@pytest.mark.parametrize(
    ("changes", "units", "code"),
    [
        ({"adjacency": "add_remove"}, 40, "adjacency-hides-public-counts"),
        ({"delta": 0.03}, 40, "delta-above-one-unit"),
        ({}, 7, "batch-above-silo"),
        ({"calibration": "published", "noise_multiplier": None, "epsilon": 0.2}, 40, "profile-takes-all"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_anything_is_read(changes: dict[str, Any], units: int, code: str) -> None:
    privacy = declared(**changes)
    held = parties(units_of(2, units), privacy.epsilon)
    with refuses(code):
        plan.planned_ledger(held, params(), privacy, dim=10, embedding_dim=6)


def test_a_delta_above_one_over_all_records_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    held = parties(units_of(4))
    with caplog.at_level(logging.WARNING):
        plan.planned_ledger(held, params(), declared(delta=1 / 159), dim=10, embedding_dim=6)
        plan.planned_ledger(held, params(), declared(delta=1 / 161), dim=10, embedding_dim=6)
    assert [record.getMessage() for record in caplog.records if "one over all 160 records" in record.getMessage()] == [
        caplog.records[0].getMessage()
    ]


@pytest.mark.parametrize(("strong", "names"), [(0.0, ["profile", "votes"]), (1.0, ["dp_sgd", "dp_sgd", "profile"])])
def test_without_strong_or_without_weak_silos_what_is_left_is_planned(strong: float, names: list[str]) -> None:
    held = parties(units_of(2), strong=strong)
    planned = plan.planned_queries(held, params(), declared(), dim=10, embedding_dim=6)
    assert [query.name.removeprefix("flexible.") for query in planned] == names
    herding = plan.planned_queries(held, params(selection="herd"), declared(), dim=10, embedding_dim=6)
    assert [query.name for query in herding][len(names) - 1 :] in (["flexible.means"], ["flexible.profile"])


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_where_nobody_trains_votes_and_profile_of_drawn_units_fit_the_budget(sampling: str) -> None:
    """The profile is drawn among all units, and its price beside the votes' is that of so many."""
    silos = parties(units_of(4, 300), 8.0, strong=[])
    privacy = declared(epsilon=8.0, delta=1e-5, sampling=sampling, clients_per_round=60)
    ledger = plan.planned_ledger(silos, params(selection="votes"), privacy, dim=10, embedding_dim=4)
    assert ledger.planned is not None
    assert [(one.name, one.rate) for one in ledger.planned] == [(plan.PROFILE, 0.05), (plan.VOTES, 0.05)]

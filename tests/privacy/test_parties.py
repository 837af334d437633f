"""Parties: releases compose in sequence within one and in parallel across them, each against a budget of its own."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.params.privacy import Privacy
from fedtext.privacy.accounting import epsilon
from fedtext.privacy.ledger import Ledger, Release, open_ledger
from fedtext.privacy.parties import Party, partition, spend_profiles
from tests.parameters import conf_base
from tests.refusals import refuses

DELTA = 1e-5
NAMES = ("a", "b", "c")


def party(name: str, kind: str = "silo", population: int = 100, budget: float = 50.0) -> Party:
    return Party(name=name, kind=kind, population=population, epsilon=budget)


def release(round: int = 1, multiplier: float = 4.0, *, by: tuple[str, ...] | None = None, **changed: Any) -> Release:
    fields = {"name": "sum", "round": round, "mechanism": "discrete Gaussian", "sensitivity": 1.0, "parties": by}
    return Release.model_validate({**fields, "noise_stddev": multiplier, **changed})


def opened(*parties: Party, planned: tuple[Release, ...] = (), **declared: Any) -> Ledger:
    declaration = conf_base(Privacy, {"epsilon": 50.0, "delta": DELTA, **declared})
    held = sum(one.population for one in parties)
    return open_ledger(declaration, held, planned, parties=parties)


def ledger(*releases: Release, parties: tuple[Party, ...] = tuple(map(party, NAMES)), **declared: Any) -> Ledger:
    return opened(*parties, **declared).model_copy(update={"planned": None, "releases": releases})


def together(*multipliers: float) -> float:
    """Epsilon of Gaussian releases in sequence: one Gaussian whose squared multipliers' inverses add up."""
    if not multipliers:
        return 0.0
    return epsilon(noise_multiplier=sum(one**-2 for one in multipliers) ** -0.5, delta=DELTA, rounds=1)


TOOK_PART = st.none() | st.sets(st.sampled_from(NAMES), min_size=1).map(lambda names: tuple(sorted(names)))
MADE = st.lists(st.tuples(TOOK_PART, st.floats(2.0, 20.0)), max_size=6)


@settings(max_examples=60)
@given(made=MADE)
def test_a_party_pays_for_what_it_took_part_in_and_the_run_costs_what_the_worst_one_pays(made) -> None:
    run = ledger(*(release(t, noise, by=by) for t, (by, noise) in enumerate(made)))
    for name in NAMES:
        own = [noise for by, noise in made if by is None or name in by]
        assert run.spent(party=name) == pytest.approx(together(*own), rel=1e-9)
    assert run.spent() == run.epsilon() == max(run.spent(party=name) for name in NAMES)


@settings(max_examples=60)
@given(made=MADE, more=st.sets(st.sampled_from(NAMES), min_size=1), noise=st.floats(2.0, 20.0))
def test_a_further_release_moves_the_parties_that_made_it_and_no_other(made, more, noise) -> None:
    before = ledger(*(release(t, own, by=by) for t, (by, own) in enumerate(made)))
    after = before.charge(release(99, noise, by=tuple(more)))
    for name in NAMES:
        if name in more:
            assert after.spent(party=name) > before.spent(party=name)
        else:
            assert after.spent(party=name) == before.spent(party=name)


def test_sampled_releases_compose_within_a_party_too() -> None:
    drawn = {"sampling": "poisson", "rate": 0.1}
    run = ledger(release(1, 2.0, by=("a",), **drawn), release(2, 2.0, by=("a",), **drawn), release(3, 2.0, by=("b",)))
    price = epsilon(noise_multiplier=2.0, delta=DELTA, rounds=2, sampling="poisson", rate=0.1)
    assert run.spent(party="a") == pytest.approx(price, rel=1e-9)
    assert run.spent() == run.spent(party="b") > run.spent(party="a")


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_other_adjacencies_are_the_worst_party_s_too(adjacency: Any) -> None:
    run = ledger(release(1, 4.0, by=("a",)), release(2, 3.0, by=("b",)))
    price = epsilon(noise_multiplier=3.0, delta=DELTA, rounds=1, adjacency=adjacency)
    assert run.epsilon(adjacency) == pytest.approx(price, rel=1e-9)


def test_strong_and_weak_silos_spend_as_much_as_their_own_releases_cost() -> None:
    """The strong ones train and all count; the weak ones vote: no party pays for the other phase."""
    strong, weak = party("s", "strong silo"), party("w", "weak silo")
    plan = (
        release(1, 1.3, by=("s",), name="train"),
        release(1, 20.0, name="profile"),
        release(1, 1.4, by=("w",), name="votes"),
    )
    run = opened(strong, weak, planned=plan)
    for one in plan:
        run = run.charge(one)
    assert run.spent(party="s") == pytest.approx(together(1.3, 20.0), rel=1e-9)
    assert run.spent(party="w") == pytest.approx(together(1.4, 20.0), rel=1e-9)
    assert run.spent() == run.spent(party="s") < together(1.3, 1.4, 20.0) - 1


def test_a_budget_is_a_party_s_own_and_the_refusal_names_it() -> None:
    run = ledger(parties=(party("a", "strong silo", budget=8.0), party("b", "weak silo", budget=1.0)))
    run = run.charge(release(1, 1.0, by=("a",)))
    with refuses("budget-exceeded", parameter="privacy.epsilon") as caught:
        run.charge(release(2, 1.0))
    assert (caught.value.party, caught.value.budget, caught.value.spent) == ("b", 1.0, 0.0)
    with refuses("budget-exceeded") as caught:
        opened(*run.parties, planned=(release(1, 1.0, by=("a",)), release(2, 1.0)))
    assert caught.value.party == "b"
    with refuses("budget-exceeded", parameter="privacy.epsilon") as caught:
        run.charge(release(2, 0.5, by=("a",)))
    assert (caught.value.party, caught.value.budget) == ("a", 8.0)
    assert caught.value.total == pytest.approx(together(1.0, 0.5), rel=1e-9)


def test_a_ledger_without_parties_names_none() -> None:
    with refuses("budget-exceeded", parameter="privacy.epsilon") as caught:
        open_ledger(conf_base(Privacy, epsilon=1.0, delta=DELTA), 100, [release(1, 1.0)])
    assert caught.value.party is None


def test_delta_is_held_against_each_party_s_units() -> None:
    opened(party("a", population=900), party("b", population=900), delta=1e-3)
    with refuses("delta-above-one-unit", parameter="privacy.delta", value=0.001):
        opened(party("a", population=900), party("b", population=1000), delta=1e-3)


@pytest.mark.parametrize(
    ("parties", "code"),
    [
        ((party("a"), party("a")), "party-named-twice"),
        ((party("a", budget=51.0),), "party-budget-not-declared"),
    ],
)
def test_parties_that_cannot_be_are_refused(parties: tuple[Party, ...], code: str) -> None:
    with refuses(code):
        opened(*parties)


def test_every_unit_has_one_party() -> None:
    with refuses("parties-do-not-add-up", parameter="population", value=150):
        open_ledger(
            conf_base(Privacy, epsilon=1.0, delta=DELTA), 150, [], parties=[party("a", budget=1), party("b", budget=1)]
        )


def test_a_release_is_of_parties_that_the_ledger_knows() -> None:
    with refuses("release-names-unknown-party", value="d"):
        ledger().charge(release(by=("a", "d")))
    with refuses("release-names-unknown-party", value="a"):
        open_ledger(conf_base(Privacy, epsilon=1.0, delta=DELTA), 300, [release(by=("a",))])
    with refuses("unfit-value"):
        release(by=())


def test_parties_of_one_name_and_round_release_apart_and_none_twice() -> None:
    """Each silo trains by itself under one name; a joint release is another's again if they share a party."""
    run = ledger(release(1, by=("a",))).charge(release(1, by=("b",)))
    for again in (("a",), ("b", "c"), None):
        with refuses("release-repeated"):
            run.charge(release(1, by=again))


def test_a_plan_is_a_party_s_own() -> None:
    run = opened(*map(party, NAMES), planned=(release(1, by=("a",)), release(1, 5.0, by=("b",))))
    run = run.charge(release(1, by=("a",))).charge(release(1, 5.0, by=("b",)))
    assert len(run.releases) == 2
    with refuses("release-not-planned"):
        run.charge(release(1, by=("c",)))


def test_an_unaccounted_read_is_everybody_s() -> None:
    assert math.isinf(ledger(release(by=("a",))).unaccounted_read("checkpoint", "best of ten").epsilon())


def test_the_order_of_names_is_no_difference() -> None:
    assert release(by=("b", "a", "b")) == release(by=("a", "b"))
    assert partition(map(party, "ab")) == partition(map(party, "ba")) != partition(map(party, "abc"))
    assert partition([party('a", "b')]) != partition([party("a"), party("b")])
    assert partition([]) == partition([], "rule") == ""


def test_parties_of_the_same_names_in_another_deal_hold_other_units() -> None:
    run = ledger(release(1, by=("a",)))
    other = run.model_copy(update={"partition_rule": "seed 1"})
    assert len({run.partition, other.partition, run.model_copy(update={"partition_rule": "seed 2"}).partition}) == 3
    assert Ledger.model_validate_json(other.model_dump_json()) == other
    assert "deal" not in run.model_dump_json()


def test_bills_list_every_party_even_one_that_pays_nothing() -> None:
    assert spend_profiles([None, ("a",), ("a", "b")], ["c"]) == {"c": (0,), "a": (0, 1, 2), "b": (0, 2)}
    assert spend_profiles([None, None]) == {}


def test_thousands_of_parties_are_charged_in_seconds() -> None:
    many = [party(f"device {i}", "phone" if i % 2 else "tablet", population=101) for i in range(5_000)]
    phones = tuple(one.name for one in many if one.kind == "phone")
    run = opened(*many)
    run = run.model_copy(update={"planned": None})
    for t in range(10):
        run = run.charge(release(t, 9.0, by=phones))
    assert run.spent() == pytest.approx(together(*[9.0] * 10), rel=1e-9)
    assert run.spent(party="device 0") == 0.0


GOLDEN = (
    '{"declaration":{"unit":"client","adjacency":"zero_out","epsilon":1.0,"delta":0.00001,"sampling":"full",'
    '"clients_per_round":null,"calibration":"exact","noise_multiplier":null,"aggregation":"secure",'
    '"honest_fraction":1.0,"noise_seed":null,"population":null,"enrolment":null,"holders":null,"total_epsilon":null},'
    '"population":1000,"part":"train","planned":[{"name":"sum","round":1,"mechanism":"discrete Gaussian",'
    '"sensitivity":1.0,"noise_stddev":4.0,"sampling":"full","rate":1.0,"unit":"client","steps":1,"rounds":1}],'
    '"planned_unaccounted":false,"releases":[{"name":"sum","round":1,"mechanism":"discrete Gaussian",'
    '"sensitivity":1.0,"noise_stddev":4.0,"sampling":"full","rate":1.0,"unit":"client","steps":1,"rounds":1}],'
    '"unaccounted":[],"evaluation_only":[]}'
)


def test_a_ledger_without_parties_is_written_as_it_always_was() -> None:
    """Releases name noise, and ledgers lie in data roots: a field that nobody uses must not move a byte."""
    run = open_ledger(conf_base(Privacy, epsilon=1.0, delta=DELTA), 1000, [release(1)]).charge(release(1))
    assert run.model_dump_json() == GOLDEN
    assert Ledger.model_validate_json(GOLDEN) == run


def test_json_keeps_the_parties() -> None:
    run = opened(*map(party, NAMES), planned=(release(1, by=("a", "b")),)).charge(release(1, by=("a", "b")))
    assert Ledger.model_validate_json(run.model_dump_json()) == run
    assert '"parties":["a","b"]' in run.releases[0].stream_name()

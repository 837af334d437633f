"""What all releases of a data set cost together: each different one once, none forgotten, none amplified twice."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from fedtext.privacy.accounting import epsilon
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.ledger import BudgetExceeded, Ledger, Release
from fedtext.privacy.spending import (
    Promise,
    Rules,
    Spent,
    TotalExceeded,
    not_yet_made,
    party_totals,
    spent_on,
    total_epsilon,
    totals,
    validate_total,
    worst_total,
)
from tests.privacy.histories import DELTA, ledger, party, release, spent
from tests.refusals import refuses

RULES = Rules("s")


def exact(rounds: int = 1, multiplier: float = 4.0, **changes: Any) -> float:
    return epsilon(**{"noise_multiplier": multiplier, "delta": DELTA, "rounds": rounds, **changes})


def total(*entries: Spent, of: Ledger | None = None, split: str = "s", spans: str = "", **more: Any) -> float:
    return total_epsilon(entries, of or ledger(), Rules(split, spans), **more)


def test_nothing_was_spent_on_nothing() -> None:
    assert total() == 0


def test_different_releases_compose_and_the_same_one_counts_once() -> None:
    first, second = spent(release(round=1)), spent(release(round=2), "b")
    assert total(first) == pytest.approx(exact())
    assert total(first, second) == pytest.approx(exact(rounds=2))
    assert total(first, first.model_copy(update={"node": "another"}), second) == total(first, second)


def test_the_same_plan_on_other_data_is_another_release() -> None:
    assert total(spent(release()), spent(release(), "b")) == pytest.approx(exact(rounds=2))
    assert total(spent(release()), spent(release(), "b"), spent(release(), "c")) == pytest.approx(exact(rounds=3))


def test_a_run_of_many_rounds_that_one_entry_pays_for_costs_one_release_and_made_again_two() -> None:
    whole = release(rounds=3, mechanism="correlated across 3 rounds")
    rounds = [spent(whole, f"a{t}", round=t) for t in (1, 2, 3)]
    assert total(*rounds) == pytest.approx(exact())
    assert total(*rounds, spent(whole, "b1", round=1)) == pytest.approx(exact(rounds=2))
    assert total(*rounds, *(spent(whole, f"b{t}", round=t) for t in (1, 2, 3))) == pytest.approx(exact(rounds=2))


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_a_sampled_release_made_twice_of_changed_data_is_priced_without_amplification(sampling: str) -> None:
    """The lots do not depend on the data, so both asked the same clients: whoever was drawn was drawn twice."""
    drawn = release(2.0, sampling=sampling, rate=0.05)
    once, twice = total(spent(drawn)), total(spent(drawn), spent(drawn, "b"))
    assert once == pytest.approx(exact(multiplier=2.0, sampling=sampling, rate=0.05), abs=1e-4)
    assert twice == pytest.approx(exact(rounds=2, multiplier=2.0))
    amplified = exact(rounds=2, multiplier=2.0, sampling=sampling, rate=0.05)
    assert once < amplified < 0.5 * twice, "the wrong price could be told from the right one"
    independent = total(spent(drawn), spent(drawn.model_copy(update={"round": 1}), "b"))
    assert independent == pytest.approx(amplified, abs=1e-4), "two rounds draw anew"
    other = total(spent(drawn, draw="one"), spent(drawn, "b", draw="another"))
    assert other == pytest.approx(amplified, abs=1e-4), "so do two draws of other names"
    assert total(spent(drawn, draw="one"), spent(drawn, "b", draw="one")) == twice
    assert total(spent(drawn, draw="one"), spent(drawn, "b")) == twice, "a draw without a name may be any"
    third = spent(drawn, "c", draw="another")
    assert total(spent(drawn, draw="one"), spent(drawn, "b", draw="one"), third) > twice


def test_another_part_pays_for_itself_unless_the_split_was_another() -> None:
    """Under another split today's training clients may have been test clients."""
    trained, tested = spent(release()), spent(release(3.0, name="test"), "b", part="test")
    assert total(trained, tested) == pytest.approx(exact())
    assert total(trained, tested, of=ledger(part="test")) == pytest.approx(exact(multiplier=3.0))
    both = (1 / 16 + 1 / 9) ** -0.5
    for part in ("train", "test"):
        assert total(trained, tested, of=ledger(part=part), split="other") == pytest.approx(exact(multiplier=both))
    resplit = tested.model_copy(update={"split": "other"})
    assert total(trained, resplit) == pytest.approx(exact(multiplier=both))


def test_a_total_is_priced_at_every_delta_that_a_run_declared() -> None:
    """The smaller delta costs more, whichever was first, and whichever asks now."""
    loose, strict = spent(release(), delta=1e-3), spent(release(round=1), "b", delta=1e-8)
    for entries in ([loose, strict], [strict, loose]):
        found = {one.promise.delta: one.epsilon for one in totals(entries, ledger(), RULES)}
        assert found == {delta: pytest.approx(exact(rounds=2, delta=delta)) for delta in (1e-3, 1e-8, DELTA)}
        assert total(*entries) == found[1e-8]
    assert total(loose, of=ledger(delta=1e-9)) == pytest.approx(exact(delta=1e-9))


def asked(multiplier: float = 4.0, **changes: Any) -> Release:
    return release(multiplier, **{"round": 9, "name": "new", **changes})


def overdrawn(*entries: Spent, by: Release, of: Ledger, rules: Rules = RULES, **more: Any) -> TotalExceeded:
    with pytest.raises(TotalExceeded) as caught:
        validate_total(entries, of, rules, [by], **more)
    return caught.value


ADJACENCIES = ("zero_out", "add_remove", "replace_one")


@pytest.mark.parametrize("first", ADJACENCIES)
@pytest.mark.parametrize("second", ADJACENCIES)
def test_a_total_holds_under_the_neighbours_of_every_run_each_to_its_own_budget(first: str, second: str) -> None:
    made, new = spent(release(), adjacency=first, budget=2.0), asked(5.0)
    of = ledger(adjacency=second, epsilon=2.5)
    found = {one.promise.adjacency: (one.epsilon, one.budget) for one in totals([made], of, RULES, [new])}
    both = (1 / 16 + 1 / 25) ** -0.5
    price = {one: exact(multiplier=both, adjacency=one) for one in (first, second)}
    assert found == {second: (pytest.approx(price[second]), 2.5)} | {first: (pytest.approx(price[first]), 2.0)}
    over = [one for one, budget in ((first, 2.0), (second, 2.5)) if price[one] > found[one][1]]
    assert bool(over) == ("replace_one" in (first, second))
    if over:
        assert overdrawn(made, by=new, of=of).total == pytest.approx(exact(multiplier=both, adjacency="replace_one"))
    else:
        validate_total([made], of, RULES, [new])


def test_what_was_promised_under_replacement_is_not_overspent_under_another_promise() -> None:
    """Eight under replace_one and six under zero_out come to 7.43 under zero_out, and to 19.19 as was promised first."""
    delta = 1e-3
    loud = noise_multiplier(epsilon=8, delta=delta, rounds=1, adjacency="replace_one")
    louder = noise_multiplier(epsilon=6, delta=delta, rounds=1, adjacency="zero_out")
    made = spent(release(loud), adjacency="replace_one", delta=delta, budget=8.0, allowed=8.0)
    said = str(overdrawn(made, by=asked(louder), of=ledger(epsilon=6.0, delta=delta)))
    assert "may cost epsilon 8; 8 is spent ('sum' x 1: 8); 'new' would make it 19.19" in said
    assert "counted for a client under replace_one at delta 0.001 as it was promised. Nothing was read" in said
    back = spent(release(louder), delta=delta, budget=6.0, allowed=6.0)
    of = ledger(epsilon=8.0, delta=delta, adjacency="replace_one")
    assert overdrawn(back, by=asked(loud), of=of).total == pytest.approx(19.19, abs=0.005)


def test_a_declared_total_holds_under_every_promise() -> None:
    made = spent(release(), adjacency="replace_one", budget=1.0)
    whole = exact(rounds=2, adjacency="replace_one")
    validate_total([made], ledger(), RULES, [asked()], allowed=1.001 * whole)
    error = overdrawn(made, by=asked(), of=ledger(), allowed=0.999 * whole)
    assert (error.budget, error.total) == (0.999 * whole, pytest.approx(whole))


def test_a_later_run_of_the_same_promise_keeps_the_first_one_s_budget() -> None:
    made = spent(release(), budget=1.0)
    error = overdrawn(made, by=asked(), of=ledger(epsilon=8.0))
    assert error.budget == 1.0


def test_a_sampled_release_without_a_price_under_an_old_promise_costs_infinitely_much_there() -> None:
    made = spent(release(), adjacency="add_remove", budget=8.0)
    error = overdrawn(made, by=asked(sampling="fixed_size", rate=0.1), of=ledger(epsilon=8.0))
    assert math.isinf(error.total)
    assert "counted for a client under add_remove" in str(error)
    assert "a draw of fixed size needs a public number of units" in str(error)
    drawn = spent(release(sampling="fixed_size", rate=0.1), budget=8.0)
    assert math.isinf(overdrawn(drawn, by=asked(), of=ledger(epsilon=8.0, adjacency="add_remove")).total)
    of_many = overdrawn(spent(release(), delta=1e-12), by=asked(sampling="poisson", rate=0.1), of=ledger(epsilon=8.0))
    assert "with sampling epsilon is computed for delta" in str(of_many)


def test_a_promise_to_clients_is_broken_by_a_release_under_records_whichever_comes_first() -> None:
    of_records = ledger(unit="record", epsilon=8.0)
    clients, records = spent(release(), budget=8.0), spent(release(unit="record"), budget=8.0)
    for made, by, of in (
        (clients, asked(unit="record"), of_records),
        (records, asked(), ledger(epsilon=8.0)),
    ):
        error = overdrawn(made, by=by, of=of)
        assert math.isinf(error.total)
        assert "protects single records, of which a client holds any number" in str(error)
        assert "counted for a client" in str(error)


def test_records_of_every_cut_are_promised_to_on_their_own() -> None:
    short = spent(release(unit="record"), spans="64", budget=8.0)
    error = overdrawn(short, by=asked(unit="record"), of=ledger(unit="record", epsilon=8.0), rules=Rules("s", "512"))
    assert "cut in another way" in str(error)
    validate_total([short], ledger(unit="record", epsilon=8.0), Rules("s", "64"), [asked(unit="record")])


def test_promises_to_the_other_part_hold_where_the_split_was_another() -> None:
    """Who was a test client and promised 1 may be a training client now."""
    tested = spent(release(40.0, name="test"), part="test", budget=1.0)
    validate_total([tested], ledger(epsilon=8.0), RULES, [asked(1.0)])
    error = overdrawn(tested, by=asked(1.0), of=ledger(epsilon=8.0), rules=Rules("other"))
    assert error.budget == 1.0


def test_runs_of_several_promises_are_refused_together() -> None:
    """As a comparison of two entries that declare different neighbours asks."""
    careful, other = ledger(adjacency="replace_one", epsilon=2.5), ledger(epsilon=9.0)
    plans = [asked(4.0), asked(4.0, round=10)]
    error = overdrawn(by=plans[0], of=other, before=[careful], allowed=1.0)
    assert error.total == pytest.approx(exact(adjacency="replace_one"))
    validate_total([], other, RULES, plans[:1], before=[careful])
    with refuses("total-exceeded") as caught:
        validate_total([], other, RULES, plans, before=[careful])
    assert "replace_one" in str(caught.value)


def test_the_worst_promise_is_the_one_whose_budget_is_used_up_most() -> None:
    rich = spent(release(), adjacency="replace_one", budget=100.0)
    poor = spent(release(round=1), "b", budget=1.0)
    worst = worst_total(totals([rich, poor], ledger(), RULES))
    assert (worst.promise.adjacency, worst.budget) == ("zero_out", 1.0)
    assert worst.share == pytest.approx(exact(rounds=2))


def test_a_party_s_budget_is_of_the_promise_that_it_was_given_under() -> None:
    silos = (party("a"), party("b", budget=0.5))
    made = by("b", multiplier=14.0, adjacency="replace_one", budgets=(("b", 0.6),))
    found = totals([made], ledger(parties=silos), RULES, [release(60.0, parties=("b",), round=1)])
    assert {(one.promise.adjacency, one.party): one.budget for one in found} == {
        ("replace_one", "a"): 1.0, ("replace_one", "b"): 0.6, ("zero_out", "a"): 1.0, ("zero_out", "b"): 0.5,
    }  # fmt: skip


def test_an_unaccounted_read_makes_the_total_infinite() -> None:
    read = spent(None, "popri.checkpoint", reason="lowest FID on private validation text")
    assert math.isinf(total(spent(release()), read))
    assert math.isfinite(total(spent(release()), read.model_copy(update={"part": "test"})))


def test_what_was_released_under_single_records_bounds_no_client_s_loss() -> None:
    """A client holds any number of records: epsilon a record says nothing of all of them."""
    of_records = spent(release(unit="record"))
    assert math.isinf(total(of_records))
    assert total(of_records, of=ledger(unit="record")) == pytest.approx(exact())


def test_what_was_released_under_records_of_another_cut_bounds_no_record_s_loss() -> None:
    """A record of 512 tokens holds eight of 64: what eight releases cost, and not one, is what it may have lost."""
    short, of_records = spent(release(unit="record"), spans="64"), ledger(unit="record")
    assert total(short, of=of_records, spans="64") == pytest.approx(exact())
    assert math.isinf(total(short, of=of_records, spans="512"))
    assert math.isinf(total(spent(release(unit="record")), of=of_records, spans="64")), "an old entry may be of any"
    now = Promise("zero_out", "record", DELTA, "train", "512")
    assert spent_on([short], of_records, Rules("s", "512"), now) == ["'sum' x 1 of records cut in another way: inf"]
    of_clients = spent(release(), spans="64")
    assert total(of_clients, spans="512") == pytest.approx(exact()), "whoever is a client is one however texts are cut"
    assert math.isfinite(total(of_clients, of=of_records, spans="512"))


@pytest.mark.parametrize("adjacency", ["zero_out", "add_remove", "replace_one"])
@pytest.mark.parametrize("drawn", [{}, {"sampling": "poisson", "rate": 0.05}])
def test_what_was_released_under_clients_costs_a_record_what_replacing_its_client_costs(
    drawn: dict[str, Any], adjacency: str
) -> None:
    """A record more or less replaces what its client sends: twice the clip at most, and no amplification is claimed."""
    of_records = ledger(unit="record", adjacency=adjacency)
    assert total(spent(release(**drawn)), of=of_records) == pytest.approx(exact(adjacency="replace_one"))


def test_what_is_planned_counts_with_what_was_made() -> None:
    assert total(spent(release()), planned=[release(round=1), release(round=2)]) == pytest.approx(exact(rounds=3))


def test_a_run_that_is_repeated_or_resumed_has_nothing_new_to_make() -> None:
    plans = tuple(release(round=t) for t in (1, 2, 3))
    opened = ledger(planned=plans)
    assert not_yet_made([], opened, RULES) == [*plans]
    # What was made is on a grid: a little more sensitivity, a little more noise, the same multiplier.
    made = [spent(release(4.0 * 1.001, round=t, sensitivity=1.001, mechanism="on a grid"), f"{t}") for t in (1, 2)]
    assert not_yet_made(made, opened, RULES) == [plans[2]]
    louder = [spent(release(3.9, round=1))]
    assert not_yet_made(louder, opened, RULES) == [*plans]
    elsewhere = [spent(release(round=1), part="test")]
    assert not_yet_made(elsewhere, opened, RULES) == [*plans]


def refused(*entries: Spent, allowed: float, **more: Any) -> None:
    arguments: dict[str, Any] = {"planned": [release(3.7, round=9, name="new")], **more}
    validate_total(entries, ledger(), RULES, arguments.pop("planned"), allowed=allowed, **arguments)


def test_a_plan_beyond_what_is_left_is_refused_with_what_was_spent_on_what() -> None:
    made = [spent(release(round=t), f"{t}") for t in (1, 2)] + [spent(release(5.0, name="other"), "o")]
    whole = total(*made, planned=[release(3.7, round=9)])
    refused(*made, allowed=whole)
    with pytest.raises(TotalExceeded) as caught:
        refused(*made, allowed=0.999 * whole)
    error, told = caught.value, str(caught.value)
    assert isinstance(error, BudgetExceeded)
    assert (error.budget, error.spent, error.total) == (0.999 * whole, total(*made), whole)
    assert f"may cost epsilon {0.999 * whole:.6g}; {total(*made):.6g} is spent" in told
    assert f"'sum' x 2: {exact(rounds=2):.4g}, 'other' x 1: {exact(multiplier=5.0):.4g}" in told
    assert f"'new' would make it {whole:.6g}" in told
    assert "Nothing was read" in told
    assert "privacy.total_epsilon" in told


def test_a_read_without_a_mechanism_is_refused_under_any_finite_budget() -> None:
    with refuses("total-exceeded") as caught:
        refused(allowed=1e9, planned=[], unaccounted=True)
    assert (caught.value.spent, caught.value.total) == (0.0, math.inf)
    refused(allowed=math.inf, planned=[], unaccounted=True)


def test_nothing_new_is_never_refused() -> None:
    """What was released is out; to read it again costs nothing, whatever the budget is now."""
    refused(spent(release(0.1)), allowed=0.01, planned=[])


def test_what_was_spent_on_what_names_reads_by_their_reason() -> None:
    read = spent(None, "popri.checkpoint", reason="lowest FID")
    promise = Promise("zero_out", "client", DELTA, "train")
    assert spent_on([spent(release()), read], ledger(), RULES, promise) == [
        f"'sum' x 1: {exact():.4g}",
        "'lowest FID' x 0: inf",
    ]


def test_json_keeps_every_entry() -> None:
    for entry in (spent(release(), allowed=None), spent(None, "x", reason="y", delta=1e-7)):
        assert Spent.model_validate_json(entry.model_dump_json()) == entry
    with pytest.raises(ValidationError):
        Spent.model_validate({**spent(release()).model_dump(), "further": 1})


TWO = ledger(parties=(party("a"), party("b")))


def by(*names: str, receipt: str = "a", multiplier: float = 4.0, round: int = 0, **changes: Any) -> Spent:
    """What some parties of `TWO` released."""
    made = release(multiplier, parties=names, round=round)
    return spent(made, receipt, **{"partition": TWO.partition, **changes})


def test_a_party_s_total_is_of_its_own_releases_over_all_runs_and_the_data_set_s_is_the_worst() -> None:
    entries = [by("a"), by("a", round=1, receipt="b"), by("b", multiplier=3.0), spent(release(8.0), "c")]
    totals = party_totals(entries, TWO, RULES)
    both = [(2 / 16 + 1 / 64) ** -0.5, (1 / 9 + 1 / 64) ** -0.5]
    assert totals == {name: pytest.approx(exact(multiplier=own)) for name, own in zip("ab", both, strict=True)}
    assert total(*entries, of=TWO) == max(totals.values()) == totals["a"]
    assert party_totals(entries, TWO, RULES, [release(1.0, parties=("b",), round=9)])["a"] == totals["a"]


def test_a_later_run_that_tells_no_parties_apart_adds_to_each() -> None:
    entries = [by("a"), by("b", multiplier=3.0), spent(release(8.0), "c")]
    worst = exact(multiplier=(1 / 9 + 1 / 64) ** -0.5)
    assert total(*entries) == pytest.approx(worst) == total(*entries, of=TWO)
    sequence = exact(multiplier=(1 / 16 + 1 / 9 + 1 / 64) ** -0.5)
    assert sequence > 1.2 * worst, "the price in sequence could be told from it"


@pytest.mark.parametrize("changed", [{"split": "other"}, {"partition": "another"}])
def test_parties_of_another_split_or_partition_may_be_anybody(changed: dict[str, str]) -> None:
    """Other silos, or the same names dealt anew, can hold the same people: their releases count for every party."""
    entries = [by("a"), by("b", multiplier=3.0, **changed)]
    both = exact(multiplier=(1 / 16 + 1 / 9) ** -0.5)
    assert party_totals(entries, TWO, RULES) == {"a": pytest.approx(both), "b": pytest.approx(exact(multiplier=3.0))}


def test_an_overdraft_names_the_party_and_what_it_paid_for() -> None:
    entries, asked = [by("a"), by("b", multiplier=40.0)], [release(4.0, parties=("a",), round=1)]
    with refuses("total-exceeded") as caught:
        validate_total(entries, TWO, RULES, asked, allowed=1.0)
    assert (caught.value.party, caught.value.total) == ("a", pytest.approx(exact(rounds=2)))
    assert "('sum' x 1: 0.9" in str(caught.value)
    validate_total(entries, TWO, RULES, [release(4.0, parties=("b",), round=1)], allowed=1.0)
    poor = ledger(parties=(party("a"), party("b", budget=0.5)))
    with refuses("total-exceeded", value=0.5):
        validate_total(entries, poor, RULES, [release(4.0, parties=("b",), round=1)])


def test_who_spent_too_much_does_not_stop_others() -> None:
    entries = [by("a", multiplier=1.0)]
    validate_total(entries, TWO, RULES, [release(5.0, parties=("b",), round=1)], allowed=1.0)
    with refuses("total-exceeded") as caught:
        validate_total(entries, TWO, RULES, [release(5.0, round=1)], allowed=1.0)
    assert caught.value.party == "a"
    with refuses("total-exceeded") as caught:
        validate_total([], TWO, RULES, [], allowed=1.0, unaccounted=True)
    assert caught.value.total == math.inf


def test_a_plan_of_one_party_is_not_made_by_another() -> None:
    plan = (release(parties=("a",)), release(parties=("b",)))
    run = ledger(parties=TWO.parties, planned=plan)
    assert not_yet_made([by("a")], run, RULES) == [plan[1]]


def test_an_entry_without_parties_is_written_as_it_always_was() -> None:
    line = spent(release()).model_dump_json()
    assert "part" in line
    assert "parties" not in line
    assert "partition" not in line
    assert Spent.model_validate_json(by("a").model_dump_json()) == by("a")

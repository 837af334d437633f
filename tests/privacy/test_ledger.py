"""The ledger: a value that prices all releases together and refuses an overdraft before anything is read."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fedtext.params.privacy import Privacy
from fedtext.privacy.accounting import epsilon
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.ledger import BudgetExceeded, Ledger, Release, open_ledger
from fedtext.privacy.parties import Party
from tests.parameters import conf_base
from tests.refusals import refuses

DELTA = 3e-6


def declared(**changed: object) -> Privacy:
    return conf_base(Privacy, {"epsilon": 1.0, "delta": DELTA, **changed})


def release(round: int = 1, multiplier: float = 19.3, **changed: object) -> Release:
    fields = {"name": "scores", "round": round, "mechanism": "discrete Gaussian", "sensitivity": 1.0}
    return Release.model_validate({**fields, "noise_stddev": multiplier, **changed})


def ledger(*releases: Release, **changed: object) -> Ledger:
    return Ledger(declaration=declared(**changed), population=10_000, releases=releases)


def test_twenty_rounds_cost_what_the_accountant_says() -> None:
    charged = ledger()
    for t in range(1, 21):
        charged = charged.charge(release(t))
    expected = epsilon(noise_multiplier=19.3, delta=DELTA, rounds=20)
    assert charged.epsilon() == pytest.approx(expected, rel=1e-9) == pytest.approx(0.9195, abs=1e-4)
    assert charged.epsilon("add_remove") == charged.epsilon()
    twice = epsilon(noise_multiplier=19.3, delta=DELTA, rounds=20, adjacency="replace_one")
    assert charged.epsilon("replace_one") == pytest.approx(twice, rel=1e-9)


def test_only_the_ratio_of_noise_and_sensitivity_counts() -> None:
    small, large = ledger(release()), ledger(release(sensitivity=3.7, noise_stddev=19.3 * 3.7))
    assert small.epsilon() == pytest.approx(large.epsilon(), rel=1e-9)


@pytest.mark.parametrize("adjacency", ["zero_out", "add_remove", "replace_one"])
def test_non_negative_contributions_cost_less_where_one_unit_replaces_another_and_nowhere_else(adjacency: Any) -> None:
    plain, votes = ledger(release(steps=20)), ledger(release(steps=20, non_negative=True))
    noise = 19.3 * (math.sqrt(2) if adjacency == "replace_one" else 1.0)  # 2 C becomes sqrt(2) C
    assert votes.epsilon(adjacency) == pytest.approx(
        epsilon(noise_multiplier=noise, delta=DELTA, rounds=20, adjacency=adjacency), rel=1e-9
    )
    assert (votes.epsilon(adjacency) < plain.epsilon(adjacency)) == (adjacency == "replace_one")


def test_a_sign_that_is_not_claimed_is_not_written_and_names_no_stream() -> None:
    plain, votes = release(), release(non_negative=True)
    assert "non_negative" not in plain.model_dump_json()
    assert Release.model_validate_json(votes.model_dump_json()) == votes != plain
    assert votes.stream_name() == plain.stream_name() == plain.model_dump_json()
    assert not votes.as_noisy_as(plain)
    assert release(2).stream_name() != plain.stream_name() != release(multiplier=19.4).stream_name()


def test_steps_are_releases() -> None:
    assert ledger(release(steps=20)).epsilon() == ledger(*(release(t) for t in range(20))).epsilon()


def test_different_releases_compose_exactly() -> None:
    both = ledger(release(1, 6.0), release(2, 8.0))  # 1/36 + 1/64 = 1/4.8^2
    assert both.epsilon() == pytest.approx(epsilon(noise_multiplier=4.8, delta=DELTA, rounds=1), rel=1e-9)


def test_a_charge_changes_nothing_but_its_result() -> None:
    before = ledger()
    after = before.charge(release())
    assert before == ledger()
    assert after.releases == (release(),)
    assert before.charge(release()) == after


def test_an_overdraft_is_refused_with_the_sums() -> None:
    spent = ledger(release(1, 10.0))
    with refuses("budget-exceeded", parameter="privacy.epsilon") as caught:
        spent.charge(release(2, 4.1))
    refusal = caught.value
    assert (refusal.budget, refusal.spent) == (1.0, spent.epsilon())
    assert refusal.asked == pytest.approx(epsilon(noise_multiplier=4.1, delta=DELTA, rounds=1), rel=1e-9)
    assert refusal.asked < 1 < refusal.total < refusal.spent + refusal.asked


@settings(max_examples=40)
@given(
    budget=st.floats(0.1, 10),
    rounds=st.integers(1, 30),
    clip=st.floats(1e-3, 1e3),
    adjacency=st.sampled_from(["zero_out", "add_remove", "replace_one"]),
)
def test_calibrated_noise_is_never_refused_and_one_percent_less_always(budget, rounds, clip, adjacency) -> None:
    noise = noise_multiplier(epsilon=budget, delta=DELTA, rounds=rounds, adjacency=adjacency)
    declaration = declared(epsilon=budget, adjacency=adjacency)
    plan = [release(t, noise * clip, sensitivity=clip) for t in range(rounds)]
    charged = open_ledger(declaration, 10_000, plan)
    for planned in plan:
        charged = charged.charge(planned)
    assert charged.epsilon() == pytest.approx(budget, rel=1e-8)
    with pytest.raises(BudgetExceeded):
        open_ledger(declaration, 10_000, [release(t, 0.99 * noise * clip, sensitivity=clip) for t in range(rounds)])


def test_calibrated_noise_with_sampling_is_not_refused_either() -> None:
    sampling = {"sampling": "fixed_size", "rate": 0.1}
    noise = noise_multiplier(epsilon=1.0, delta=DELTA, rounds=5, **sampling)
    plan = [release(t, noise * 1.001, sensitivity=1.001, **sampling) for t in range(5)]
    charged = open_ledger(declared(sampling="fixed_size", clients_per_round=1_000), 10_000, plan)
    for planned in plan:
        charged = charged.charge(planned)
    assert charged.epsilon() == pytest.approx(1.0, abs=1e-5)


def test_a_published_multiplier_with_the_sampling_it_was_not_made_for_is_refused() -> None:
    """2.5 at 1000 of 10000 is epsilon 0.86 by Poisson sampling, and 1.61 by a draw of fixed size."""
    poisson = [release(t, 2.5, sampling="poisson", rate=0.1) for t in range(20)]
    assert open_ledger(declared(), 10_000, poisson).releases == ()
    fixed = [release(t, 2.5, sampling="fixed_size", rate=0.1) for t in range(20)]
    with pytest.raises(BudgetExceeded):
        open_ledger(declared(), 10_000, fixed)
    assert ledger(*fixed).epsilon("replace_one") == pytest.approx(2.672, abs=1e-3)


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        ({}, False),
        ({"sensitivity": 1.001, "noise_stddev": 20.0 * 1.001, "mechanism": "on a grid"}, False),
        ({"noise_stddev": 20.0 * (1 + 1e-12)}, False),
        ({"noise_stddev": 19.9}, True),
        ({"noise_stddev": 20.1}, True),
        ({"round": 3}, True),
        ({"name": "others"}, True),
        ({"steps": 2}, True),
        ({"rounds": 2}, True),
        ({"sampling": "poisson", "rate": 0.5}, True),
    ],
)
def test_an_opened_ledger_pays_for_what_was_planned_and_nothing_else(asked: dict[str, Any], refused: bool) -> None:
    """A name, a round, a draw and a noise multiplier are a plan; clip norm and grid may differ, which change no price."""
    opened = open_ledger(declared(epsilon=8.0), 10_000, [release(t, 20.0) for t in (1, 2)])
    assert opened.planned == tuple(release(t, 20.0) for t in (1, 2))
    wanted = release(**{"multiplier": 20.0, **asked})
    if refused:
        with refuses("release-not-planned"):
            opened.charge(wanted)
    else:
        charged = opened.charge(wanted)
        assert charged.releases == (wanted,)
        with refuses("release-repeated"):
            charged.charge(wanted)


def test_a_ledger_that_was_opened_for_nothing_pays_for_nothing() -> None:
    with refuses("release-not-planned"):
        open_ledger(declared(), 10_000, []).charge(release())


def test_a_ledger_says_whose_data_it_pays_for_and_how_many_they_may_be() -> None:
    opened = open_ledger(declared(population=12_500), 10_000, [release()], part="test")
    assert (opened.part, open_ledger(declared(), 10_000, []).part) == ("test", "train")
    assert (opened.most_units, ledger().most_units) == (12_500, 10_000)


def test_what_all_runs_together_may_spend_is_no_part_of_a_run_s_ledger() -> None:
    """Else another total would draw other lots, and give other bytes, for the same release."""
    one, other = (open_ledger(declared(total_epsilon=total), 10_000, [release()]) for total in (None, 7.0))
    assert one == other


def test_local_noise_is_priced_as_the_server_sees_it() -> None:
    """One client's message, sender included: the full price of its own noise, and no sampling."""
    sampled = [release(t, 19.3, sampling="poisson", rate=0.1) for t in range(20)]
    hidden, seen = ledger(*sampled), ledger(*sampled, aggregation="local")
    assert seen.epsilon() == pytest.approx(epsilon(noise_multiplier=19.3, delta=DELTA, rounds=20), rel=1e-9)
    assert hidden.epsilon() < 0.2 * seen.epsilon()


def test_an_unaccounted_read_makes_epsilon_infinite() -> None:
    read = ledger(release()).unaccounted_read("checkpoint", "lowest FID on private validation text")
    assert math.isinf(read.epsilon())
    assert math.isinf(read.epsilon("replace_one"))
    assert read.spent() == ledger(release()).epsilon()
    assert read.unaccounted[0].reason == "lowest FID on private validation text"


def test_held_out_evaluation_costs_nothing() -> None:
    read = ledger(release()).evaluation_only_read("fid", "test clients")
    assert read.epsilon() == ledger(release()).epsilon()
    assert read.evaluation_only[0].name == "fid"


def test_an_empty_ledger_has_spent_nothing() -> None:
    assert ledger().epsilon() == 0.0


def test_the_same_release_twice_is_refused() -> None:
    with refuses("release-repeated", value="scores"):
        ledger(release()).charge(release(1, 50.0))


def test_a_release_of_another_unit_is_refused() -> None:
    with refuses("release-protects-another-unit", value="record"):
        ledger().charge(release(unit="record"))
    with refuses("release-protects-another-unit", value="record"):
        open_ledger(declared(), 10_000, [release(unit="record")])


@pytest.mark.parametrize(
    ("population", "delta", "code"),
    [
        (0, DELTA, "nobody-to-protect"),
        (10, 0.1, "delta-above-one-unit"),
        (10_000, 1e-3, "delta-above-one-unit"),
    ],
)
def test_a_declaration_that_means_nothing_is_refused(population, delta, code) -> None:
    with refuses(code):
        open_ledger(declared(delta=delta), population, [])


def test_a_delta_that_is_too_large_for_the_test_clients_is_said_to_be_so() -> None:
    with refuses("delta-above-one-unit", parameter="privacy.delta", value=0.1):
        open_ledger(declared(delta=0.1), 30, [], part="test")


def test_a_plan_that_cannot_be_priced_is_refused() -> None:
    with refuses("fixed-size-needs-public-population"):
        open_ledger(declared(adjacency="add_remove"), 10_000, [release(sampling="fixed_size", rate=0.1)])


@pytest.mark.parametrize(
    "changed",
    [
        {"sensitivity": 0.0},
        {"noise_stddev": 0.0},
        {"noise_stddev": math.inf},
        {"noise_stddev": math.nan},
        {"rate": 0.0},
        {"rate": 1.5},
        {"rate": 0.5},
        {"sampling": "shuffle"},
        {"steps": 0},
        {"round": -1},
        {"sigma": 1.0},
    ],
)
def test_a_release_that_is_none_is_refused(changed) -> None:
    with pytest.raises(ValidationError):
        release(**changed)


FINITE = st.floats(1e-6, 1e6)
RELEASES = st.builds(
    release,
    round=st.integers(0, 99),
    multiplier=FINITE,
    sensitivity=FINITE,
    name=st.text(max_size=9),
    sampling=st.just("poisson"),
    rate=st.floats(1e-6, 1),
    steps=st.integers(1, 9),
)


# As it was written before `secret_draw` and `deal` were renamed: histories, ledgers and noise streams hold these bytes.
OF_A_PARTY = (
    '{"name":"flexible.vote","round":1,"mechanism":"discrete Gaussian","sensitivity":1.0,"noise_stddev":2.0,'
    '"sampling":"poisson","rate":0.5,"unit":"client","steps":1,"rounds":1%s"secret_draw":true,"parties":["a"]}'
)


def test_a_renamed_field_changes_no_stored_byte_and_no_noise_stream() -> None:
    told = Release.model_validate_json(OF_A_PARTY % ",")
    assert told.secret_sample
    assert told.model_dump_json() == told.stream_name() == OF_A_PARTY % ","
    assert Release.model_validate({**told.model_dump(exclude={"secret_sample"}), "secret_sample": True}) == told


def test_a_ledger_of_before_is_read_and_written_as_it_was() -> None:
    parties = (Party(name="a", kind="silo", population=10_000, epsilon=1.0),)
    now = ledger(release()).model_copy(update={"parties": parties, "partition_rule": "seed 1"})
    written = now.model_dump_json()
    assert '"deal":"seed 1"' in written
    assert "partition_rule" not in written
    assert Ledger.model_validate_json(written) == now


@settings(max_examples=50)
@given(releases=st.lists(RELEASES, max_size=4), delta=st.floats(1e-12, 0.5), reason=st.text(max_size=20))
def test_json_keeps_every_bit(releases, delta, reason) -> None:
    full = ledger(*releases, delta=delta).unaccounted_read("a", reason).evaluation_only_read("b", reason)
    assert Ledger.model_validate_json(full.model_dump_json(indent=2)) == full
    assert Ledger.model_validate(full.model_dump(mode="json")) == full

"""One budget a data set: what the gate lets out, of whom, and what it refuses before anything is read or leaves."""

from __future__ import annotations

import logging
import math
import multiprocessing
import shutil
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedtext.federation.mechanism import opened_ledger, planned_release
from fedtext.federation.messages import BlocksOf
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import release_noisy_sum
from fedtext.federation.units import Block
from fedtext.params.privacy import Privacy
from fedtext.privacy.accounting import epsilon
from fedtext.privacy.budget_guard import current, guarding
from fedtext.privacy.data_set_budget import DataSetBudget
from fedtext.privacy.history import HISTORY_ROOT, History, release_history
from fedtext.privacy.ledger import Ledger, Release, open_ledger
from fedtext.privacy.noise import new_noise_key
from fedtext.privacy.parties import Party
from fedtext.privacy.plan import planned_multiplier
from fedtext.privacy.registry import Registry
from fedtext.privacy.spending import Rules, Spent, TotalExceeded, total_epsilon
from tests.parameters import conf_base
from tests.refusals import refuses

CLIENTS, KEY, RULES = 200, new_noise_key(1), Rules("s")
DATA = np.random.default_rng(0).normal(size=(CLIENTS, 4))
HELD = PrivateSamples.of_one_class(np.zeros((CLIENTS, 0)), np.arange(CLIENTS))


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HISTORY_ROOT, raising=False)


def account(root: Path, **changes: Any) -> DataSetBudget:
    return DataSetBudget(**{"history": History(root), "public": False, "total": None, "rules": RULES, **changes})


def opened(part: str = "train", releases: int = 1, **declared: Any) -> Ledger:
    privacy = conf_base(Privacy, {"epsilon": 1.0, "delta": 1e-4, "noise_seed": 1, **declared})
    queries = [query(privacy, releases, t) for t in range(1, releases + 1)]
    return opened_ledger(queries, privacy, CLIENTS, part=part)


def query(privacy: Privacy, releases: int, round: int = 1, **other: Any) -> Query:
    noise = {"noise_multiplier": planned_multiplier(privacy, CLIENTS, releases)}
    return Query(**{"name": "sum", "round": round, "dim": 4, "clip_norm": 1.0, **noise, **other})


def run(
    of: DataSetBudget, ledger: Ledger, data: np.ndarray = DATA, round: int = 1, node: str = "node", **other: Any
) -> tuple[np.ndarray, Ledger]:
    """A run that checks its plan first and then makes one release."""
    of.validate_plan(ledger)
    return release(of, ledger, answers(data), round, node, **other)


def answers(data: np.ndarray = DATA) -> BlocksOf:
    """The rows of those who are asked."""
    return lambda held: [Block(held.unit, data[held.unit])]


def release(
    of: DataSetBudget,
    ledger: Ledger,
    blocks_of: Any,
    round: int = 1,
    node: str = "node",
    releases: bool = True,
    **other: Any,
) -> tuple[np.ndarray, Ledger]:
    asking = query(ledger.declaration, len(ledger.planned or ()), round, **other)
    with guarding(gate := of.guard_of(node, releases=releases)):
        released = release_noisy_sum(asking, blocks_of, HELD, ledger, KEY)
    gate.log_repeats()
    return released


def untouched(held: PrivateSamples) -> Iterator[Block]:
    raise AssertionError("private data were read")
    yield


def test_the_first_run_pays_and_the_same_release_again_is_the_same_bytes_and_free(tmp_path: Path) -> None:
    first, _ = run(account(tmp_path), opened())
    again, _ = run(account(tmp_path), opened())
    assert first.tobytes() == again.tobytes()
    (entry,) = release_history(tmp_path)
    assert (entry.node, entry.round, entry.part, entry.split, entry.budget, entry.allowed) == (
        "node", 1, "train", "s", 1.0, 1.0,
    )  # fmt: skip
    assert total_epsilon([entry], opened(), RULES) == pytest.approx(1.0, rel=1e-6)


STRICT = {"epsilon": 1.0, "adjacency": "replace_one", "delta": 1e-6}


def test_a_promise_that_was_made_of_bytes_that_were_there_already_is_kept(tmp_path: Path) -> None:
    wide, strict = opened(noise_multiplier=40.0, epsilon=8.0), opened(noise_multiplier=40.0, **STRICT)
    first, again = (run(account(tmp_path), one)[0] for one in (wide, strict))
    assert first.tobytes() == again.tobytes()
    assert total_epsilon(release_history(tmp_path), wide, RULES) < 0.2, "one release, whoever it was promised to"
    further = opened(noise_multiplier=4.0, epsilon=8.0)
    with pytest.raises(TotalExceeded, match="replace_one"):
        run(account(tmp_path), further)


def test_no_run_promises_what_is_broken_already(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The bytes are there, and cost nothing more; but they and others cost more than is promised now."""
    for noise in (40.0, 4.0):
        run(account(tmp_path), opened(noise_multiplier=noise, epsilon=8.0))
    with refuses("promise-broken-already"):
        run(account(tmp_path), opened(noise_multiplier=40.0, **STRICT))
    assert len(release_history(tmp_path)) == 2
    caplog.clear()
    run(account(tmp_path), opened(noise_multiplier=40.0, **STRICT | {"epsilon": 8.0}))
    assert not caplog.records, "nothing was released again"


DELTAS = (1e-4, 1.01e-4, 1.02e-4, 1.03e-4)


def test_four_runs_that_differ_in_delta_s_third_digit_are_one_budget(tmp_path: Path) -> None:
    run(account(tmp_path), opened(delta=DELTAS[0]))
    for delta in DELTAS[1:]:
        with refuses("total-exceeded", value=1.0) as no:
            account(tmp_path).validate_plan(opened(delta=delta))
        with refuses("total-exceeded") as door:  # the door itself, with no check before
            release(account(tmp_path), opened(delta=delta), untouched)
        for told in (no.value, door.value):
            assert (told.spent, told.total) == (pytest.approx(1.0, rel=1e-3), pytest.approx(1.48, abs=0.01))
    assert len(release_history(tmp_path)) == 1


def test_of_a_public_corpus_all_is_counted_and_nothing_refused(tmp_path: Path) -> None:
    for delta in DELTAS:
        run(account(tmp_path, public=True), opened(delta=delta))
    entries = release_history(tmp_path)
    assert [entry.allowed for entry in entries] == [None] * 4
    assert total_epsilon(entries, opened(), RULES) > 2


def test_a_declared_total_allows_what_fits_and_no_more(tmp_path: Path) -> None:
    total = epsilon(noise_multiplier=planned_multiplier(opened().declaration, CLIENTS, 1), delta=1e-4, rounds=2)
    generous = {"total": 1.02 * total}
    for delta in DELTAS[:2]:
        run(account(tmp_path, **generous), opened(delta=delta))
    with refuses("total-exceeded") as caught:
        run(account(tmp_path, **generous), opened(delta=DELTAS[2]))
    assert "'sum' x 2" in str(caught.value)


def test_a_later_run_s_larger_budget_does_not_raise_what_the_first_one_declared(tmp_path: Path) -> None:
    run(account(tmp_path), opened(epsilon=1.0))
    with refuses("total-exceeded", value=1.0):
        run(account(tmp_path), opened(epsilon=8.0))
    run(account(tmp_path, total=9.5), opened(epsilon=8.0))


def test_a_copied_data_root_has_spent_what_the_first_one_had(tmp_path: Path) -> None:
    run(account(tmp_path / "mine"), opened())
    shutil.copytree(tmp_path / "mine", tmp_path / "copy")
    with pytest.raises(TotalExceeded):
        run(account(tmp_path / "copy"), opened(delta=DELTAS[1]))


def test_runs_that_a_run_starts_share_its_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HISTORY_ROOT, str(tmp_path))
    run(account(tmp_path / "first"), opened())
    run(account(tmp_path / "second"), opened())
    with pytest.raises(TotalExceeded):
        run(account(tmp_path / "third"), opened(delta=DELTAS[1]))
    assert len(release_history(tmp_path)) == 1, "the same release in two data roots"


def test_test_clients_pay_for_themselves_unless_the_split_changed(tmp_path: Path) -> None:
    run(account(tmp_path), opened())
    run(account(tmp_path), opened("test", delta=DELTAS[1]))
    assert [entry.part for entry in release_history(tmp_path)] == ["train", "test"]
    with refuses("total-exceeded") as caught:
        run(account(tmp_path, rules=Rules("other")), opened("test", delta=DELTAS[2]))
    assert "'sum' x 2: 1.48" in str(caught.value)


def test_a_run_of_rounds_is_resumed_within_its_plan(tmp_path: Path) -> None:
    ledger = opened(releases=3)
    _, charged = run(account(tmp_path), ledger, round=1)
    account(tmp_path).validate_plan(ledger)
    _, charged = release(account(tmp_path), charged, answers(), round=2)
    release(account(tmp_path), charged, answers(), round=3)
    account(tmp_path).validate_plan(ledger)
    assert [entry.round for entry in release_history(tmp_path)] == [1, 2, 3]


@pytest.mark.parametrize("other", [{"data": DATA[::-1]}, {"public_digest": "other candidates"}])
def test_the_same_plan_of_other_data_or_inputs_is_a_second_release(tmp_path: Path, other: dict[str, Any]) -> None:
    run(account(tmp_path), opened())
    with refuses("released-of-other-data", value="sum"):
        run(account(tmp_path), opened(), **other)
    assert len(release_history(tmp_path)) == 1
    run(account(tmp_path, total=2.0), opened(), **other)
    first, second = release_history(tmp_path)
    assert (first.release, first.round) == (second.release, second.round)
    assert first.receipt != second.receipt


def test_a_second_release_of_other_data_is_priced_without_the_draw(tmp_path: Path) -> None:
    """Sampled at one in ten it costs 1; made twice of the same clients it costs what no sampling saves."""
    drawn = {"sampling": "poisson", "clients_per_round": 20}
    ledger = opened(**drawn)
    run(account(tmp_path, total=3.0), ledger)
    full = epsilon(noise_multiplier=planned_multiplier(ledger.declaration, CLIENTS, 1), delta=1e-4, rounds=2)
    assert full > 4
    with refuses("released-of-other-data"):
        run(account(tmp_path, total=3.0), ledger, data=-DATA)
    run(account(tmp_path, total=1.01 * full), ledger, data=-DATA)
    assert total_epsilon(release_history(tmp_path), ledger, RULES) == pytest.approx(full)


def test_a_second_release_of_other_public_inputs_draws_anew_and_is_priced_so(tmp_path: Path) -> None:
    """One in ten twice, drawn by lots of its own each time, costs far less than the same clients twice."""
    ledger, other = opened(sampling="poisson", clients_per_round=20), {"draw": ("other candidates",)}
    noise = planned_multiplier(ledger.declaration, CLIENTS, 1)
    anew = epsilon(noise_multiplier=noise, delta=1e-4, rounds=2, sampling="poisson", rate=0.1)
    assert 1 < anew < 1.5 < epsilon(noise_multiplier=noise, delta=1e-4, rounds=2) / 3
    run(account(tmp_path), ledger)
    with refuses("total-exceeded") as caught:
        release(account(tmp_path), ledger, untouched, **other)
    assert caught.value.total == pytest.approx(anew, rel=0.01)
    for _ in range(2):  # the same once more is free
        run(account(tmp_path, total=1.001 * anew), ledger, **other)
    entries = release_history(tmp_path)
    assert len(entries) == len({entry.draw for entry in entries}) == 2
    assert total_epsilon(entries, ledger, RULES) == pytest.approx(anew, rel=1e-4)
    with refuses("released-of-other-data"):
        run(account(tmp_path, total=1.001 * anew), ledger, data=-DATA, **other)


@pytest.mark.parametrize("other", [{"noise_multiplier": 1.01}, {"clip_norm": 2.0}])
def test_two_draws_that_are_priced_as_independent_are_of_other_clients(tmp_path: Path, other: dict[str, Any]) -> None:
    """A sum asked once more at another noise or clip: were the lots the same, sampling would help once and not twice."""
    ledger, drawn = opened(sampling="poisson", clients_per_round=20), []

    def noting(held: PrivateSamples) -> list[Block]:
        drawn.append(set(held.unit.tolist()))
        return [Block(held.unit, DATA[held.unit])]

    noise = planned_multiplier(ledger.declaration, CLIENTS, 1)
    more = {name: value * (noise if name == "noise_multiplier" else 1) for name, value in other.items()}
    for asked in ({}, more):
        own = opened_ledger([query(ledger.declaration, 1, **asked)], ledger.declaration, CLIENTS)
        release(account(tmp_path, public=True), own, noting, **asked)
    entries = release_history(tmp_path)
    assert len({entry.draw for entry in entries}) == 2
    assert total_epsilon(entries, ledger, RULES) < 1.5, "the price of two independent draws"
    assert len(drawn[0] & drawn[1]) < len(drawn[0]) / 2, "which they are"


def test_records_of_another_cut_are_refused_before_they_are_read(tmp_path: Path) -> None:
    """The same plan of them is not the release that was made: it is refused as a plan, and by the door."""
    of_records = opened(unit="record", aggregation="trusted")
    run(account(tmp_path, total=8.0, rules=Rules("s", "64")), of_records)
    run(account(tmp_path, total=8.0, rules=Rules("s", "64")), of_records)
    other = account(tmp_path, total=8.0, rules=Rules("s", "512"))
    with refuses("total-exceeded") as plan:
        other.validate_plan(of_records)
    with refuses("total-exceeded") as door:
        release(other, of_records, untouched)
    for told in (plan.value, door.value):
        assert (told.spent, told.total) == (pytest.approx(1.0, rel=1e-3), math.inf)
    assert len(release_history(tmp_path)) == 1


def test_a_later_and_larger_budget_of_a_party_does_not_raise_what_it_was_promised(tmp_path: Path) -> None:
    def of_two(north: float, noise: float) -> Ledger:
        held = [Party(name=name, kind="silo", population=CLIENTS // 2, epsilon=1.0) for name in ("north", "south")]
        held[0] = held[0].model_copy(update={"epsilon": north})
        privacy = conf_base(Privacy, {"epsilon": 1.0, "delta": 1e-4, "noise_seed": 1})
        planned = [planned_release(query(privacy, 1, noise_multiplier=noise), privacy, CLIENTS)]
        return open_ledger(privacy, CLIENTS, planned, parties=held)

    first = of_two(0.5, 7.0)
    account(tmp_path).validate_plan(first)
    with guarding(account(tmp_path).guard_of("node", releases=True)):
        gate = current()
        gate.admit(first.planned[0], first, "no lots")
        gate.confirm(first.planned[0], 1, "a", "no lots")
    with refuses("total-exceeded", value=0.5):
        account(tmp_path).validate_plan(of_two(1.0, 7.5))
    account(tmp_path, total=1.0).validate_plan(of_two(1.0, 7.5))


def test_what_everybody_is_told_makes_no_other_release_of_the_same_sum(tmp_path: Path) -> None:
    """Without lots a setting that changes no answer changes nothing that leaves."""
    first, _ = run(account(tmp_path), opened())
    again, _ = run(account(tmp_path), opened(), draw=("another setting",))
    assert first.tobytes() == again.tobytes()
    assert len(release_history(tmp_path)) == 1


def test_a_node_that_is_no_release_gets_nothing_out(tmp_path: Path) -> None:
    with refuses("not-a-release", value="sum"):
        release(account(tmp_path), opened(), untouched, node="sneaky", releases=False)
    assert release_history(tmp_path) == ()


def test_what_passed_is_told_in_order(tmp_path: Path) -> None:
    gate, ledger = account(tmp_path).guard_of("node", releases=True), opened(releases=2)
    with guarding(gate):
        for round in (1, 2):
            asking = query(ledger.declaration, 2, round)
            _, ledger = release_noisy_sum(asking, answers(), HELD, ledger, KEY)
    assert gate.passed == [*ledger.releases]


def test_a_read_without_a_mechanism_makes_the_total_infinite(tmp_path: Path) -> None:
    ledger = opened().model_copy(update={"planned_unaccounted": True})
    with refuses("total-exceeded") as plan:
        account(tmp_path).validate_plan(ledger)
    with guarding(account(tmp_path).guard_of("node", releases=True)), refuses("total-exceeded") as door:
        current().unaccounted("checkpoint", "lowest FID", ledger)
    assert (plan.value.total, door.value.total) == (math.inf, math.inf)
    assert release_history(tmp_path) == ()
    unbounded = account(tmp_path, total=math.inf)
    unbounded.validate_plan(ledger)
    with guarding(unbounded.guard_of("node", releases=True)):
        current().unaccounted("checkpoint", "lowest FID", ledger)
        current().unaccounted("checkpoint", "lowest FID", ledger)
    (entry,) = release_history(tmp_path)
    assert (entry.release, entry.reason, entry.allowed) == (None, "lowest FID", None)
    assert math.isinf(total_epsilon([entry], ledger, RULES))
    with refuses("total-exceeded") as caught:
        run(account(tmp_path, total=1e6), opened())
    assert caught.value.spent == math.inf


def test_a_node_that_releases_again_is_warned_of_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Another release by the same node is warned of, with the price of all together."""
    with caplog.at_level(logging.WARNING):
        run(account(tmp_path, public=True), opened())
        assert not caplog.records
        run(account(tmp_path, public=True), opened(delta=DELTAS[1]))
    assert "node released private data again" in caplog.text
    assert "all releases on record of these people's text cost epsilon 1.483 together" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        run(account(tmp_path, public=True), opened(delta=DELTAS[1]))
    assert not caplog.records, "the same release again is none"


def test_a_node_of_several_releases_is_warned_of_only_where_it_made_others_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A node may release for each silo, and may be killed between two of them."""

    def node(delta: float, rounds: int) -> list[str]:
        caplog.clear()
        ledger = opened(releases=2, delta=delta)
        with (
            caplog.at_level(logging.WARNING),
            guarding(gate := account(tmp_path, public=True).guard_of("node", releases=True)),
        ):
            for round in range(1, rounds + 1):
                _, ledger = release_noisy_sum(query(ledger.declaration, 2, round), answers(), HELD, ledger, KEY)
        gate.log_repeats()
        return caplog.messages

    assert node(DELTAS[0], rounds=1) == []
    assert node(DELTAS[0], rounds=2) == []
    (said,) = node(DELTAS[1], rounds=1)
    assert said.startswith("node released private data again")
    (said,) = node(DELTAS[1], rounds=2)
    assert said.startswith("node released private data again")


def test_the_first_ledger_s_budget_is_of_its_own_part(tmp_path: Path) -> None:
    run(account(tmp_path), opened("test", epsilon=3.0))
    train = opened(epsilon=1.0, delta=DELTAS[1])
    assert account(tmp_path).allowed(train) == 1.0
    run(account(tmp_path), train)
    assert account(tmp_path).allowed(opened("test", epsilon=9.0)) == 3.0


def test_what_the_ledger_does_not_hold_as_planned_is_refused_before_the_gate(tmp_path: Path) -> None:
    """A release that was not planned: no history can show it, and nothing is read."""
    planned = Release(name="votes", round=1, mechanism="Gaussian", sensitivity=1.0, noise_stddev=9.0)
    other = open_ledger(conf_base(Privacy, epsilon=1.0, delta=1e-4, noise_seed=1), CLIENTS, [planned])
    with refuses("release-not-planned", value="sum"):
        release(account(tmp_path), other, untouched)
    assert release_history(tmp_path) == ()


SILOS = (Party(name="a", kind="strong silo", population=100, epsilon=1.0),
         Party(name="b", kind="weak silo", population=100, epsilon=0.25))  # fmt: skip


def of_silos(multiplier: float, *by: str, round: int = 1) -> Ledger:
    made = Release(
        name="sum", round=round, mechanism="Gaussian", sensitivity=1.0, noise_stddev=multiplier, parties=by or None
    )
    return open_ledger(conf_base(Privacy, epsilon=1.0, delta=1e-4, noise_seed=1), CLIENTS, [made], parties=SILOS)


def pass_through(of: DataSetBudget, ledger: Ledger, receipt: str = "r") -> None:
    """As a door does it."""
    gate, made = of.guard_of("node", releases=True), (ledger.planned or ())[0]
    gate.admit(made, ledger, "draw")
    gate.confirm(made, made.round, receipt, "draw")


def test_each_party_has_its_own_budget_over_all_runs(tmp_path: Path) -> None:
    pass_through(account(tmp_path), of_silos(4.0, "a"))
    pass_through(account(tmp_path), of_silos(13.0, "b"))
    with refuses("total-exceeded", value=1.0):
        pass_through(account(tmp_path), of_silos(4.0, "a", round=2))
    with refuses("total-exceeded", value=0.25):
        account(tmp_path).validate_plan(of_silos(13.0, "b", round=2))
    pass_through(account(tmp_path), of_silos(60.0, "b", round=2))
    with refuses("total-exceeded") as caught:
        account(tmp_path).validate_plan(of_silos(13.0, round=3))  # a joint one: the poorer of the two refuses
    assert caught.value.party == "b"
    entries = release_history(tmp_path)
    assert [entry.release.parties for entry in entries if entry.release] == [("a",), ("b",), ("b",)]
    assert {entry.partition for entry in entries} == {of_silos(60.0).partition}


def test_a_declared_total_is_every_party_s(tmp_path: Path) -> None:
    for round in (1, 2, 3):
        pass_through(account(tmp_path, total=1.0), of_silos(13.0, "b", round=round))


def test_another_sum_of_one_party_is_a_second_release_of_that_party(tmp_path: Path) -> None:
    pass_through(account(tmp_path), of_silos(4.5, "a"))
    with refuses("released-of-other-data"):
        pass_through(account(tmp_path), of_silos(4.5, "a"), receipt="other")
    pass_through(account(tmp_path), of_silos(60.0, "b"))
    pass_through(account(tmp_path), of_silos(60.0, "b"), receipt="other")


@pytest.mark.parametrize("kind", ["process", "thread"])
@pytest.mark.parametrize("roots", [("one", "one"), ("one", "two")])
def test_of_two_gates_that_ask_at_the_same_time_for_what_is_left_once_one_gets_it(
    tmp_path: Path, kind: str, roots: tuple[str, str]
) -> None:
    """Each has been admitted, by itself or another data root; judged and written down is under one lock."""
    context = multiprocessing.get_context("fork")
    ready, out = (context if kind == "process" else threading).Barrier(2), context.Queue()

    def ask(root: str, receipt: str) -> None:
        ledger = opened(delta=DELTAS[int(receipt)])
        of = account(tmp_path / root, history=History(tmp_path / root, registry=Registry()))
        of.history.register_units([], ["what all of them have written to somebody"])
        gate, (made, *_) = of.guard_of("node", releases=True), ledger.planned or ()
        gate.admit(made, ledger, "draw")
        ready.wait(30)
        try:
            gate.confirm(made, made.round, receipt, "draw")
        except TotalExceeded:
            out.put("refused")
        else:
            out.put("released")

    worker = context.Process if kind == "process" else threading.Thread
    workers = [worker(target=ask, args=(root, str(i))) for i, root in enumerate(roots)]
    for one in workers:
        one.start()
    said = sorted(out.get(timeout=60) for _ in workers)
    for one in workers:
        one.join(60)
    assert said == ["refused", "released"]
    assert sum(len(release_history(tmp_path / root)) for root in set(roots)) == 1


class Lost(Registry):
    """A registry that the process does not reach any more, once the charge stands in the data root."""

    def add(self, path: Path, entries: Iterable[Spent]) -> None:
        raise KeyboardInterrupt


def test_a_charge_that_was_not_confirmed_is_judged_again_before_it_is_made(tmp_path: Path) -> None:
    """Somebody else may have spent what was left meanwhile, and could not know of it."""

    def of(root: str, registry: Registry, **changes: Any) -> DataSetBudget:
        history = History(tmp_path / root, registry=registry)
        history.register_units([], ["what all of them have written to somebody"])
        return account(tmp_path / root, history=history, **changes)

    of("mine", Registry())
    with pytest.raises(KeyboardInterrupt):
        run(account(tmp_path / "mine", history=History(tmp_path / "mine", registry=Lost())), opened())
    assert len(release_history(tmp_path / "mine")) == 1
    run(of("theirs", Registry()), opened(delta=DELTAS[1]))
    with refuses("charge-overtaken", value="sum"):
        release(of("mine", Registry()), opened(), untouched)
    run(of("mine", Registry(), total=3.0), opened())
    run(of("mine", Registry()), opened())  # confirmed, so it is made, and free

"""Federated DP-SGD of strong silos: the arithmetic, who moves what, and ten silos on ten processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pytest

from fedtext.algorithms.flexible import plan as budget
from fedtext.algorithms.flexible import profile, selection, training, unprotected
from fedtext.federation import charged_release
from fedtext.federation.federation import Simulated
from fedtext.federation.mechanism import PlannedSum, client_messages, planned_sum
from fedtext.federation.messages import BlocksOf
from fedtext.federation.noisy_steps import NoisyStep, release_joint_noisy_steps
from fedtext.federation.private_samples import PrivateSamples, sampled_units, samples_of, taking_part
from fedtext.federation.query import Query
from fedtext.federation.question import classes_name
from fedtext.federation.units import Block, digest
from fedtext.privacy.budget_guard import NoBudgetGuard, guarding
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.noise import NoiseKey, discrete_gaussian, new_noise_key
from fedtext.voting.tally import joint_ballots
from tests.algorithms.flexible.examples import CODES, DIM, candidates, declared, held, params, parties, pull, units_of

STRONG = 0.5  # of ten silos, where some train and the others vote
KEY, START = new_noise_key(5), np.zeros(DIM, dtype=np.float32)
SGD = {"method": "sgd", "learning_rate": 0.1}
CHOSEN = params(training={"rounds": 3, "local_steps": 2, "batch_size": 8, "server_rate": 0.5, "optimizer": SGD})


def opened(units: dict[str, int], strong: float = 1.0, **changes: Any) -> Ledger:
    held_by = parties(units, strong=strong)
    return budget.planned_ledger(held_by, CHOSEN, declared(**changes), dim=DIM, embedding_dim=DIM)


def trained(
    samples: PrivateSamples, ledger: Ledger, gradients_at: training.GradientsAt = pull, key: NoiseKey = KEY
) -> tuple[np.ndarray, Ledger]:
    queries = budget.dp_sgd_queries(CHOSEN, ledger.declaration, ledger.parties, dim=DIM)
    return training.trained_weights(queries, gradients_at, START, samples, CHOSEN.training, ledger, key)


def silent(key: NoiseKey, *, stddev_on_grid: float, size: int, stream: tuple[str, ...]) -> np.ndarray:
    return np.zeros(size, dtype=np.int64)


def test_without_noise_it_is_federated_averaging_of_clipped_steps_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charged_release, "discrete_gaussian", silent)
    units, drawn = units_of(2), list[tuple[np.ndarray, np.ndarray]]()

    def noted(weights: np.ndarray, samples: PrivateSamples) -> Iterator[Block]:
        drawn.append((weights, samples.features))
        yield from pull(weights, samples)

    weights, _ = trained(held(units), opened(units), noted)
    common, steps = START.astype(np.float64), iter(drawn)
    for _ in range(3):
        differences = []
        for _ in units:
            own = common.copy()
            for _ in range(2):
                at, features = next(steps)
                np.testing.assert_allclose(at, own, atol=1e-4)  # the grid's rounding
                rows = own - features
                rows *= np.minimum(1, 1 / np.linalg.norm(rows, axis=1))[:, None]
                own -= 0.1 * rows.sum(axis=0) / 8
            differences.append(own - common)
        common = common + 0.5 * np.mean(differences, axis=0)
    np.testing.assert_allclose(weights, common, atol=1e-4)
    assert len({len(features) for _, features in drawn}) > 1  # Poisson draws, not batches of eight


def test_all_steps_of_all_strong_silos_are_charged_before_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    units, charged = units_of(4), list[str]()
    charge = Ledger.charge

    def noted(self: Ledger, release: Any) -> Ledger:
        charged.append(f"charge {release.parties[0]}")
        return charge(self, release)

    def gradients(weights: np.ndarray, samples: PrivateSamples) -> Iterator[Block]:
        charged.append("step")
        yield from pull(weights, samples)

    monkeypatch.setattr(Ledger, "charge", noted)
    _, ledger = trained(held(units), opened(units, 0.5), gradients)
    assert charged == ["charge silo-00", "charge silo-01", *["step"] * 12]
    assert {party.name: ledger.spent(party=party.name) > 0 for party in ledger.parties} == {
        "silo-00": True, "silo-01": True, "silo-02": False, "silo-03": False,
    }  # fmt: skip


def test_the_order_of_silos_and_what_weak_ones_hold_change_nothing() -> None:
    units = units_of(4)
    weights, _ = trained(held(units), opened(units, 0.5))
    turned = dict(reversed(units.items()))
    assert trained(held(turned), opened(turned, 0.5))[0].tobytes() == weights.tobytes()
    samples = held(units)
    strong = unprotected.of_silos(samples, ["silo-00", "silo-01"])
    assert trained(strong, opened(units, 0.5))[0].tobytes() == weights.tobytes()
    assert not np.array_equal(trained(held(units), opened(units, 0.75))[0], weights)


def test_a_silo_that_sends_nan_sends_zeros_and_one_without_records_noise() -> None:
    units = units_of(2)

    def broken(weights: np.ndarray, samples: PrivateSamples) -> Iterator[Block]:
        yield Block(samples.unit, np.full((len(samples.unit), DIM), np.nan))

    weights, _ = trained(held(units), opened(units), broken)
    assert np.isfinite(weights).all()
    assert (weights != 0).all()
    only = unprotected.of_silos(held(units), ["silo-00"])
    assert np.isfinite(trained(only, opened(units))[0]).all()


def test_a_training_that_is_repeated_is_the_same_release_of_every_silo() -> None:
    """What a run does that was killed in the midst of it: same bytes, same receipts, and so one charge."""
    units, told = units_of(3), list[tuple[tuple[str, ...] | None, str]]()

    class Notebook(NoBudgetGuard):
        def confirm(self, release: Release, round: int, receipt: str, draw: str) -> None:
            told.append((release.parties, receipt))

    with guarding(Notebook()):
        first, again = (trained(held(units), opened(units))[0] for _ in range(2))
        trained(held({**units, "silo-00": 20}), opened(units))  # some of those gone had been drawn
    assert first.tobytes() == again.tobytes()
    assert told[:3] == told[3:6]
    assert [parties for parties, _ in told[:3]] == [("silo-00",), ("silo-01",), ("silo-02",)]
    assert told[6] != told[0]


def test_runs_that_differ_in_the_profile_s_noise_alone_draw_other_batches() -> None:
    """What the profile leaves is spent on the steps: they have another noise, and were priced as other draws."""
    units, privacy, drawn = units_of(2), declared(epsilon=4.0, noise_multiplier=None), list[np.ndarray]()

    def noted(weights: np.ndarray, samples: PrivateSamples) -> Iterator[Block]:
        drawn.append(samples.unit)
        return pull(weights, samples)

    for stddev in (20.0, 6.0):
        chosen = CHOSEN.model_copy(update={"profile_stddev": stddev})
        held_by = parties(units, 4.0, strong=0.5)
        ledger = budget.planned_ledger(held_by, chosen, privacy, dim=DIM, embedding_dim=DIM)
        queries = budget.dp_sgd_queries(chosen, privacy, held_by, dim=DIM)
        training.trained_weights(queries, noted, START, held(units), chosen.training, ledger, KEY)
    steps = CHOSEN.training.steps
    assert len(drawn) == 2 * steps
    assert not np.array_equal(drawn[0], drawn[steps])


def test_silos_rounds_and_steps_share_no_noise() -> None:
    """Nobody holds a thing, so that what is seen is noise alone."""
    units, seen = units_of(3), list[np.ndarray]()
    queries = budget.dp_sgd_queries(CHOSEN, declared(), opened(units).parties, dim=DIM)

    def nothing(samples: PrivateSamples) -> Iterator[Block]:
        yield Block(samples.unit, np.zeros((len(samples.unit), DIM)))

    def asked(asks: Sequence[NoisyStep]) -> None:
        seen.extend(ask(nothing, "weights") for _ in range(6) for ask in asks)

    release_joint_noisy_steps(queries, asked, held(units), opened(units), KEY)
    noise = np.array(seen)
    assert len(np.unique(noise)) > 0.99 * noise.size
    assert noise.std() == pytest.approx(1.5, rel=0.25)


@pytest.mark.parametrize("aggregation", ["secure", "local", "trusted"])
def test_a_silo_noises_its_own_steps_alike_under_every_aggregation(aggregation: str) -> None:
    units = units_of(2)
    ledger = opened(units, aggregation=aggregation)
    weights, charged = trained(held(units), ledger)
    assert np.isfinite(weights).all()
    assert {release.mechanism for release in charged.releases} == {
        "exact discrete Gaussian, by the party itself, grid step 2^-12"
    }


def test_training_without_noise_finds_the_mean_of_the_strong_silos() -> None:
    units = units_of(2)
    chosen = params(training={"rounds": 40, "local_steps": 2, "batch_size": 40, "server_rate": 1.0,
                              "optimizer": SGD | {"learning_rate": 0.3}})  # fmt: skip
    found = unprotected.plain_weights(["silo-00"], pull, START, held(units), chosen)
    own = unprotected.of_silos(held(units), ["silo-00"])
    np.testing.assert_allclose(found, own.features.mean(axis=0), atol=1e-3)


def asked_in_sums(ledger: Ledger) -> tuple[tuple[Query, BlocksOf], ...]:
    """The profile and the votes, and what the units of given samples say to either."""
    texts = selection.candidates_of(*candidates())
    cast, codes = selection.ballot(len(texts.label), CHOSEN), len(CODES)
    counted = budget.profile_query(CHOSEN, ledger.declaration).about(f"profile {classes_name(CHOSEN.labels)}")
    voted = budget.votes_query(CHOSEN, ledger.declaration, ledger.parties)
    assert voted is not None
    return (
        (counted, lambda samples: profile.code_counts(samples, codes)),
        (
            voted.about(f"{texts.public_digest} {cast.rule} {classes_name(CHOSEN.labels)}", cast.settings),
            lambda samples: joint_ballots(samples, texts, cast),
        ),
    )


def silo_process(name: str, units: dict[str, int], server: Connection) -> None:
    """One silo by itself: its own records, the public plan, the run's secret; all else comes from the server."""
    samples, ledger = held(units, only=name), opened(units, STRONG)
    own = [q for q in budget.dp_sgd_queries(CHOSEN, declared(), ledger.parties, dim=DIM) if q.parties == (name,)]

    def rounds(asks: Sequence[NoisyStep]) -> None:
        for _ in range(CHOSEN.training.rounds):
            server.send(training.local_weights(asks[0], pull, server.recv(), CHOSEN.training))

    if own:
        told = [query.about(digest(START), CHOSEN.training.model_dump_json()) for query in own]
        _, ledger = release_joint_noisy_steps(told, rounds, samples, ledger, KEY)
    for query, blocks_of in asked_in_sums(ledger):
        if query.parties is None or name in query.parties:
            server.send(before_noise(query, blocks_of, samples, ledger))


def planned(query: Query, ledger: Ledger) -> tuple[Ledger, PlannedSum, tuple[str, ...]]:
    """Those that take part, the plan of a sum of theirs, and the name of its streams."""
    part = taking_part(ledger, query.parties)
    plan = planned_sum(query, ledger.declaration, part.population, len(part.parties))
    return part, plan, (plan.release.stream_name(), str(query.dim), query.public_digest)


def before_noise(query: Query, blocks_of: BlocksOf, samples: PrivateSamples, ledger: Ledger) -> np.ndarray:
    """What the units of one silo add to a sum, on the grid."""
    samples = samples.in_one_order()
    part, plan, stream = planned(query, ledger)
    asked = np.intersect1d(sampled_units(samples, part, KEY, query), samples.unit)
    messages = client_messages(blocks_of(samples), plan, asked, KEY, stream)
    return np.asarray(np.sum([message for _, message in messages], axis=0))


def with_noise(query: Query, total: np.ndarray, ledger: Ledger, samples: PrivateSamples) -> np.ndarray:
    """What leaves of the sum of all."""
    part, plan, stream = planned(query, ledger)
    held = samples_of(samples, ledger, part).in_one_order()
    hidden = (*stream, f"{held.digest} {digest(total)}")
    noise = discrete_gaussian(KEY, stddev_on_grid=plan.stddev_on_grid, size=query.dim, stream=hidden)
    return np.asarray((total + noise) * plan.step)


def test_ten_silos_on_ten_processes_give_the_bytes_of_one_process() -> None:
    """Weights, profile and votes: five silos train, all ten count, the other five vote."""
    units, spawn = units_of(10), multiprocessing.get_context("fork")
    pipes = {name: spawn.Pipe() for name in units}
    workers = [spawn.Process(target=silo_process, args=(name, units, pipes[name][1])) for name in units]
    for worker in workers:
        worker.start()
    ledger = opened(units, STRONG)
    strong = sorted(units)[:5]

    weights = START
    for _ in range(CHOSEN.training.rounds):
        moved = np.zeros(DIM)
        for name in strong:
            pipes[name][0].send(weights)
            moved += pipes[name][0].recv().astype(np.float64) - weights
        weights = (weights + CHOSEN.training.server_rate * moved / len(strong)).astype(np.float32)
    queries = [query for query, _ in asked_in_sums(ledger)]
    totals = [np.sum([pipes[name][0].recv() for name in query.parties or units], axis=0) for query in queries]
    samples, texts = held(units), selection.candidates_of(*candidates())
    counted, voted = (with_noise(query, total, ledger, samples) for query, total in zip(queries, totals, strict=True))
    for worker in workers:
        worker.join(timeout=60)
    assert [worker.exitcode for worker in workers] == [0] * 10

    one, ledger = trained(samples, ledger)
    assert weights.tobytes() == one.tobytes()
    query = budget.profile_query(CHOSEN, ledger.declaration)
    profiled, ledger = profile.noised_profile(query, Simulated(samples, KEY), CHOSEN, ledger)
    assert counted.tobytes() == profiled.tobytes()
    query = queries[1]
    assert query.parties == tuple(sorted(units)[5:])
    assert voted.tobytes() == selection.noised_votes(query, Simulated(samples, KEY), texts, CHOSEN, ledger)[0].tobytes()
    assert [release.name for release in ledger.releases] == [budget.DP_SGD] * 5 + [budget.PROFILE]

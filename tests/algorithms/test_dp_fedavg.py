"""DP-FedAvg on a model of a few hundred weights: clip, average, sampling, ledger."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from fedtext.algorithms.dp_fedavg import FederatedAveraging
from fedtext.federation import charged_release, mechanism, messages
from fedtext.federation.correlated_sum import CorrelatedRound
from fedtext.federation.mechanism import planned_sum
from fedtext.federation.private_samples import PrivateSamples, sampled_units
from fedtext.params.federated import DpFedavg
from fedtext.params.privacy import Privacy
from fedtext.privacy import plan
from fedtext.privacy.ledger import BudgetExceeded, Ledger
from fedtext.privacy.noise import new_noise_key
from fedtext.seeding import derived_seed
from fedtext.system.engine import computing_on, over_processes
from fedtext.training.federated_averaging import client_updates, flat_weights
from fedtext.training.federated_training import public_inputs
from tests.parameters import conf_base
from tests.refusals import refuses

KEY = new_noise_key(5)
VOCABULARY = 20
QUIET = 1e-6  # a noise multiplier that leaves the mechanism's arithmetic to be seen


def model() -> LlamaForCausalLM:
    torch.manual_seed(0)
    shape = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    return LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, max_position_embeddings=32, **shape))


WEIGHTS = flat_weights(model())


def samples(clients: int = 12, seed: int = 0, most_rows: int = 4) -> PrivateSamples:
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(clients), rng.integers(1, most_rows + 1, size=clients))
    rows = rng.integers(0, VOCABULARY, size=(len(unit), 9))
    return PrivateSamples(rows, unit, np.zeros(len(unit), int), np.arange(clients)).in_one_order()  # as a release reads


def fedavg(**changes: Any) -> DpFedavg:
    local = {"learning_rate": 0.5, "clients_at_once": 5, **changes.pop("local", {})}
    return conf_base(DpFedavg, {"rounds": 3, "clip_norm": 0.2, "local": local, **changes})


def ledger(population: int = 12, **declared: Any) -> Ledger:
    """A curator's, for next to no noise cannot be cut into shares."""
    settings = {"epsilon": 1e15, "delta": 1e-6, "noise_multiplier": QUIET, "noise_seed": 0, "aggregation": "trusted"}
    return Ledger(declaration=conf_base(Privacy, {**settings, **declared}), population=population)


def drawn(params: DpFedavg, opened: Ledger, round_number: int) -> np.ndarray:
    """Who takes part in a round."""
    query = FederatedAveraging(params).planned_query(
        opened.declaration, 12, dim=WEIGHTS.size, round_number=round_number
    )
    return sampled_units(
        samples(), opened, KEY, query.about(public_inputs(WEIGHTS, params.local, params.seed), params.model_dump_json())
    )


def one_round(own: PrivateSamples, params: DpFedavg, opened: Ledger, round_number: int = 1) -> CorrelatedRound:
    none = np.empty((0, WEIGHTS.size), np.int64)
    training = FederatedAveraging(params)
    done = training.released_rows(own, model(), {"weights": WEIGHTS}, none, opened, KEY, round_number)
    assert (len(done.released), len(done.open_sums)) == (1, 0)  # the identity factorisation
    return done


def released(own: PrivateSamples, params: DpFedavg, opened: Ledger, round_number: int = 1) -> np.ndarray:
    """The round's mean update: what averaging adds to the weights."""
    total = one_round(own, params, opened, round_number).released
    return np.asarray(total[0] / plan.expected_units(opened))


def without_privacy(own: PrivateSamples, params: DpFedavg, asked: np.ndarray, round_number: int = 1) -> np.ndarray:
    """Each client's update, unclipped and without noise."""
    some = own.of_units(asked)
    seed = derived_seed(params.seed, "round", round_number)
    blocks = list(client_updates(model(), some.features, some.unit, params.local, seed=seed))
    assert np.array_equal(np.sort(np.concatenate([block.unit for block in blocks])), np.unique(some.unit))
    return np.concatenate([block.rows for block in blocks])


def test_without_clip_and_noise_it_is_federated_averaging() -> None:
    params = fedavg(clip_norm=100.0)
    updates = without_privacy(samples(), params, np.arange(12))
    assert np.linalg.norm(updates, axis=1).max() < 100
    found = released(samples(), params, ledger())
    assert np.linalg.norm(found) > 0.1
    np.testing.assert_allclose(found, updates.mean(axis=0), atol=0.02)  # a grid for a clip norm of 100 is coarse


def test_every_update_is_clipped_before_it_is_averaged() -> None:
    params = fedavg(clip_norm=0.2)
    updates = without_privacy(samples(), params, np.arange(12))
    norms = np.linalg.norm(updates, axis=1, keepdims=True)
    assert (norms > 0.2).sum() >= 6
    clipped = updates * np.minimum(1, 0.2 / norms)
    np.testing.assert_allclose(released(samples(), params, ledger()), clipped.mean(axis=0), atol=1e-4)


@pytest.mark.slow  # at every commit POPri's release and ballots, and silos that train, do (popri/test_engines.py, flexible)
def test_clients_train_to_the_same_bit_on_two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    params = fedavg(clip_norm=0.2)
    whole = released(samples(), params, ledger())
    for bound in ("FEWEST", "MOST"):
        monkeypatch.setattr(messages, bound, 5)  # three pieces
    with over_processes(2) as engine, computing_on(engine):
        assert released(samples(), params, ledger()).tobytes() == whole.tobytes()


def largest_contribution(params: DpFedavg) -> float:
    """Over clients of many texts and sizes: the most that one client alone puts into the sum."""
    contributions = []
    for seed in range(8):
        own = samples(clients=1, seed=seed, most_rows=12)
        contributions.append(np.linalg.norm(released(own, params, ledger(1))))
    return float(max(contributions))


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        charged_release, "discrete_gaussian", lambda key, *, stddev_on_grid, size, stream: np.zeros(size, np.int64)
    )


@pytest.mark.usefixtures("silent", "in_float32")  # at a rate of 50 clients just stay within float32
@pytest.mark.filterwarnings("ignore:invalid value encountered")  # unclipped it then leaves the grid's 31 bits
@pytest.mark.parametrize("learning_rate", [0.5, 5.0, 10.0])
def test_no_client_moves_the_sum_further_than_the_sensitivity(
    monkeypatch: pytest.MonkeyPatch, learning_rate: float
) -> None:
    params = fedavg(local={"learning_rate": learning_rate})
    query = FederatedAveraging(params).planned_query(ledger(1).declaration, 1, dim=WEIGHTS.size, round_number=1)
    charged = planned_sum(query, ledger(1).declaration, 1).release.sensitivity
    assert 0.199 < largest_contribution(params) <= charged
    monkeypatch.setattr(mechanism, "clip_rows", lambda rows, clip_norm: np.asarray(rows, dtype=np.float64))
    assert largest_contribution(params) > 2 * charged


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_only_the_asked_take_part_and_the_divisor_is_public(sampling: str) -> None:
    params, opened = fedavg(clip_norm=100.0), ledger(sampling=sampling, clients_per_round=4, noise_multiplier=1.0)
    asked = drawn(params, opened, 2)
    assert 0 < len(asked) < 12
    updates = without_privacy(samples(), params, asked, round_number=2)
    np.testing.assert_allclose(released(samples(), params, opened, 2), updates.sum(axis=0) / 4, atol=0.05)


def test_an_empty_poisson_draw_releases_noise_alone() -> None:
    params = fedavg(clip_norm=0.2)
    opened = ledger(sampling="poisson", clients_per_round=1, noise_multiplier=2.0)
    empty = next(t for t in range(1, 60) if not len(drawn(params, opened, t)))
    update = released(samples(), params, opened, empty)
    assert np.std(update) == pytest.approx(2.0 * 0.2, rel=0.15)  # expected_units is 1
    assert np.unique(update).size > 100


def test_clients_without_samples_and_none_at_all() -> None:
    params = fedavg(clip_norm=100.0)
    few = samples(clients=3)
    found = released(few, params, ledger(12))
    np.testing.assert_allclose(found, without_privacy(few, params, np.arange(3)).sum(axis=0) / 12, atol=0.02)
    nobody = PrivateSamples(np.zeros((0, 9), int), np.zeros(0, int), np.zeros(0, int), np.zeros(0, int))
    assert np.abs(released(nobody, params, ledger(12))).max() < 0.02


def test_noise_has_the_planned_deviation_and_rounds_are_independent() -> None:
    params = fedavg(clip_norm=0.2)
    opened = ledger(noise_multiplier=5.0)
    quiet = released(samples(), params, ledger())
    first, second = (released(samples(), params, opened, t) for t in (1, 2))
    assert np.std(first - quiet) == pytest.approx(5 * 0.2 / 12, rel=0.1)
    assert abs(np.corrcoef(first - quiet, second - quiet)[0, 1]) < 0.15
    assert np.array_equal(first, released(samples(), params, opened, 1))


def test_all_rounds_together_cost_the_budget_and_one_more_is_refused() -> None:
    params = fedavg()
    privacy = conf_base(Privacy, epsilon=1.0, delta=1e-3, noise_seed=0)
    opened = FederatedAveraging(params).planned_ledger(12, privacy, dim=WEIGHTS.size)
    for t in (1, 2, 3):
        opened = one_round(samples(), params, opened, t).ledger
    assert [r.round for r in opened.releases] == [1, 2, 3]
    assert opened.releases == opened.planned
    assert 0.99 < opened.epsilon() <= 1 + 1e-9
    asked_for = plan.planned_multiplier(privacy, 12, 3)
    assert opened.releases[0].noise_multiplier == pytest.approx(asked_for, rel=1e-12)
    with refuses("release-not-planned"):
        one_round(samples(), params, opened, 4)
    unplanned = opened.model_copy(update={"planned": None})
    with pytest.raises(BudgetExceeded):
        one_round(samples(), params, unplanned, 4)
    loud = privacy.model_copy(update={"noise_multiplier": 1.0})
    with pytest.raises(BudgetExceeded):
        FederatedAveraging(params).planned_ledger(12, loud, dim=WEIGHTS.size)


def norms(opened: Ledger) -> dict[str, float]:
    training, done = FederatedAveraging(fedavg()), one_round(samples(), fedavg(), opened)
    start = training.first_server(WEIGHTS)
    server = training.next_server(start, start, done.released, done.ledger, 1)
    return training.norms(start, server, done.released, done.ledger, 1)


def test_the_norms_are_released_and_public_figures_only() -> None:
    state = norms(ledger(noise_multiplier=5.0))
    assert set(state) == {"update_norm", "noise_norm"}
    assert state["noise_norm"] == pytest.approx(5 * 0.2 / 12 * np.sqrt(WEIGHTS.size), rel=0.01)
    assert state["update_norm"] == pytest.approx(state["noise_norm"], rel=0.3)


@pytest.mark.parametrize("declared", [{"aggregation": "local"}, {"aggregation": "secure", "honest_fraction": 0.25}])
def test_noise_alone_is_as_long_as_the_norms_say(declared: dict[str, Any]) -> None:
    state = norms(ledger(noise_multiplier=500.0, **declared))
    assert state["update_norm"] == pytest.approx(state["noise_norm"], rel=0.1)

"""DP-FTRL on a model of a few hundred weights: schedule, clip, prefix sums, price."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from fedtext.algorithms.dp_ftrl import FollowTheRegularizedLeader, chosen_factorisation
from fedtext.federation.correlated_sum import planned_run
from fedtext.federation.private_samples import PrivateSamples, scheduled
from fedtext.params.federated import DpFtrl
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import BudgetExceeded, Ledger
from fedtext.privacy.noise import new_noise_key
from fedtext.seeding import derived_seed
from fedtext.training.federated_averaging import client_updates, flat_weights, load_weights
from fedtext.training.federated_training import Server
from tests.parameters import conf_base
from tests.refusals import refuses

KEY = new_noise_key(5)
VOCABULARY, CLIENTS = 20, 12
QUIET = 1e-6  # a noise multiplier that leaves the mechanism's arithmetic to be seen
NOISES = ["banded", "tree", "honaker_tree", "independent"]


def model() -> LlamaForCausalLM:
    torch.manual_seed(0)
    shape = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    return LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, max_position_embeddings=32, **shape))


START = flat_weights(model())
RNG = np.random.default_rng(0)
EVERYBODY = np.arange(CLIENTS)
UNIT = np.repeat(EVERYBODY, RNG.integers(1, 4, size=CLIENTS))
ROWS = RNG.integers(0, VOCABULARY, size=(len(UNIT), 9))
SAMPLES = PrivateSamples(ROWS, UNIT, np.zeros(len(UNIT), int), EVERYBODY).in_one_order()  # as a release reads them


def ftrl(**changes: Any) -> DpFtrl:
    local = {"learning_rate": 0.5, "clients_at_once": 5}
    return conf_base(DpFtrl, {"rounds": 5, "separation": 3, "clip_norm": 0.2, "local": local, **changes})


def declared(**changes: Any) -> Privacy:
    """A curator's, for next to no noise cannot be cut into shares."""
    settings = {"epsilon": 1e15, "delta": 1e-6, "noise_multiplier": QUIET, "noise_seed": 0, "aggregation": "trusted"}
    return conf_base(Privacy, {**settings, **changes})


def training(params: DpFtrl) -> FollowTheRegularizedLeader:
    return FollowTheRegularizedLeader(params, chosen_factorisation(params))


def run(params: DpFtrl, privacy: Privacy) -> tuple[list[Server], Ledger, list[dict[str, float]]]:
    """The server after every round, the last ledger, and the norms."""
    own = training(params)
    ledger = own.planned_ledger(CLIENTS, privacy, dim=START.size)
    servers = [own.first_server(START)]
    open_sums, norms = np.empty((0, START.size), np.int64), []
    for t in range(1, params.rounds + 1):
        done = own.released_rows(SAMPLES, model(), servers[-1], open_sums, ledger, KEY, t)
        open_sums, ledger = done.open_sums, done.ledger
        servers.append(own.next_server(servers[0], servers[-1], done.released, ledger, t))
        norms.append(own.norms(servers[0], servers[-1], done.released, ledger, t))
    return servers, ledger, norms


def by_hand(params: DpFtrl) -> list[np.ndarray]:
    """Weights after every round of federated averaging of clipped updates with heavy-ball momentum, without noise."""
    weights, velocity, found = START, np.zeros_like(START), []
    for t in range(1, params.rounds + 1):
        own = SAMPLES.of_units(scheduled(EVERYBODY, separation=params.separation, round=t, key=KEY))
        seed = derived_seed(params.seed, "round", t)
        blocks = client_updates(load_weights(model(), weights), own.features, own.unit, params.local, seed=seed)
        updates = np.concatenate([np.zeros((0, START.size)), *(block.rows for block in blocks)])
        updates *= np.minimum(1, params.clip_norm / np.linalg.norm(updates, axis=1, keepdims=True))
        mean = updates.sum(axis=0) * params.separation / CLIENTS
        velocity = params.momentum * velocity + params.server_learning_rate * mean
        weights = (weights + velocity).astype(np.float32)
        found.append(weights)
    return found


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("momentum", [0.0, 0.8])
def test_without_noise_it_is_descent_on_clipped_updates_of_those_whose_turn_it_is(noise: str, momentum: float) -> None:
    params = ftrl(noise=noise, momentum=momentum, server_learning_rate=0.5)
    servers, _, _ = run(params, declared())
    for server, expected in zip(servers[1:], by_hand(params), strict=True):
        np.testing.assert_allclose(server["weights"], expected, atol=2e-4)
    assert np.linalg.norm(servers[-1]["weights"] - START) > 0.05


@pytest.mark.parametrize("noise", NOISES)
def test_a_run_costs_the_budget_once(noise: str) -> None:
    params = ftrl(noise=noise)
    _, ledger, states = run(params, conf_base(Privacy, epsilon=1.0, delta=1e-6, noise_seed=0))
    assert [(release.name, release.rounds) for release in ledger.releases] == [("dp_ftrl.weighted_sums", 5)]
    assert ledger.releases == ledger.planned
    assert 1 - 1e-6 < ledger.epsilon() <= 1 + 1e-9
    assert states[-1]["update_norm"] == pytest.approx(states[-1]["noise_norm"], rel=0.2)  # noise is all there is here


def test_two_rates_of_learning_share_no_noise_where_nobody_says_anything() -> None:
    """The same bytes would tell for certain that no client of the round holds any text."""
    nobody = SAMPLES.of_units(np.array([], dtype=np.int64))

    def first_round(learning_rate: float) -> np.ndarray:
        own = training(ftrl(noise="independent", local={"learning_rate": learning_rate}))
        ledger = own.planned_ledger(CLIENTS, conf_base(Privacy, epsilon=1.0, delta=1e-6, noise_seed=0), dim=START.size)
        none_open = np.empty((0, START.size), np.int64)
        return own.released_rows(nobody, model(), own.first_server(START), none_open, ledger, KEY, 1).released

    one, again, other = (first_round(rate) for rate in (0.5, 0.5, 0.25))
    assert one.tobytes() == again.tobytes()
    assert np.std(one - other) == pytest.approx(np.sqrt(2) * np.std(one), rel=0.2)


def test_a_declared_multiplier_is_that_of_a_released_sum_over_the_clip_norm() -> None:
    """With everybody in every round and independent noise it is DP-FedAvg's: printed 19.3, exact epsilon 0.919."""
    privacy = conf_base(Privacy, epsilon=8.0, delta=3e-6, noise_multiplier=19.3)
    for noise, restart in (("banded", None), ("independent", None), ("tree", 1)):
        params = ftrl(rounds=20, separation=1, noise=noise, restart=restart)
        query = training(params).planned_query(privacy, CLIENTS, dim=4, round_number=1)
        plan = planned_run(query, chosen_factorisation(params), privacy, CLIENTS)
        assert plan.release.noise_stddev == pytest.approx(19.3 * 0.2, rel=2e-3)
        assert Ledger(declaration=privacy, population=CLIENTS).charge(plan.release).epsilon() == pytest.approx(
            0.919, abs=2e-3
        )


def test_plans_that_cannot_be_are_refused_before_anything_is_read() -> None:
    own = training(ftrl())
    with pytest.raises(BudgetExceeded):
        own.planned_ledger(CLIENTS, declared(epsilon=1.0), dim=4)
    with refuses("separation-above-population", value=3):
        own.planned_ledger(2, declared(), dim=4)
    drawn = declared(sampling="poisson", clients_per_round=3)
    with refuses("correlated-noise-needs-full-sampling"):
        own.planned_ledger(CLIENTS, drawn, dim=4)
    few = Ledger(declaration=declared(), population=11)
    with refuses("more-units-than-declared", value=11):
        own.released_rows(SAMPLES, model(), {"weights": START}, np.empty((0, START.size), np.int64), few, KEY, 1)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"bands": 4}, "bands-do-not-fit-noise"),
        ({"bands": 2, "noise": "tree"}, "bands-do-not-fit-noise"),
        ({"restart": 2}, "restart-without-trees"),
    ],
)
def test_options_of_another_noise_are_refused(changes: dict[str, Any], code: str) -> None:
    with refuses(code):
        ftrl(**changes)


def test_saved_weights_restore_the_factorisation() -> None:
    for noise in NOISES:
        params = ftrl(noise=noise, momentum=0.5)
        found = chosen_factorisation(params)
        saved = {"weights": found.weights, "weight_step": np.asarray(found.weight_step)}
        again = FollowTheRegularizedLeader.restored(params, saved).factorisation
        assert again.sensitivity == found.sensitivity
        assert np.array_equal(again.decoder, found.decoder)


def test_the_comparison_names_every_noise() -> None:
    errors = training(ftrl(rounds=20, separation=20)).noise_errors()
    assert errors["banded"] < 0.55 * errors["tree"]
    assert set(errors) == set(NOISES)

"""The whole DP-FedAvg graph in memory, with the real on-device model on made-up text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedtext.evaluation.next_token import next_token_accuracy
from fedtext.federation.units import Population
from fedtext.models.language_model import LanguageModel
from fedtext.params.federated import DpFedavg
from fedtext.params.privacy import Privacy
from fedtext.pipelines.federated_training import nodes
from fedtext.privacy.plan import expected_units
from tests.parameters import conf_base
from tests.pipelines.conftest import ON_DEVICE, configure, made_up, train_in_memory

Run = Callable[..., dict[str, Any]]


def run(privacy: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """Everything the graph makes, by data set name."""
    settings = {"rounds": 2, "clip_norm": 1.0, "local": {"learning_rate": 0.3}, **changes}
    declared = {"epsilon": 1.0, "delta": 1e-3, "noise_seed": 1, **(privacy or {})}
    configure(dp_fedavg=settings)
    return train_in_memory("dp_fedavg", declared, {"params:dp_fedavg": conf_base(DpFedavg, settings)})


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return run()


def test_every_round_is_charged_and_the_epsilon_is_the_budget(made: dict[str, Any]) -> None:
    assert [r.round for r in made["dp_fedavg.round_02.ledger"].releases] == [1, 2]
    report = made["dp_fedavg_privacy_report"]
    assert 0.99 < float(report["epsilon"]) <= 1 + 1e-9
    assert report["unaccounted"] == []
    assert "dp_fedavg.update" in made["dp_fedavg_privacy_report_text"]


def test_what_leaves_are_updates_weights_and_two_norms_a_round(made: dict[str, Any]) -> None:
    assert set(made["dp_fedavg_rounds"]) == {"update_norms", "noise_norms"}
    assert [len(norms) for norms in made["dp_fedavg_rounds"].values()] == [2, 2]
    before, after = (made[f"dp_fedavg.{place}server"]["weights"] for place in ("round_01.", "round_02."))
    update = made["dp_fedavg.round_02.rows"][0] / expected_units(made["dp_fedavg.round_02.ledger"])
    np.testing.assert_allclose(after - before, update, atol=1e-6)
    assert made["dp_fedavg_cost"].up_floats == before.size == 1_328_256


def test_the_model_holds_the_last_weights_and_is_saved_whole(made: dict[str, Any], tmp_path: Path) -> None:
    for part in made["dp_fedavg_model"]:
        part.save_pretrained(str(tmp_path))
    model, _ = LanguageModel(str(tmp_path)).load()
    weights = nodes.flat_weights(model)
    assert np.array_equal(weights, made["dp_fedavg.round_02.server"]["weights"])


def test_with_independent_noise_no_sum_stays_open(made: dict[str, Any]) -> None:
    """A round's sum is released in that round: nothing private is carried on."""
    places = ("", "round_01.", "round_02.")
    assert [made[f"dp_fedavg.{place}private_open_sums"].shape for place in places] == [(0, 1_328_256)] * 3


def test_with_hardly_any_noise_the_model_learns_the_clients_text() -> None:
    made = run(
        {"epsilon": 1e12, "noise_multiplier": 1e-4, "aggregation": "trusted"}, rounds=3, server={"method": "momentum"}
    )
    model, tokenizer = made["dp_fedavg_model"]
    held_out = made_up(20, 1)
    before = next_token_accuracy(*ON_DEVICE.load(), held_out, length=16)
    after = next_token_accuracy(model, tokenizer, held_out, length=16)
    assert after["cross_entropy"] < before["cross_entropy"] - 0.5


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_sampled_clients_are_priced_as_sampled(sampling: str) -> None:
    made = run({"sampling": sampling, "clients_per_round": 5})
    assert {(r.sampling, r.rate) for r in made["dp_fedavg.round_02.ledger"].releases} == {(sampling, 0.25)}


def test_a_record_can_be_the_protected_unit() -> None:
    made = run({"unit": "record"}, rounds=1)
    assert made["dp_fedavg_privacy_report"]["unit"] == "record"


@pytest.mark.slow
def test_the_same_key_gives_the_same_run_and_another_key_another(made: dict[str, Any]) -> None:
    again, other = run(), run({"noise_seed": 2})
    last = "dp_fedavg.round_02.server"
    assert again[last]["weights"].tobytes() == made[last]["weights"].tobytes()
    assert not np.array_equal(other[last]["weights"], made[last]["weights"])


def test_a_client_moves_all_weights_in_each_round_it_is_asked() -> None:
    privacy = conf_base(Privacy, epsilon=1.0, delta=1e-3, sampling="fixed_size", clients_per_round=3)
    people = Population(enrolled=15, training=12, test=3, source="declared")
    training = nodes.plan_dp_fedavg(conf_base(DpFedavg, rounds=10))
    row = nodes.count_communication({"weights": np.zeros(500)}, people, training, privacy)
    assert (row.down_floats, row.up_floats, row.exchanges) == (500, 500, 2.5)

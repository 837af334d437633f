"""DP-FT's nodes: what names a training's draws, and trainings of all weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedtext.federation.units import Population, unit_codes
from fedtext.generation.generators.local import LocalGenerator
from fedtext.params.dp_ft import DpFt
from fedtext.params.privacy import Privacy
from fedtext.pipelines.dp_ft import nodes
from fedtext.privacy.noise import new_noise_key
from fedtext.training.lora import TrainedWeights, adapter_weights, initial_adapter
from tests.parameters import conf_base

GENERATOR = LocalGenerator("bundled:generator")
UNITS = 100


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What every training from now on is named by."""
    said: list[str] = []

    def recording(*_: Any, settings: str) -> tuple[dict[str, np.ndarray], None]:
        said.append(settings)
        return {}, None

    monkeypatch.setattr(nodes, "trained_weights", recording)
    return said


def prefer(tuned: Path, generator: LocalGenerator = GENERATOR, **changes: Any) -> None:
    """The second training of a run."""
    dp_ft = conf_base(DpFt, changes)
    privacy = conf_base(Privacy, epsilon=2.0, delta=1e-5, unit="client", aggregation="trusted", noise_seed=0)
    units, population = (
        unit_codes([f"person {i}" for i in range(UNITS)]),
        Population.declared(125, validation_share=0.1, test_share=0.1),
    )
    zeros = np.zeros(UNITS, dtype=np.int64)
    rows = {"features": np.zeros((UNITS, 4), dtype=np.int32), "client": units, "record": units, "label": zeros}
    ledger = nodes.open_dp_ft_ledger(population, {"weights": np.zeros(8)}, dp_ft, privacy)
    nodes.prefer_privately(rows, {"unit": units}, new_noise_key(0), ledger, generator, tuned, population, dp_ft)


def adapter(place: Path, seed: int) -> Path:
    lora = conf_base(DpFt).lora
    assert lora is not None
    initial_adapter(GENERATOR, lora, seed=seed).save_pretrained(place)
    return place


def test_preferences_are_named_by_all_parameters_and_by_what_was_tuned_before(tmp_path: Path, told: list[str]) -> None:
    first, other = adapter(tmp_path / "first", 1), adapter(tmp_path / "other", 2)
    prefer(first)
    prefer(first)
    assert told[0] == told[1]
    prefer(other)
    for changes in ({"beta": 0.2}, {"sft": {"epochs": 1.5}}, {"tokens": {"answer": 32}}, {"seed": 3}):
        prefer(first, **changes)
    assert len(set(told)) == 6


def test_without_an_adapter_all_weights_are_tuned_and_the_second_training_has_the_first_in_it(
    tmp_path: Path, told: list[str]
) -> None:
    whole, model = conf_base(DpFt, lora=None), LocalGenerator("bundled:on_device")
    start = nodes.start_weights(model, whole)["weights"]
    assert start.size == sum(p.numel() for p in model.load()[0].parameters())
    first = nodes.write_tuned(model, {"weights": start + np.float32(1e-3)}, whole)
    assert isinstance(first, TrainedWeights)
    first.save_pretrained(tmp_path / "first")
    begun = adapter_weights(model.with_adapter(tmp_path / "first").load()[0].float().requires_grad_(True))
    assert np.allclose(begun, start + 1e-3, atol=1e-6)
    policy = nodes.write_policy(model, tmp_path / "first", {"weights": begun + np.float32(1e-3)}, whole)
    policy.save_pretrained(tmp_path / "policy")
    made = adapter_weights(model.with_adapter(tmp_path / "policy").load()[0].float().requires_grad_(True))
    assert np.allclose(made, start + 2e-3, atol=1e-6)
    prefer(tmp_path / "first", model, lora=None)
    prefer(tmp_path / "policy", model, lora=None)
    assert told[0] != told[1]  # what was tuned before names the draws

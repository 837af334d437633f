"""DP-SGD of an adapter and of all weights: it learns where there is hardly any noise, and repeats its bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.private_samples import PrivateSamples
from fedtext.models.language_model import LanguageModel
from fedtext.params.privacy import Privacy
from fedtext.params.training import DpSgd, Lora
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from fedtext.training.dp_sgd import planned_query, steps_of, trained_weights
from fedtext.training.local_steps import NO_TOKEN
from fedtext.training.lora import adapted_model, adapter_of_weights, adapter_weights
from fedtext.training.unit_gradients import UnitGradients
from tests.parameters import conf_base
from tests.training.conftest import InMemory

pytestmark = pytest.mark.usefixtures("in_float32")
UNITS, WIDTH = 20, 17
LORA = {"rank": 4, "targets": "attention"}


def samples() -> PrivateSamples:
    """Everybody repeats a token of a few."""
    rows = np.full((UNITS, WIDTH), NO_TOKEN, dtype=np.int32)
    for unit, row in enumerate(rows):
        row[: 8 + unit % 9] = 5 + unit % 3
    return PrivateSamples.of_one_class(rows, np.arange(UNITS))


def trained(
    base: Any, *, lora: bool = True, multiplier: float = 1e-3, settings: str = "all parameters", **changes: Any
) -> tuple[Any, Any, Ledger]:
    """The model with the weights that it started from, what was trained, and the ledger."""
    model = adapted_model(base, conf_base(Lora, **LORA), seed=1) if lora else base.load()[0]
    params = conf_base(DpSgd, epochs=4, batch_size=8, units_at_once=4, **changes)
    privacy = conf_base(Privacy, epsilon=1e12, delta=1e-3, noise_seed=1, noise_multiplier=multiplier, unit="record")
    start = adapter_weights(model)
    query = planned_query("sgd", params, privacy, UNITS, dim=start.size, group="sgd")
    opened = opened_ledger([query], privacy, UNITS)
    server, ledger = trained_weights(
        query, model, start, samples(), params, opened, new_noise_key(1), settings=settings
    )
    return model, server["weights"], ledger


def first_draws(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The units of the first step of every training from now on."""
    drawn: list[list[int]] = []
    answered = UnitGradients.of

    def recording(self: UnitGradients, weights: Any, features: Any, unit: np.ndarray) -> Any:
        if self not in known:
            known.append(self)
            drawn.append(sorted(unit.tolist()))
        return answered(self, weights, features, unit)

    known: list[UnitGradients] = []
    monkeypatch.setattr(UnitGradients, "of", recording)
    return drawn


def loss(model: Any) -> float:
    with torch.no_grad():
        ids = (torch.full((3, 8), 5) + torch.arange(3)[:, None]).to(model.device)
        return float(model(input_ids=ids, labels=ids).loss)


@pytest.mark.parametrize("lora", [True, False])
def test_with_hardly_any_noise_it_learns(llama: InMemory, lora: bool) -> None:
    base = LanguageModel("bundled:generator") if lora else llama  # an adapter needs a model that knows something
    model, weights, ledger = trained(base, lora=lora, optimizer={"learning_rate": 0.002 if lora else 0.02})
    before = loss(model)
    trained_ones = [p for p in model.parameters() if p.requires_grad]
    torch.nn.utils.vector_to_parameters(torch.from_numpy(weights.copy()).to(model.device), trained_ones)
    assert loss(model) < before - (0.3 if lora else 1)
    (release,) = ledger.releases
    assert (release.steps, release.rate, release.sampling) == (10, 0.4, "poisson")


def test_the_same_key_repeats_the_bytes(llama: InMemory) -> None:
    first, again = (trained(llama, multiplier=1.0)[1] for _ in range(2))
    assert first.tobytes() == again.tobytes()
    other = trained(llama, multiplier=1.0 + 1e-6)[1]
    assert not np.allclose(first, other, atol=1e-3)


def test_what_is_told_names_the_draws_of_the_first_step_too(llama: InMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its weights are those of every other run from the same model."""
    drawn = first_draws(monkeypatch)
    for settings in ("all parameters", "all parameters", "all parameters, of which beta is another one"):
        trained(llama, lora=False, settings=settings)
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_vector_becomes_the_adapter_that_it_was(llama: Any) -> None:
    lora = conf_base(Lora, **LORA)
    start = adapter_weights(adapted_model(llama, lora, seed=1))
    vector = np.arange(start.size, dtype=np.float32)
    adapter = adapter_of_weights(llama, lora, vector, seed=1)
    assert sorted(x for w in adapter.weights.values() for x in w.flatten().tolist()) == vector.tolist()
    assert {name.rsplit(".", 2)[-2] for name in adapter.weights} == {"lora_A", "lora_B"}


def test_steps_are_public_and_at_least_one() -> None:
    assert [steps_of(conf_base(DpSgd, epochs=e, batch_size=8), 20) for e in (0.01, 1, 4, 50)] == [1, 3, 10, 125]

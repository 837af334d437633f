"""DPO under DP-SGD: a unit's gradient is that of autograd on DPO's formula, of the unit alone, zero where it must be."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch

from fedtext.training.client_gradients import as_unscored
from fedtext.training.dp_losses import answer_log_probs, preferences
from fedtext.training.local_steps import NO_TOKEN
from fedtext.training.lora import adapter_weights
from fedtext.training.unit_gradients import Method, UnitGradients
from tests.training.conftest import InMemory
from tests.training.test_unit_gradients import METHODS, adapted

pytestmark = pytest.mark.usefixtures("in_float32")
WIDTH, BETA = 22, 0.7


def pairs(count: int, seed: int = 0) -> np.ndarray:
    """Two rows an example: a prompt of three tokens that is shown, and answers of different lengths."""
    rng = np.random.default_rng(seed)
    rows = np.full((count, 2, WIDTH), NO_TOKEN, dtype=np.int32)
    for pair in rows:
        prompt = as_unscored(rng.integers(3, 300, 3))
        for row in pair:
            answer = rng.integers(3, 300, rng.integers(1, WIDTH - 3))
            row[:3], row[3 : 3 + len(answer)] = prompt, answer
    return rows.reshape(count, 2 * WIDTH)


def moved(model: Any, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    start = adapter_weights(model)
    return start + rng.normal(scale=0.05, size=start.size).astype(np.float32)


def at(model: Any, weights: np.ndarray) -> Any:
    other = copy.deepcopy(model)
    torch.nn.utils.vector_to_parameters(torch.tensor(weights), [p for p in other.parameters() if p.requires_grad])
    return other


def log_prob(model: Any, row: np.ndarray) -> torch.Tensor:
    ids = torch.from_numpy(row[row != NO_TOKEN].astype(np.int64))
    shown = torch.where(ids < 0, -2 - ids, ids)
    told = model(input_ids=shown[None], use_cache=False).logits[0, :-1].float().log_softmax(-1)
    return sum(told[i, shown[i + 1]] for i in range(len(ids) - 1) if ids[i + 1] >= 0)


def by_autograd(reference: Any, weights: np.ndarray, pair: np.ndarray) -> np.ndarray:
    policy = at(reference, weights)
    rows = pair.reshape(2, WIDTH)
    with torch.no_grad():
        before = [log_prob(reference, row) for row in rows]
    now = [log_prob(policy, row) for row in rows]
    margin = (now[0] - before[0]) - (now[1] - before[1])
    loss = -torch.nn.functional.logsigmoid(BETA * margin)
    found = torch.autograd.grad(loss, [p for p in policy.parameters() if p.requires_grad])
    return np.concatenate([g.flatten().numpy() for g in found])


def found(
    model: Any, weights: np.ndarray, tokens: np.ndarray, unit: np.ndarray, method: Method = "vmap"
) -> dict[int, Any]:
    gradients = UnitGradients.by(method, model, 3, preferences(model, BETA))
    blocks = list(gradients.of(weights, tokens, unit))
    return {code: row for block in blocks for code, row in zip(block.unit.tolist(), block.rows, strict=True)}


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_a_unit_s_gradient_is_that_of_its_mean_dpo_loss(family: str, request: pytest.FixtureRequest) -> None:
    model, tokens = adapted(request.getfixturevalue(family), lora=True), pairs(6)
    weights, unit = moved(model, 1), np.array([5, 5, 9, 2, 9, 9])
    truth = np.array([by_autograd(model, weights, pair) for pair in tokens])
    for method in METHODS:
        for code, gradient in found(model, weights, tokens, unit, method).items():
            np.testing.assert_allclose(gradient, truth[unit == code].mean(axis=0), atol=5e-6, rtol=1e-4)


@pytest.mark.parametrize("method", METHODS[:2])
def test_no_bit_of_a_unit_depends_on_its_company(llama: InMemory, method: Method) -> None:
    model, tokens, unit = adapted(llama, lora=True), pairs(8), np.array([4, 1, 1, 8, 2, 6, 8, 3])
    weights = moved(model, 2)
    together = found(model, weights, tokens, unit, method)
    for code in set(unit.tolist()):
        alone = found(model, weights, tokens[unit == code], unit[unit == code], method)
        assert alone[code].tobytes() == together[code].tobytes()


def test_flipping_the_labels_at_the_reference_negates_the_gradient(llama: InMemory) -> None:
    model, tokens = adapted(llama, lora=True), pairs(3)
    flipped = tokens.reshape(3, 2, WIDTH)[:, ::-1].reshape(3, 2 * WIDTH)
    at_start, unit = adapter_weights(model), np.arange(3)
    one, other = (found(model, at_start, rows, unit) for rows in (tokens, flipped))
    for code in range(3):
        np.testing.assert_allclose(one[code], -other[code], atol=1e-6)
        assert np.abs(one[code]).max() > 1e-4


def test_two_equal_answers_say_nothing(llama: InMemory) -> None:
    model, tokens = adapted(llama, lora=True), pairs(1)
    equal = np.concatenate([tokens[:, :WIDTH], tokens[:, :WIDTH]], axis=1)
    assert np.abs(found(model, moved(model, 3), equal, np.array([1]))[1]).max() < 1e-6


def test_only_the_answer_is_scored() -> None:
    ids = torch.tensor([[-5, -4, 1, 2, NO_TOKEN], [-5, -4, 0, NO_TOKEN, NO_TOKEN]])
    logits = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0))
    told = logits.log_softmax(-1)
    expected = torch.stack([told[0, 1, 1] + told[0, 2, 2], told[1, 1, 0]])
    torch.testing.assert_close(answer_log_probs(logits, ids), expected)

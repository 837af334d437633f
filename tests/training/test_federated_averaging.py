"""Many clients trained at once: the same updates as a loop with torch's own optimizer."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from fedtext.params.federated import LocalTraining
from fedtext.seeding import stream
from fedtext.system import hardware
from fedtext.training.federated_averaging import client_updates, flat_weights, load_weights
from tests.training.conftest import InMemory

LOCAL = LocalTraining(epochs=2, batch_size=2, learning_rate=0.5, clients_at_once=3)


pytestmark = pytest.mark.usefixtures("in_float32")


def token_rows(vocabulary: int) -> tuple[np.ndarray, np.ndarray]:
    """Eleven ragged rows of five clients (codes 0, 2, 3, 7, 9), one row a bare start token."""
    rng = np.random.default_rng(0)
    client = np.array([3, 0, 3, 7, 3, 9, 2, 2, 3, 0, 3])
    tokens = np.full((len(client), 14), -1)
    for row, length in zip(tokens, [14, 5, 9, 1, 3, 8, 14, 2, 11, 6, 7], strict=True):
        row[:length] = rng.integers(3, vocabulary, size=length)
    return tokens, client


def by_client(
    model: PreTrainedModel, tokens: np.ndarray, client: np.ndarray, local: LocalTraining, seed: int = 4, **options: bool
) -> np.ndarray:
    """Updates in the order of the clients' codes."""
    blocks = list(client_updates(copy.deepcopy(model), tokens, client, local, seed=seed, **options))
    order = np.argsort(np.concatenate([block.unit for block in blocks]))
    return np.concatenate([block.rows for block in blocks])[order]


def plain_sgd(model: PreTrainedModel, tokens: np.ndarray, client: np.ndarray, local: LocalTraining) -> np.ndarray:
    """The textbook: copy the model, run SGD on transformers' own loss, subtract."""
    start, updates = flat_weights(model), []
    for c in np.unique(client):
        own, drawn = copy.deepcopy(model).eval(), stream(4, "local training", int(c))
        optimizer = torch.optim.SGD(own.parameters(), lr=local.learning_rate)
        for _ in range(local.epochs):
            order = np.flatnonzero(client == c)[drawn.permutation((client == c).sum())]
            for first in range(0, len(order), local.batch_size):
                ids = torch.from_numpy(tokens[order[first : first + local.batch_size]])
                real = ids >= 0
                if not real[:, 1:].any():
                    continue
                optimizer.zero_grad()
                shown = {"input_ids": ids.clamp(min=0), "attention_mask": real.long()}
                own(**shown, labels=ids.masked_fill(~real, -100)).loss.backward()
                optimizer.step()
        updates.append(flat_weights(own) - start)
    return np.stack(updates)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.parametrize("vectorised", [True, False])
def test_updates_are_those_of_plain_sgd(family: str, vectorised: bool, request: pytest.FixtureRequest) -> None:
    model, tokenizer = request.getfixturevalue(family).load()
    tokens, client = token_rows(len(tokenizer))
    expected = plain_sgd(model, tokens, client, LOCAL)
    found = by_client(model, tokens, client, LOCAL, vectorised=vectorised)
    assert found.shape == expected.shape
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert not found[3].any()  # client 7 has nothing to predict


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_where_bfloat16_pays_updates_are_float32_and_err_by_its_rounding(
    family: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = request.getfixturevalue(family).load()
    tokens, client = token_rows(len(tokenizer))
    local = LOCAL.model_copy(update={"learning_rate": 0.05})  # rounding does not grow in few steps as small as these
    expected = plain_sgd(model, tokens, client, local)
    monkeypatch.setattr(hardware, "is_bfloat16_faster", lambda device: True)
    found = by_client(model, tokens, client, local, vectorised=True)
    assert found.dtype == np.float32
    assert 1e-4 < np.linalg.norm(found - expected) / np.linalg.norm(expected) < 2e-2


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_blocks_say_whose_rows_they_hold(llama: InMemory, at_once: int) -> None:
    model, tokenizer = llama.load()
    tokens, client = token_rows(len(tokenizer))
    local = LOCAL.model_copy(update={"clients_at_once": at_once})
    blocks = list(client_updates(copy.deepcopy(model), tokens, client, local, seed=4))
    assert all(len(block.unit) == len(block.rows) <= at_once for block in blocks)
    assert sorted(code for block in blocks for code in block.unit.tolist()) == [0, 2, 3, 7, 9]
    expected = dict(zip(np.unique(client).tolist(), plain_sgd(model, tokens, client, local), strict=True))
    for block in blocks:
        for code, update in zip(block.unit.tolist(), block.rows, strict=True):
            np.testing.assert_allclose(update, expected[code], atol=1e-5)


def test_a_round_repeats_its_bytes_and_another_seed_shuffles_otherwise(llama: InMemory) -> None:
    model, tokenizer = llama.load()
    tokens, client = token_rows(len(tokenizer))
    first, again, other = (by_client(model, tokens, client, LOCAL, seed=seed) for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes()
    assert not np.allclose(first, other, atol=1e-5)


def test_a_model_that_vmap_cannot_take_is_trained_client_by_client(
    llama: InMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = llama.load()
    tokens, client = token_rows(len(tokenizer))
    expected = by_client(model, tokens, client, LOCAL)
    plain, calls = type(model).forward, []

    def by_value(self: PreTrainedModel, input_ids: torch.Tensor, **options: object) -> object:
        calls.append(int(input_ids.sum()))  # .item() of a batched tensor: vmap refuses
        return plain(self, input_ids=input_ids, **options)

    monkeypatch.setattr(type(model), "forward", by_value)
    found = by_client(model, tokens, client, LOCAL)
    assert calls
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_no_client_gives_no_block(llama: InMemory) -> None:
    model, _ = llama.load()
    nobody = np.zeros((0, 5), dtype=np.int64), np.zeros(0, dtype=np.int64)
    assert list(client_updates(model, *nobody, LOCAL, seed=0)) == []


def test_weights_go_out_and_come_back(llama: InMemory) -> None:
    model, _ = llama.load()
    weights = flat_weights(model)
    assert weights.size == sum(p.numel() for p in model.parameters())
    ids = torch.arange(6)[None]
    before = model(input_ids=ids).logits
    moved = load_weights(model, weights + 0.1)
    assert not torch.allclose(moved(input_ids=ids).logits, before)
    assert torch.equal(load_weights(model, weights)(input_ids=ids).logits, before)
    assert flat_weights(model).tobytes() == weights.tobytes()

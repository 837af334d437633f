"""Many clients trained at once: the same updates as a loop with torch's own optimizer, whatever the company."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from fedtext import hardware
from fedtext.params.federated import LocalTraining
from fedtext.seeding import stream
from fedtext.training import federated_averaging
from fedtext.training.federated_averaging import client_updates, flat_weights, load_weights
from tests.training.conftest import InMemory

LOCAL = LocalTraining(epochs=2, batch_size=2, learning_rate=0.5, clients_at_once=3)


pytestmark = pytest.mark.usefixtures("in_float32")


def token_rows(vocabulary: int) -> tuple[np.ndarray, np.ndarray]:
    """Eleven ragged rows of five clients (numbers 0, 2, 3, 7, 9), one row a bare start token."""
    rng = np.random.default_rng(0)
    client = np.array([3, 0, 3, 7, 3, 9, 2, 2, 3, 0, 3])
    tokens = np.full((len(client), 14), -1)
    for row, length in zip(tokens, [14, 5, 9, 1, 3, 8, 14, 2, 11, 6, 7], strict=True):
        row[:length] = rng.integers(3, vocabulary, size=length)
    return tokens, client


def by_client(
    model: PreTrainedModel, tokens: np.ndarray, client: np.ndarray, local: LocalTraining, **options: object
) -> np.ndarray:
    """Updates in the order of the clients' numbers: each client alone, so that its row is known."""
    alone = [client_updates(copy.deepcopy(model), tokens[client == c], client[client == c], local, seed=4, **options)
             for c in np.unique(client)]  # fmt: skip
    return np.concatenate([block for blocks in alone for block in blocks])


def plain_sgd(model: PreTrainedModel, tokens: np.ndarray, client: np.ndarray, local: LocalTraining) -> np.ndarray:
    """The textbook: copy the model, run SGD on transformers' own loss, subtract."""
    start, updates = flat_weights(model), []
    for c in np.unique(client):
        own, drawn = copy.deepcopy(model).eval(), stream(4, "local training", int(c))
        optimizer = torch.optim.SGD(own.parameters(), lr=local.learning_rate)
        for _ in range(local.epochs):
            order = drawn.permutation(np.flatnonzero(client == c))
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
    monkeypatch.setattr(hardware, "bfloat16_pays", lambda device: True)
    found = by_client(model, tokens, client, local, vectorised=True)
    assert found.dtype == np.float32
    assert 1e-4 < np.linalg.norm(found - expected) / np.linalg.norm(expected) < 2e-2


@pytest.mark.parametrize("vectorised", [True, False])
def test_a_client_that_diverges_sends_zeros_and_its_company_what_it_learnt(llama: InMemory, vectorised: bool) -> None:
    model, tokenizer = llama.load()
    client = np.array([0, 1, 1, 1, 2])  # at this rate a first step stays within float32 and a second does not
    tokens = np.random.default_rng(0).integers(3, len(tokenizer), size=(len(client), 14))
    wild = LOCAL.model_copy(update={"learning_rate": 1e30, "epochs": 1, "batch_size": 1})
    alone = by_client(model, tokens, client, wild, vectorised=vectorised)
    assert [own.any() for own in alone] == [True, False, True]
    together = np.concatenate(list(client_updates(model, tokens, client, wild, seed=4, vectorised=vectorised)))
    assert np.isfinite(together).all()
    assert sorted(np.count_nonzero(together, axis=1)) == sorted(np.count_nonzero(alone, axis=1))


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_company_does_not_matter(llama: InMemory, at_once: int) -> None:
    model, tokenizer = llama.load()
    tokens, client = token_rows(len(tokenizer))
    local = LOCAL.model_copy(update={"clients_at_once": at_once})
    blocks = list(client_updates(copy.deepcopy(model), tokens, client, local, seed=4))
    together = np.concatenate(blocks)
    assert [len(b) for b in blocks] == [at_once] * (5 // at_once) + [5 % at_once] * (5 % at_once > 0)
    alone = by_client(model, tokens, client, local)
    order = np.lexsort(together[:, :40].T.round(4)), np.lexsort(alone[:, :40].T.round(4))
    np.testing.assert_allclose(together[order[0]], alone[order[1]], atol=1e-5)
    np.testing.assert_allclose(together.sum(axis=0), alone.sum(axis=0), atol=1e-5)


def test_a_round_repeats_its_bytes_and_another_seed_shuffles_otherwise(llama: InMemory) -> None:
    model, tokenizer = llama.load()
    tokens, client = token_rows(len(tokenizer))
    first, again, other = (
        np.concatenate(list(client_updates(copy.deepcopy(model), tokens, client, LOCAL, seed=seed)))
        for seed in (1, 1, 2)
    )
    assert first.tobytes() == again.tobytes()
    assert not np.allclose(first, other, atol=1e-5)


def test_a_model_that_vmap_cannot_take_is_trained_client_by_client(
    llama: InMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = llama.load()
    tokens, client = token_rows(len(tokenizer))
    expected = np.concatenate(list(client_updates(copy.deepcopy(model), tokens, client, LOCAL, seed=4)))
    plain, calls = type(model).forward, []

    def by_value(self: PreTrainedModel, input_ids: torch.Tensor, **options: object) -> object:
        calls.append(int(input_ids.sum()))  # .item() of a batched tensor: vmap refuses
        return plain(self, input_ids=input_ids, **options)

    monkeypatch.setattr(type(model), "forward", by_value)
    found = np.concatenate(list(client_updates(model, tokens, client, LOCAL, seed=4)))
    assert calls
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_clients_of_like_size_go_together_and_nothing_is_computed_for_padding(
    llama: InMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _ = llama.load()
    client = np.repeat(np.arange(6), [3, 4, 3, 4, 3, 4])
    tokens = np.random.default_rng(0).integers(3, 40, size=(len(client), 6))
    computed: list[int] = []
    step_tokens = federated_averaging._step_tokens

    def counted(*args: Any) -> np.ndarray:
        found = step_tokens(*args)
        computed.append(found.size)
        return found

    monkeypatch.setattr(federated_averaging, "_step_tokens", counted)
    list(client_updates(model, tokens, client, LOCAL.model_copy(update={"epochs": 1}), seed=0))
    assert sum(computed) == tokens.size


def test_no_client_gives_no_block(llama: InMemory) -> None:
    model, _ = llama.load()
    assert (
        list(client_updates(model, np.zeros((0, 5), dtype=np.int64), np.zeros(0, dtype=np.int64), LOCAL, seed=0)) == []
    )


def test_weights_go_out_and_come_back(llama: InMemory) -> None:
    model, _ = llama.load()
    weights = flat_weights(model)
    assert weights.size == sum(p.numel() for p in model.parameters())
    ids = torch.arange(6)[None]
    before = model(input_ids=ids).logits
    moved = load_weights(model, weights + 0.1)
    assert not torch.allclose(moved(input_ids=ids).logits, before)
    assert torch.equal(load_weights(model, weights)(input_ids=ids).logits, before)
    assert federated_averaging.flat_weights(model).tobytes() == weights.tobytes()

"""Slots of a call: alike where the model allows it, and the model that would have them differ is found out."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from fedtext.params.federated import LocalTraining
from fedtext.params.training import LlamaShape
from fedtext.training import federated_averaging
from fedtext.training.client_gradients import one_alone, side_by_side, slots_are_alike
from fedtext.training.federated_averaging import client_updates
from fedtext.training.pretraining import new_llama
from tests.training.conftest import InMemory

pytestmark = pytest.mark.usefixtures("in_float32")


def ragged(model: PreTrainedModel) -> torch.Tensor:
    """Two rows of each of three clients, the third a client without tokens."""
    ids = torch.randint(3, model.config.vocab_size, (3, 2, 17), generator=torch.Generator().manual_seed(0))
    ids[0, 1, 5:] = ids[1, 0, 9:] = ids[2] = -1
    return ids


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_side_by_side_and_alone_agree(family: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(family).load()[0].requires_grad_(False)
    ids, common = ragged(model), dict(model.named_parameters())
    own = {name: p + 0.01 * torch.randn((3, *p.shape)) for name, p in common.items()}
    for weights, shared in ((common, True), (own, False)):
        together = side_by_side(copy.deepcopy(model))(weights, ids, shared)
        for c in range(3):
            alone = one_alone(model)(weights if shared else {n: w[c : c + 1] for n, w in weights.items()},
                                     ids[c : c + 1], shared)  # fmt: skip
            for name, gradient in together.items():
                torch.testing.assert_close(gradient[c], alone[name][0], atol=1e-6, rtol=1e-4)
        assert not any(gradient[2].any() for gradient in together.values())


@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.parametrize("slots", [1, 3, 16])
def test_models_of_even_sizes_have_slots_alike(family: str, slots: int, request: pytest.FixtureRequest) -> None:
    assert slots_are_alike(request.getfixturevalue(family).load()[0], slots)


def test_where_slots_differ_clients_train_alone(
    tokenizer: PreTrainedTokenizerBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 49 is odd: the scalar code that ends a loop over vector registers falls to the last slot, and rounds otherwise
    shape = LlamaShape(hidden_size=32, layers=2, heads=2, feed_forward=49, max_positions=256)
    model = new_llama(shape, tokenizer, seed=1).eval().requires_grad_(False)
    for weights in model.parameters():
        weights.mul_(5.0)  # new weights are so small that both sorts of code round their products alike
    local = LocalTraining(epochs=1, batch_size=1, learning_rate=0.1, clients_at_once=3)
    if slots_are_alike(model, 3):
        pytest.skip("this processor's scalar code rounds as its vector code does")
    monkeypatch.setattr(federated_averaging, "side_by_side", None)
    tokens, client = np.full((4, 9), 5), np.array([1, 1, 2, 3])
    blocks = list(client_updates(model, tokens, client, local, seed=0))
    assert [len(block.rows) for block in blocks] == [1, 1, 1]


def test_a_model_that_vmap_cannot_take_is_found_out(llama: InMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = llama.load()
    plain = type(model).forward
    monkeypatch.setattr(
        type(model),
        "forward",
        lambda self, input_ids, **o: plain(self, input_ids=input_ids + int(input_ids.min()), **o),
    )
    assert not slots_are_alike(model, 2)

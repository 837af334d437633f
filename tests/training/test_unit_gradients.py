"""Per-unit gradients: those of autograd and of Opacus, of a unit alone, whatever company it keeps."""

from __future__ import annotations

import warnings
from typing import Any

import cloudpickle
import numpy as np
import pytest
import torch
from opacus import GradSampleModule  # type: ignore[import-untyped]
from peft import get_peft_model
from torch.nn.functional import cross_entropy

from fedtext.params.training import GradientMethod, Lora
from fedtext.training.client_gradients import as_unscored
from fedtext.training.local_steps import NO_TOKEN
from fedtext.training.lora import adapter_weights, lora_config, without_deprecations
from fedtext.training.unit_gradients import Method, UnitGradients, suitable_method
from tests.parameters import conf_base
from tests.training.conftest import InMemory

pytestmark = pytest.mark.usefixtures("in_float32")
WIDTH, SCALE = 24, 0.05


def rows(count: int = 7, seed: int = 0) -> np.ndarray:
    """Rows of many lengths, each with two tokens of a prompt behind its start."""
    rng = np.random.default_rng(seed)
    tokens = np.full((count, WIDTH), NO_TOKEN, dtype=np.int32)
    for row, length in zip(tokens, rng.permutation(np.linspace(4, WIDTH, count).astype(int)), strict=True):
        row[:length] = rng.integers(3, 300, length)
        row[1:3] = as_unscored(row[1:3])
    return tokens


def adapted(base: InMemory, *, lora: bool) -> Any:
    """A model whose adapter, or whose weights, are to be trained; an adapter that is not zero anywhere."""
    torch.manual_seed(0)
    model = base.load()[0]
    model.get_input_embeddings().padding_idx = None  # whose gradient would be zero, for which Opacus has no rule
    if lora:
        with without_deprecations():
            model = get_peft_model(model, lora_config(model, conf_base(Lora, rank=4, targets="attention")))
        with torch.no_grad():
            for p in model.parameters():
                if p.requires_grad:
                    p.copy_(SCALE * torch.randn_like(p))
    return model.eval()


def found(
    model: Any, tokens: np.ndarray, unit: np.ndarray, at_once: int = 3, method: GradientMethod | Method = "vmap"
) -> dict[int, np.ndarray]:
    gradients = UnitGradients.by(suited(model, at_once, method), model, at_once)
    blocks = list(gradients.of(adapter_weights(model), tokens, unit))
    return {code: row for block in blocks for code, row in zip(block.unit.tolist(), block.rows, strict=True)}


def suited(model: Any, at_once: int, method: GradientMethod | Method) -> Method:
    """The method, which suits these models: none of these tests may be of another one."""
    assert method == "alone" or suitable_method(model.float().eval(), at_once, method) == method
    return method  # type: ignore[return-value]


METHODS: tuple[Method, ...] = ("vmap", "opacus", "alone")


def loss(model: Any, row: np.ndarray) -> torch.Tensor:
    """A row's mean loss a scored token, by the model's own forward pass."""
    ids = torch.from_numpy(row[row != NO_TOKEN].astype(np.int64))
    shown = torch.where(ids < 0, -2 - ids, ids)
    logits = model(input_ids=shown[None], use_cache=False).logits[0, :-1].float()
    scored = ids[1:] >= 0
    return cross_entropy(logits[scored], ids[1:][scored])


def by_autograd(model: Any, row: np.ndarray) -> np.ndarray:
    trained = [p for p in model.parameters() if p.requires_grad]
    return np.concatenate([g.flatten().numpy() for g in torch.autograd.grad(loss(model, row), trained)])


@pytest.mark.parametrize("lora", [True, False])
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_a_unit_s_gradient_is_that_of_its_mean_loss(family: str, lora: bool, request: pytest.FixtureRequest) -> None:
    model, tokens = adapted(request.getfixturevalue(family), lora=lora), rows()
    unit = np.array([5, 5, 9, 9, 9, 2, 7])
    truth = np.array([by_autograd(model, row) for row in tokens])
    for method in METHODS:
        for code, gradient in found(model, tokens, unit, method=method).items():
            np.testing.assert_allclose(gradient, truth[unit == code].mean(axis=0), atol=2e-6, rtol=1e-4)


def test_the_prompt_is_read_and_not_scored(llama: InMemory) -> None:
    model, tokens = adapted(llama, lora=True), rows(1)
    plain, other = tokens.copy(), tokens.copy()
    plain[:, 1:3] = as_unscored(tokens[:, 1:3])
    other[:, 1:3] = as_unscored(np.array([7, 8]))
    unit = np.array([1])
    asked = [found(model, one, unit)[1] for one in (tokens, plain, other)]
    assert not np.allclose(asked[0], asked[1])
    assert not np.allclose(asked[0], asked[2])


@pytest.mark.parametrize("method", METHODS[:2])
@pytest.mark.parametrize("lora", [True, False])
def test_no_bit_of_a_unit_depends_on_its_company(llama: InMemory, lora: bool, method: Method) -> None:
    model, tokens, unit = adapted(llama, lora=lora), rows(9), np.array([4, 1, 1, 8, 2, 6, 3, 9, 9])
    together = found(model, tokens, unit, method=method)
    for code in set(unit.tolist()):
        alone = found(model, tokens[unit == code], unit[unit == code], method=method)
        assert alone[code].tobytes() == together[code].tobytes()
    order = np.argsort(-unit, kind="stable")
    turned = found(model, tokens[order], unit[order], method=method)
    assert all(turned[code].tobytes() == row.tobytes() for code, row in together.items())


@pytest.mark.parametrize("method", METHODS[:2])
def test_it_travels_to_a_worker_and_gives_the_same_bits(llama: InMemory, method: Method) -> None:
    tokens, unit = rows(), np.arange(7, dtype=np.int64) % 3
    model = adapted(llama, lora=True)
    own = UnitGradients.by(method, model, 3)
    sent = cloudpickle.loads(cloudpickle.dumps(own))
    here, there = (list(one.of(adapter_weights(model), tokens, unit)) for one in (own, sent))
    assert [block.unit.tolist() for block in here] == [block.unit.tolist() for block in there]
    assert [block.rows.tobytes() for block in here] == [block.rows.tobytes() for block in there]


def test_nobody_sends_nothing(llama: InMemory) -> None:
    assert found(adapted(llama, lora=True), rows(0).reshape(0, WIDTH), np.array([], dtype=np.int64)) == {}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("lora", [True, False])
def test_the_clipped_sum_is_that_of_opacus_own_loop(llama: InMemory, lora: bool, method: Method) -> None:
    model, tokens = adapted(llama, lora=lora), rows(6)
    ours = np.array(list(found(model, tokens, np.arange(6), method=method).values()))
    norms = np.linalg.norm(ours, axis=1)
    clip_norm = float(np.median(norms))  # some are clipped, some are not
    ours = (ours * np.minimum(1, clip_norm / norms)[:, None]).sum(axis=0)
    np.testing.assert_allclose(ours, opacus_sum(model, tokens, clip_norm), atol=1e-5)


def opacus_sum(model: Any, tokens: np.ndarray, clip_norm: float) -> np.ndarray:
    """What Opacus' DPOptimizer adds up before it adds noise."""
    from opacus.optimizers import DPOptimizer  # type: ignore[import-untyped]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrapped = GradSampleModule(model, loss_reduction="sum", strict=False).train()
        ids = torch.from_numpy(tokens.astype(np.int64))
        shown = torch.where(ids < -1, -2 - ids, ids.clamp(min=0))
        logits = wrapped(input_ids=shown, use_cache=False).logits[:, :-1].float()
        labels = torch.where(ids[:, 1:] < 0, -100, ids[:, 1:])
        each = cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none", ignore_index=-100)
        (each.view(len(ids), -1).sum(1) / (labels >= 0).sum(1)).sum().backward()
        trained = [p for p in wrapped.parameters() if p.requires_grad]
        optimizer = DPOptimizer(
            torch.optim.SGD(trained, lr=1.0), noise_multiplier=0.0, max_grad_norm=clip_norm, expected_batch_size=1,
            loss_reduction="sum",
        )  # fmt: skip
        optimizer.clip_and_accumulate()
    return np.concatenate([p.summed_grad.flatten().detach().numpy() for p in trained])


class MixesRows(torch.nn.Linear):
    """A layer whose output for a row depends on the others: no gradient of it is a single unit's."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return super().forward(input - 0.5 * input.mean(dim=0, keepdim=True))


def with_head(base: InMemory, layer: type[torch.nn.Linear]) -> Any:
    model = adapted(base, lora=False)
    for p in model.parameters():
        p.requires_grad_(False)
    head = model.get_output_embeddings()
    other = layer(head.in_features, head.out_features, bias=False)
    other.weight = torch.nn.Parameter(head.weight.detach().clone())
    model.set_output_embeddings(other)
    return model


def test_opacus_is_not_taken_for_a_layer_that_mixes_rows(llama: InMemory) -> None:
    assert suitable_method(with_head(llama, torch.nn.Linear).eval(), 3, "opacus") == "opacus"
    assert suitable_method(with_head(llama, MixesRows).eval(), 3, "opacus") != "opacus"


def test_opacus_is_not_taken_for_an_embedding_with_a_padding_token(llama: InMemory) -> None:
    """Where all weights are trained: that token has no gradient, and Opacus would give it one."""
    model = adapted(llama, lora=False)
    assert suitable_method(model, 3, "opacus") == "opacus"
    model.get_input_embeddings().padding_idx = 2
    assert suitable_method(model, 3, "opacus") == "vmap"


def test_on_a_cpu_vmap_is_the_default(llama: InMemory) -> None:
    assert suitable_method(adapted(llama, lora=True).float(), 3, "auto") == "vmap"

"""Gradients that a GPU replays: the call's own bits, and what is computed can be recorded."""

from __future__ import annotations

import copy
import logging
from typing import Any, NamedTuple

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import PreTrainedModel

from fedtext.training import cuda_graphs
from fedtext.training.client_gradients import side_by_side
from fedtext.training.cuda_graphs import CapturedGraphs

pytestmark = pytest.mark.usefixtures("in_float32")
READ_BACK = {"_local_scalar_dense", "nonzero", "masked_select", "unique", "_unique2", "equal"}  # the GPU is waited for


class OnAGpu(NamedTuple):
    """Stands for tokens that lie on a GPU."""

    slots: int
    is_cuda: bool = True

    @property
    def shape(self) -> tuple[int]:
        return (self.slots,)

    def __len__(self) -> int:
        return self.slots


class Said(TorchDispatchMode):
    """Names of all operations."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def tried(model: PreTrainedModel) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    ids = torch.randint(3, model.config.vocab_size, (3, 2, 17), generator=torch.Generator().manual_seed(0))
    ids[0, 1, 5:] = -1
    return {name: p.detach() for name, p in model.named_parameters()}, ids


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_nothing_is_read_back_while_a_call_is_recorded(
    family: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = request.getfixturevalue(family).load()[0]
    gradients, (weights, ids) = side_by_side(copy.deepcopy(model)), tried(model)
    plain = gradients(weights, ids, True)
    monkeypatch.setattr("torch.cuda.is_current_stream_capturing", lambda: True)  # what transformers asks
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    with Said() as said:
        found = gradients(weights, ids, True)
    assert "mm" in said.names
    assert not said.names & READ_BACK
    assert all(torch.equal(plain[name], found[name]) for name in plain)


def test_on_a_cpu_every_call_is_computed() -> None:
    calls = []
    gradients = CapturedGraphs(lambda weights, ids, shared: calls.append(shared) or {"w": weights["w"] * len(ids)})  # type: ignore[func-returns-value]
    for _ in range(3):
        assert gradients({"w": torch.ones(2)}, torch.zeros(4, 1, 3), True)["w"].tolist() == [4.0, 4.0]
    assert calls == [True] * 3


def test_what_cannot_be_recorded_is_computed_and_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*_: Any) -> None:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(cuda_graphs, "_Recording", refused)
    gradients = CapturedGraphs(lambda weights, ids, shared: weights)
    weights = {"w": torch.ones(2)}
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert gradients(weights, OnAGpu(4), True) is weights  # type: ignore[arg-type]
    assert [record.getMessage() for record in caplog.records] == [
        "Gradients are computed without recordings, which takes longer: operation not permitted when stream is capturing"
    ]


def test_each_shape_is_recorded_once_and_large_results_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Counted:
        pool = "pool of the first"

        def __init__(self, gradients: Any, weights: Any, ids: Any, shared: bool, pool: Any) -> None:
            made.append((ids.slots, shared, pool))

        def of(self, weights: Any, ids: Any) -> str:
            return "replayed"

    monkeypatch.setattr(cuda_graphs, "_Recording", Counted)
    monkeypatch.setattr(cuda_graphs, "_MOST", 10)
    gradients = CapturedGraphs(lambda *_: "computed")  # type: ignore[arg-type, return-value]
    weights = {"w": torch.ones(2)}
    found = [
        gradients(weights, OnAGpu(slots), shared)
        for slots, shared in [(4, True), (4, True), (5, True), (6, True), (6, False)]
    ]  # type: ignore[arg-type]
    assert found == ["replayed"] * 3 + ["computed", "replayed"]
    assert made == [(4, True, None), (5, True, Counted.pool), (6, False, Counted.pool)]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="records CUDA graphs")
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_a_replay_has_the_bits_of_the_call(family: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(family).load()[0].cuda().requires_grad_(False)
    plain = side_by_side(copy.deepcopy(model))
    replayed = CapturedGraphs(side_by_side(copy.deepcopy(model)))
    weights, ids = ({name: w.cuda() for name, w in tried(model)[0].items()}, tried(model)[1].cuda())
    for step in range(4):
        own = {name: w + 0.01 * step for name, w in weights.items()}
        for shown in (ids.roll(step, 0), ids[:, :, : 9 + 2 * (step % 2)]):
            expected = {name: found.clone() for name, found in plain(own, shown, True).items()}
            found = replayed(own, shown, True)
            assert all(torch.equal(expected[name], found[name]) for name in expected)
            assert any(each.any() for each in found.values())

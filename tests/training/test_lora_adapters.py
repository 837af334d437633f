"""Adapters that were not just trained: the first one changes nothing, a saved one keeps its bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from peft import PeftModel

from fedtext.models.language_model import LanguageModel
from fedtext.params.training import Lora
from fedtext.training.lora import (
    TrainedAdapter,
    TrainedWeights,
    adapter_weights,
    in_one,
    initial_adapter,
    saved_adapter,
    stacked,
    trainable_model,
    trained_digest,
    trained_of_weights,
)
from tests.parameters import conf_base
from tests.refusals import refuses


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_first_adapter_is_the_public_checkpoint_and_comes_from_the_seed(llama: Any, tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        initial_adapter(llama, conf_base(Lora), seed=seed).save_pretrained(tmp_path / name)
    assert files(tmp_path / "one") == files(tmp_path / "again") != files(tmp_path / "other")
    tokens = torch.arange(2, 12)[None]
    plain = llama.load()[0](tokens).logits
    adapted = PeftModel.from_pretrained(llama.load()[0], str(tmp_path / "one"))(tokens).logits
    assert torch.equal(plain, adapted)


def test_an_adapter_saved_again_keeps_its_bytes(llama: Any, tmp_path: Path) -> None:
    initial_adapter(llama, conf_base(Lora), seed=1).save_pretrained(tmp_path / "one")
    saved_adapter(tmp_path / "one").save_pretrained(tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_all_weights_are_read_back_as_they_were_trained(tmp_path: Path) -> None:
    base = LanguageModel("bundled:on_device")
    model: Any = trainable_model(base, None, seed=0)  # type: ignore[arg-type]
    start = adapter_weights(model)
    assert start.size == sum(p.numel() for p in model.parameters())
    moved = start + 1e-3 * np.random.default_rng(0).normal(size=start.size).astype(np.float32)
    trained_of_weights(base, None, moved, seed=0).save_pretrained(tmp_path / "all")  # type: ignore[arg-type]
    read, _ = base.with_adapter(tmp_path / "all").load()
    found = adapter_weights(read.requires_grad_(True))
    exact = read.dtype == torch.float32  # on a GPU a model lands in bfloat16
    assert np.array_equal(found, moved) if exact else np.allclose(found, moved, rtol=2**-7)
    tokens = torch.arange(2, 12, device=read.device)[None]
    assert not torch.equal(read(tokens).logits, base.load()[0](tokens).logits)


def test_with_an_adapter_its_weights_alone_are_trained(llama: Any, tmp_path: Path) -> None:
    model = trainable_model(llama, conf_base(Lora), seed=1)
    weights = adapter_weights(model)
    assert weights.size < sum(p.numel() for p in model.parameters())
    trained_of_weights(llama, conf_base(Lora), weights, seed=1).save_pretrained(tmp_path / "one")
    initial_adapter(llama, conf_base(Lora), seed=1).save_pretrained(tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")


def moved(base: Any, seed: int, rank: int = 2) -> Any:
    """An adapter that changes something."""
    adapter = initial_adapter(base, conf_base(Lora, rank=rank, alpha=2 * rank), seed=seed)
    torch.manual_seed(seed)
    for name, weight in adapter.weights.items():
        adapter.weights[name] = weight + 0.05 * torch.randn_like(weight)
    return adapter


def test_a_stack_changes_the_base_as_one_adapter_after_the_other(llama: Any, tmp_path: Path) -> None:
    first, second = moved(llama, 1), moved(llama, 2, rank=3)
    for name, adapter in (("one", first), ("two", second), ("both", stacked(first, second))):
        adapter.save_pretrained(tmp_path / name)
    tokens = torch.arange(2, 12)[None]
    merged = PeftModel.from_pretrained(llama.load()[0], str(tmp_path / "one")).merge_and_unload()
    after = PeftModel.from_pretrained(merged, str(tmp_path / "two"))(tokens).logits
    at_once = PeftModel.from_pretrained(llama.load()[0], str(tmp_path / "both"))(tokens).logits
    alone = PeftModel.from_pretrained(llama.load()[0], str(tmp_path / "two"))(tokens).logits
    assert torch.allclose(after, at_once, atol=1e-5)
    assert not torch.allclose(alone, at_once, atol=1e-3)


def test_adapters_that_do_not_fit_are_not_stacked(llama: Any) -> None:
    other = initial_adapter(llama, conf_base(Lora, rank=2, alpha=2), seed=1)
    with refuses("adapters-do-not-match"):
        stacked(moved(llama, 1), other)


def test_two_trainings_are_one_adapter_or_all_weights_of_the_second(llama: Any, tmp_path: Path) -> None:
    first, second = moved(llama, 1), moved(llama, 2)
    first.save_pretrained(tmp_path / "first")
    both = in_one(tmp_path / "first", second)
    assert isinstance(both, TrainedAdapter)
    assert both.config.r == first.config.r + second.config.r
    assert trained_digest(tmp_path / "first") != trained_digest(saved(second, tmp_path / "second"))
    whole = TrainedWeights({"a": torch.zeros(2)})
    assert in_one(tmp_path / "first", whole) is whole
    assert trained_digest(saved(whole, tmp_path / "zeros")) != trained_digest(
        saved(TrainedWeights({"a": torch.ones(2)}), tmp_path / "ones")
    )


def saved(trained: Any, folder: Path) -> Path:
    trained.save_pretrained(folder)
    return folder

"""Adapters that were not just trained: the untrained one a run starts from, and one read back from disk."""

from __future__ import annotations

from pathlib import Path

from fedtext.models.generator import TrainableGenerator
from fedtext.params.training import Lora
from fedtext.training.lora import WEIGHTS, TrainedAdapter, lora_config, without_deprecations


def initial_adapter(base: TrainableGenerator, params: Lora, *, seed: int) -> TrainedAdapter:
    """An untrained adapter: its second matrices are zero, so base plus adapter is the public checkpoint."""
    import torch
    from peft import get_peft_model

    model, _ = base.load()
    torch.manual_seed(seed)
    with without_deprecations():
        adapted = get_peft_model(model, lora_config(model, params))
    return TrainedAdapter.of(adapted, base.source)


def saved_adapter(directory: Path) -> TrainedAdapter:
    """The adapter in `directory`, to be saved again as it is."""
    from peft import PeftConfig
    from safetensors.torch import load_file

    config = PeftConfig.from_pretrained(str(directory))
    config.target_modules = sorted(config.target_modules)  # read back as a set, whose order differs between processes
    return TrainedAdapter(load_file(directory / WEIGHTS), config)

"""Adapters beside their training: the untrained one a run starts from, one read back from disk, one as a vector.

Where all weights are trained there is no adapter, and the model's own weights are the vector.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32

from fedtext.federation.digest import digest
from fedtext.models.generator import TrainableGenerator
from fedtext.models.language_model import ALL_WEIGHTS
from fedtext.params.training import Lora
from fedtext.system.errors import InputError
from fedtext.training.lora import WEIGHTS, TrainedAdapter, lora_config, without_deprecations

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class TrainedWeights:
    """All weights of a model after its training, by name, apart from the model."""

    weights: dict[str, Tensor]

    def save_pretrained(self, path: str | Path) -> None:
        """Write `all_weights.safetensors` under `path`, and nothing else."""
        from safetensors.torch import save_file

        Path(path).mkdir(parents=True, exist_ok=True)
        save_file(self.weights, Path(path) / ALL_WEIGHTS, metadata={"format": "pt"})


def trainable_model(base: TrainableGenerator, params: Lora | None, *, seed: int) -> PreTrainedModel:
    """The public model, of which an untrained adapter's weights require gradients; None: all of its own do."""
    if params is not None:
        return adapted_model(base, params, seed=seed)
    model, _ = base.load()
    return model.float().requires_grad_(True)


def adapted_model(base: TrainableGenerator, params: Lora, *, seed: int) -> PreTrainedModel:
    """The public model with an untrained adapter, whose weights alone require gradients."""
    import torch
    from peft import get_peft_model

    model, _ = base.load()
    torch.manual_seed(seed)
    with without_deprecations():
        return get_peft_model(model, lora_config(model, params))


def initial_adapter(base: TrainableGenerator, params: Lora, *, seed: int) -> TrainedAdapter:
    """An untrained adapter: its second matrices are zero, so base plus adapter is the public checkpoint."""
    return TrainedAdapter.of(adapted_model(base, params, seed=seed), base.source)


def adapter_weights(model: PreTrainedModel) -> Float32[np.ndarray, " dim"]:
    """The weights of `model` that require gradients in one vector, in the model's own order."""
    import torch

    vector = torch.nn.utils.parameters_to_vector(p.detach().float() for p in model.parameters() if p.requires_grad)
    return np.asarray(vector.cpu().numpy())


def adapter_of_weights(
    base: TrainableGenerator, params: Lora, weights: Float32[np.ndarray, " dim"], *, seed: int
) -> TrainedAdapter:
    """The adapter whose weights `adapter_weights` gave as a vector, of the same base, parameters and seed."""
    return TrainedAdapter.of(_holding(adapted_model(base, params, seed=seed), weights), base.source)


def trained_of_weights(
    base: TrainableGenerator, params: Lora | None, weights: Float32[np.ndarray, " dim"], *, seed: int
) -> TrainedAdapter | TrainedWeights:
    """The adapter of these weights, or where there is none (`trainable_model`) all weights of the model."""
    if params is not None:
        return adapter_of_weights(base, params, weights, seed=seed)
    model = _holding(trainable_model(base, None, seed=seed), weights)
    return TrainedWeights({name: p.detach().cpu().clone().contiguous() for name, p in model.named_parameters()})


def _holding(model: PreTrainedModel, weights: Float32[np.ndarray, " dim"]) -> PreTrainedModel:
    """The model itself, those of its weights that require gradients replaced."""
    import torch

    trained = [p for p in model.parameters() if p.requires_grad]
    vector = torch.tensor(weights, dtype=trained[0].dtype, device=trained[0].device)
    torch.nn.utils.vector_to_parameters(vector, trained)
    return model


def stacked(first: TrainedAdapter, second: TrainedAdapter) -> TrainedAdapter:
    """One adapter that changes the base as `first` and then `second` do: the sum of their updates, of their joint rank.

    Raises:
        ValueError: they sit on other matrices, or scale their updates differently.
    """
    import torch

    scales = {config.lora_alpha / config.r for config in (first.config, second.config)}
    if first.weights.keys() != second.weights.keys() or len(scales) > 1:
        raise InputError(
            "two adapters on other matrices or of other alpha / rank: train both with the same lora.targets"
        )
    weights = {
        name: torch.cat([one, second.weights[name]], dim=0 if ".lora_A." in name else 1).contiguous()
        for name, one in first.weights.items()
    }
    config = copy.copy(first.config)
    config.r = first.config.r + second.config.r
    config.lora_alpha = first.config.lora_alpha + second.config.lora_alpha
    return TrainedAdapter(weights, config)


def adapter_digest(adapter: TrainedAdapter) -> str:
    """A name for its weights."""
    return digest(*(adapter.weights[name].float().numpy() for name in sorted(adapter.weights)))


def saved_adapter(directory: Path) -> TrainedAdapter:
    """The adapter in `directory`, to be saved again as it is."""
    from peft import PeftConfig
    from safetensors.torch import load_file

    config = PeftConfig.from_pretrained(str(directory))
    config.target_modules = sorted(config.target_modules)  # read back as a set, whose order differs between processes
    return TrainedAdapter(load_file(directory / WEIGHTS), config)

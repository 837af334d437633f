"""LoRA adapters: which matrices they are placed on, and adapters before and after training.

POPri trains 'all attention matrices and up/down projection matrices' (section 3.1). Which modules these are is read
from a model's own names: a projection whose parent is an attention block, or one inside a feed-forward block that is
not its gate. That holds for Llama, Mistral, Qwen, Gemma, Phi, GPT-2, GPT-NeoX, OPT, Falcon and BLOOM alike.

An adapter can be untrained, as a run starts with it, loaded from disk, or built from a vector of its weights. Where all
weights are trained there is no adapter, and the vector holds the model's own weights.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float32

from fedtext.federation.units import digest
from fedtext.models.architecture import architecture_of
from fedtext.models.generator import TrainableGenerator
from fedtext.models.language_model import ALL_WEIGHTS
from fedtext.params.training import Lora
from fedtext.system.errors import InputError, MissingFileError
from fedtext.system.hardware import compute_device, is_bfloat16_faster

if TYPE_CHECKING:
    from peft import LoraConfig
    from torch import Tensor
    from transformers import PreTrainedModel


WEIGHTS = "adapter_model.safetensors"
BARE_FEED_FORWARD = {"fc1", "fc2"}  # OPT keeps them in the layer itself, without a block around them


@contextmanager
def without_deprecations() -> Iterator[None]:
    """Hide the warning that PEFT and TRL use a name of activation checkpointing that transformers will drop."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*gradient_checkpointing.* is deprecated", category=FutureWarning)
        yield


def trainer_arguments(seed: int, scratch: str) -> dict[str, Any]:
    """Return the arguments of all of TRL's trainers: this machine's arithmetic, and nothing saved or sent."""
    import torch

    gpu = torch.cuda.is_available()
    return {
        "output_dir": scratch,
        "bf16": is_bfloat16_faster(compute_device()),
        "use_cpu": not gpu,
        "dataloader_pin_memory": gpu,
        "seed": seed % 2**32,  # NumPy's largest seed
        "save_strategy": "no",
        "report_to": "none",
        "logging_steps": 1,
        "disable_tqdm": True,
    }


def lora_config(model: PreTrainedModel, params: Lora) -> LoraConfig:
    """Return PEFT's configuration of `params` on `model`; raise ValueError if its architecture lacks such matrices."""
    from peft import LoraConfig
    from transformers.pytorch_utils import Conv1D

    targets = target_modules(model, params.targets)
    stored_transposed = any(isinstance(m, Conv1D) for name, m in model.named_modules() if name.endswith(tuple(targets)))
    return LoraConfig(
        r=params.rank,
        lora_alpha=params.alpha,
        lora_dropout=params.dropout,
        target_modules=targets,
        fan_in_fan_out=stored_transposed,  # GPT-2's Conv1D holds (in, out)
        task_type="CAUSAL_LM",
    )


def target_modules(model: PreTrainedModel, targets: str) -> list[str]:
    """Return the sorted `block.projection` names of the matrices that `Lora.targets` selects in this architecture."""
    import torch
    from transformers.pytorch_utils import Conv1D

    head = model.get_output_embeddings()
    projections = [
        name.split(".")[-2:]
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear | Conv1D) and module is not head
    ]
    found = sorted({f"{block}.{leaf}" for block, leaf in projections if _is_target(block, leaf, targets)})
    if not found:
        names = sorted({leaf for _, leaf in projections}) or ["none"]
        raise InputError(
            f"lora.targets {targets}: {type(model).__name__} has no such matrices (its linear modules: "
            f"{', '.join(names)}); try lora.targets all_linear, or another model",
            code="unknown-lora-targets",
            parameter="lora.targets",
            value=targets,
        )
    return found


def _is_target(block: str, leaf: str, targets: str) -> bool:
    if targets == "all_linear":
        return True
    if "attn" in block or "attention" in block:
        return True
    feed_forward = "mlp" in block or "feed_forward" in block or leaf in BARE_FEED_FORWARD
    is_gate = "gate" in leaf and "up" not in leaf  # Phi's gate_up_proj holds both in one matrix
    return targets == "attention_and_mlp" and feed_forward and not is_gate


@dataclass(frozen=True)
class TrainedAdapter:
    """Weights of the adapter `default` and its configuration, without the base model."""

    weights: dict[str, Tensor]
    config: LoraConfig

    @classmethod
    def of(cls, model: Any, base: str) -> TrainedAdapter:
        """Copy the adapter `default` of a PEFT `model`; `base` is the source that the base model was loaded from."""
        from peft import get_peft_model_state_dict

        config = saved_form(model.peft_config["default"], base)
        state = get_peft_model_state_dict(model, adapter_name="default", save_embedding_layers=False)
        return cls({name: t.detach().cpu().clone().contiguous() for name, t in sorted(state.items())}, config)

    def save_pretrained(self, path: str | Path) -> None:
        """Write `adapter_model.safetensors` and `adapter_config.json` under `path`, and nothing else."""
        from safetensors.torch import save_file

        directory = Path(path)
        directory.mkdir(parents=True, exist_ok=True)
        save_file(self.weights, directory / WEIGHTS, metadata={"format": "pt"})
        self.config.save_pretrained(str(directory))


def saved_form(config: LoraConfig, base: str) -> LoraConfig:
    """Return the configuration of an adapter of `base` as it is saved, the same on every machine.

    Of a local directory only the name is kept.
    """
    saved = copy.copy(config)
    saved.target_modules = sorted(saved.target_modules)  # a set's order differs between processes
    saved.inference_mode = True
    saved.base_model_name_or_path = Path(base).name if Path(base).exists() else base
    return saved


def load_weights(model: Any, adapter: Path) -> None:
    """Set the adapter `default` of a PEFT `model` to the one saved in `adapter`, which must have the same shape."""
    from peft import PeftConfig, set_peft_model_state_dict
    from safetensors.torch import load_file

    if not (adapter / WEIGHTS).is_file():
        raise MissingFileError(
            f"no adapter at {adapter} ({WEIGHTS} is missing): rerun the round that trains it",
            code="missing-adapter",
            value=str(adapter),
        )
    asked, saved = model.peft_config["default"], PeftConfig.from_pretrained(str(adapter))
    for what in ("r", "lora_alpha", "target_modules"):
        was, now = getattr(saved, what), getattr(asked, what)
        if was != now:
            raise InputError(
                f"the adapter at {adapter} has {what} {was}, this run asks for {now}: "
                "set the lora parameters back, or start from the first round",
                code="adapter-of-other-settings",
                value=was,
            )
    set_peft_model_state_dict(model, load_file(adapter / WEIGHTS), adapter_name="default")


@dataclass(frozen=True)
class TrainedWeights:
    """All weights of a trained model, by name, without the model."""

    weights: dict[str, Tensor]

    @classmethod
    def of(cls, model: PreTrainedModel) -> TrainedWeights:
        """Copy all weights of a `model`; tied ones come once."""
        return cls({name: p.detach().float().cpu().clone().contiguous() for name, p in model.named_parameters()})

    def save_pretrained(self, path: str | Path) -> None:
        """Write `all_weights.safetensors` under `path`, and nothing else."""
        from safetensors.torch import save_file

        Path(path).mkdir(parents=True, exist_ok=True)
        save_file(self.weights, Path(path) / ALL_WEIGHTS, metadata={"format": "pt"})


Trained = TrainedAdapter | TrainedWeights


def trained_of(model: Any, base: str, params: Lora | None) -> Trained:
    """Copy what was trained of a `model`: the adapter of a PEFT model, or all weights where `params` is None."""
    return TrainedWeights.of(model) if params is None else TrainedAdapter.of(model, base)


def trainable_model(base: TrainableGenerator, params: Lora | None, *, seed: int) -> PreTrainedModel:
    """Return the public model with an untrained adapter that requires gradients; None: all weights require them."""
    if params is not None:
        return adapted_model(base, params, seed=seed)
    model, _ = base.load()
    return model.float().requires_grad_(True)


def adapted_model(base: TrainableGenerator, params: Lora, *, seed: int) -> PreTrainedModel:
    """Return the public model with an untrained adapter, whose weights alone require gradients."""
    import torch
    from peft import get_peft_model

    model, _ = base.load()
    torch.manual_seed(seed)
    with without_deprecations():
        return get_peft_model(model, lora_config(model, params))


def initial_adapter(base: TrainableGenerator, params: Lora, *, seed: int) -> TrainedAdapter:
    """Return an untrained adapter: its second matrices are zero, so base plus adapter is the public checkpoint."""
    return TrainedAdapter.of(adapted_model(base, params, seed=seed), base.source)


def adapter_of_zeros(base: TrainableGenerator, params: Lora) -> TrainedAdapter:
    """Return an adapter that changes nothing, of the shape of a trained one; the base's weights are not read."""
    import torch
    from peft import get_peft_model, get_peft_model_state_dict
    from transformers import AutoModelForCausalLM

    architecture = architecture_of(base.source)
    with torch.device("meta"), without_deprecations():
        model = AutoModelForCausalLM.from_config(architecture.config)
        adapted = get_peft_model(model, lora_config(model, params))
    config = saved_form(adapted.peft_config["default"], base.source)
    state = get_peft_model_state_dict(adapted, adapter_name="default", save_embedding_layers=False)
    return TrainedAdapter({name: torch.zeros(weight.shape) for name, weight in sorted(state.items())}, config)


def adapter_weights(model: PreTrainedModel) -> Float32[np.ndarray, " dim"]:
    """Return the weights of `model` that require gradients in one vector, in the model's own order."""
    import torch

    vector = torch.nn.utils.parameters_to_vector(p.detach().float() for p in model.parameters() if p.requires_grad)
    return np.asarray(vector.cpu().numpy())


def adapter_of_weights(
    base: TrainableGenerator, params: Lora, weights: Float32[np.ndarray, " dim"], *, seed: int
) -> TrainedAdapter:
    """Return the adapter with these `adapter_weights`, for the same base, parameters and seed."""
    return TrainedAdapter.of(_holding(adapted_model(base, params, seed=seed), weights), base.source)


def trained_of_weights(
    base: TrainableGenerator, params: Lora | None, weights: Float32[np.ndarray, " dim"], *, seed: int
) -> Trained:
    """Return the adapter with these weights, or without an adapter (`trainable_model`) all weights of the model."""
    if params is not None:
        return adapter_of_weights(base, params, weights, seed=seed)
    return TrainedWeights.of(_holding(trainable_model(base, None, seed=seed), weights))


def _holding(model: PreTrainedModel, weights: Float32[np.ndarray, " dim"]) -> PreTrainedModel:
    """Set the weights of the model that require gradients to the vector `weights`, and return the model."""
    import torch

    trained = [p for p in model.parameters() if p.requires_grad]
    vector = torch.tensor(weights, dtype=trained[0].dtype, device=trained[0].device)
    torch.nn.utils.vector_to_parameters(vector, trained)
    return model


def in_one(first: Path, second: Trained) -> Trained:
    """Return what a generator reads after two trainings, the second on top of the first, which lies in a directory.

    Of adapters it is both in one; all weights have the first training in them.
    """
    return stacked(saved_adapter(first), second) if isinstance(second, TrainedAdapter) else second


def stacked(first: TrainedAdapter, second: TrainedAdapter) -> TrainedAdapter:
    """Combine two adapters into one whose update is the sum of both, of their joint rank.

    Raises:
        ValueError: they are placed on different matrices, or scale their updates differently.
    """
    import torch

    scales = {config.lora_alpha / config.r for config in (first.config, second.config)}
    if first.weights.keys() != second.weights.keys() or len(scales) > 1:
        raise InputError(
            "two adapters on other matrices or of other alpha / rank: train both with the same lora.targets",
            code="adapters-do-not-match",
        )
    weights = {
        name: torch.cat([one, second.weights[name]], dim=0 if ".lora_A." in name else 1).contiguous()
        for name, one in first.weights.items()
    }
    config = copy.copy(first.config)
    config.r = first.config.r + second.config.r
    config.lora_alpha = first.config.lora_alpha + second.config.lora_alpha
    return TrainedAdapter(weights, config)


def trained_digest(directory: Path) -> str:
    """Return a digest of the adapter's weights in `directory`, or of all weights there."""
    from safetensors.torch import load_file

    whole = directory / ALL_WEIGHTS
    weights = load_file(whole if whole.is_file() else directory / WEIGHTS)
    return digest(*(weights[name].float().numpy() for name in sorted(weights)))


def saved_adapter(directory: Path) -> TrainedAdapter:
    """Load the adapter in `directory`, to be saved again unchanged."""
    from peft import PeftConfig
    from safetensors.torch import load_file

    config = PeftConfig.from_pretrained(str(directory))
    config.target_modules = sorted(config.target_modules)  # read back as a set, whose order differs between processes
    return TrainedAdapter(load_file(directory / WEIGHTS), config)

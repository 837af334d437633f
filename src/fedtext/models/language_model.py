"""Causal and masked language models behind one interface: bundled, in a local directory, or on the Hugging Face hub.

Only safetensors weights are read, never a pickle. A model is loaded on the GPU in bfloat16 if there is one, else on the
CPU in float32. An adapter is merged into the weights, so that decoding with it is as fast as decoding without it.
Masked language models come from a local directory or the hub; none is bundled.
"""

from __future__ import annotations

import json
import logging
import warnings
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from fedtext.models import smollm2
from fedtext.models.source import BUNDLED, SHIPPED, Place, find_model, unreadable
from fedtext.models.weights import check_complete, check_weights
from fedtext.system.errors import InputError, MissingFileError, did_you_mean
from fedtext.system.hardware import compute_device, is_bfloat16_faster
from fedtext.system.precision import round_to_bfloat16
from fedtext.system.progress import without_library_bars

if TYPE_CHECKING:
    import torch
    from peft import PeftModel
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


LOG = logging.getLogger(__name__)
ADAPTER_WEIGHTS = "adapter_model.safetensors"
ALL_WEIGHTS = "all_weights.safetensors"  # all weights after full fine-tuning, without an adapter


def bundled(name: str) -> str:
    """Return the directory of the language model `name` that is bundled with the package.

    Raises:
        FileNotFoundError: There is no bundled model of that name.
    """
    root = Path(str(files("fedtext"))) / "bundled"
    directory = root / name
    if not (directory / "config.json").is_file():
        there = sorted(path.parent.name for path in root.glob("*/config.json"))
        raise MissingFileError(
            f"bundled language model '{name}' is not shipped here: {did_you_mean(name, there, 'none is')} If it "
            "should be, reinstall the package, or rebuild the models with `kedro run --pipelines pretrain`",
            code="bundled-model-missing",
            value=name,
        )
    return str(directory)


def place_of(source: str) -> str:
    """Return the source, or the directory of an installed model (`bundled:<name>` or `smollm2`).

    Raises:
        OSError: The model is not installed.
        ValueError: Its weights are not the published ones.
    """
    if source == smollm2.NAME:
        return str(smollm2.smollm2())
    return bundled(source.removeprefix(BUNDLED)) if source.startswith(BUNDLED) else source


@dataclass(frozen=True)
class Tokenizer:
    """A language model's tokenizer without its weights; it cuts samples and counts their length.

    Attributes:
        source: `bundled:<name>`, `smollm2`, a local directory, or a Hugging Face id.
    """

    source: str

    def load(self) -> PreTrainedTokenizerBase:
        """Load the tokenizer, with left padding; the padding token defaults to that of a text's end, or else beginning.

        Raises:
            OSError: It does not exist, or is not complete.
        """
        from transformers import AutoTokenizer

        place = _place(self.source)
        try:
            tokenizer = AutoTokenizer.from_pretrained(place.name, padding_side="left", **place.keywords)
        except (OSError, ValueError) as error:
            raise unreadable(self.source, "tokenizer of language model", SHIPPED, error) from error
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token or tokenizer.bos_token
        return tokenizer


@dataclass(frozen=True)
class LanguageModel:
    """A public causal language model, by its source, with an optional low-rank adapter.

    Attributes:
        source: `bundled:<name>`, `smollm2`, a local directory, or a Hugging Face id.
        adapter: Directory of a PEFT adapter (safetensors), or of all weights after a training
            (`fedtext.training.lora.TrainedWeights`); None for the public model itself.
    """

    source: str
    adapter: Path | None = None

    def with_adapter(self, path: Path | None) -> Self:
        """Return the same public model with the adapter in `path`."""
        return replace(self, adapter=path)

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Return the model's tokenizer."""
        return Tokenizer(self.source).load()

    def load(self, merge_adapter: bool = True) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        """Load the model, in evaluation mode on its device, and the tokenizer; without merging, it is a `PeftModel`.

        Raises:
            OSError: The source or the adapter does not exist, is not complete, or has no safetensors weights.
            ValueError: A weight of either is NaN or infinite.
        """
        tokenizer = self.tokenizer()
        model: Any = _read_weights(self.source)
        check_weights(model, f"language model '{self.source}'", "get its files again")
        if self.adapter is not None:
            whole = (Path(self.adapter) / ALL_WEIGHTS).is_file()
            if not whole:
                _warn_of_other_base(self.source, Path(self.adapter))
            model = (_with_weights if whole else _with_adapter)(model, Path(self.adapter))
            check_weights(model, f"adapter '{self.adapter}'", "lower the learning rate that it was trained with")
            if merge_adapter and not whole:
                model = _merged(model)
        return model.eval(), tokenizer


def context_length(model: PreTrainedModel) -> int | None:
    """Return the largest number of tokens that `model` reads at once, None if its configuration names no limit."""
    limit: int | None = getattr(model.config, "max_position_embeddings", None)  # also gives GPT-2's n_positions
    return limit


def _place(source: str) -> Place:
    return find_model(place_of(source), "language model", SHIPPED)


def _read_weights(source: str) -> PreTrainedModel:
    import torch
    from transformers import AutoModelForCausalLM

    device = compute_device()
    dtype = torch.bfloat16 if device.type == "cuda" and is_bfloat16_faster(device) else torch.float32
    place = _place(source)
    try:
        with without_library_bars():
            model, loading = AutoModelForCausalLM.from_pretrained(
                place.name,
                dtype=dtype,
                use_safetensors=True,
                output_loading_info=True,
                **place.model_keywords,
            )
        check_complete(loading)
    except (OSError, ValueError) as error:
        raise unreadable(source, "language model", SHIPPED, error) from error
    return model.to(device)


def _warn_of_other_base(source: str, adapter: Path) -> None:
    """Warn if an adapter was trained on a model of another name; a model of the same shape would accept it.

    It is a warning and no error, for the directory may have been moved, and an adapter stores only the name of its
    base.
    """
    file = adapter / "adapter_config.json"
    base = json.loads(file.read_bytes()).get("base_model_name_or_path") if file.is_file() else None
    if base and _name(base) != _name(source):
        LOG.warning("adapter '%s' was trained on %s, and is laid over %s: are they the same?", adapter, base, source)


def _name(source: str) -> str:
    """Return the last part of a directory or an id, without a revision."""
    return Path(source.removeprefix(BUNDLED)).name.partition("@")[0]


def _with_adapter(model: PreTrainedModel, adapter: Path) -> PeftModel:
    from peft import PeftModel

    if not (adapter / ADAPTER_WEIGHTS).is_file():
        raise MissingFileError(
            f"adapter '{adapter}' has no {ADAPTER_WEIGHTS}: save it with save_pretrained (safetensors)",
            code="adapter-without-weights",
            value=str(adapter),
        )
    with warnings.catch_warnings():
        # PEFT 0.21 asks transformers for a property by the name it had before.
        warnings.filterwarnings("ignore", message=".*is_gradient_checkpointing", category=FutureWarning)
        return PeftModel.from_pretrained(model, str(adapter))


def _with_weights(model: PreTrainedModel, directory: Path) -> PreTrainedModel:
    """Return the model with its weights replaced by the trained ones, in its own precision."""
    import torch
    from safetensors.torch import load_file

    trained = load_file(directory / ALL_WEIGHTS)
    with torch.no_grad():
        for name, weight in model.named_parameters():  # tied ones come once, as they were saved
            weight.copy_(_rounded(trained[name].to(weight.device), weight.dtype))
    return model


def _merged(model: PeftModel) -> PreTrainedModel:
    """Return the model with the adapter's update added in float32, without the adapter's layers."""
    import torch
    from peft.tuners.lora import LoraLayer

    with torch.no_grad():
        for layer in (module for module in model.modules() if isinstance(module, LoraLayer)):
            weight = layer.get_base_layer().weight
            total = weight.float() + sum(layer.get_delta_weight(name).float() for name in layer.active_adapters)
            weight.copy_(_rounded(total, weight.dtype))
    return model.unload()


def _rounded(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert float32 values to weights of `dtype`; a small update survives bfloat16 on average."""
    import torch

    return round_to_bfloat16(values) if dtype == torch.bfloat16 else values


NONE_SHIPPED = "set pe.variation to few_shot, which needs none"


@dataclass(frozen=True)
class MaskedModel:
    """A public masked language model, by its source: a local directory or a Hugging Face id."""

    source: str

    def load(self) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        """Load the model, in evaluation mode on its device, and the tokenizer; only safetensors weights are read.

        Raises:
            OSError: The source does not exist, is not complete, or its tokenizer has no mask token.
            ValueError: A weight is NaN or infinite.
        """
        from transformers import AutoModelForMaskedLM, AutoTokenizer

        place = find_model(self.source, "masked language model", NONE_SHIPPED)
        try:
            tokenizer = AutoTokenizer.from_pretrained(place.name, **place.keywords)
            if tokenizer.mask_token_id is None:
                raise InputError("its tokenizer has no mask token", code="no-mask-token")
            with without_library_bars():
                model = AutoModelForMaskedLM.from_pretrained(place.name, use_safetensors=True, **place.model_keywords)
        except (OSError, ValueError) as error:
            raise unreadable(self.source, "masked language model", NONE_SHIPPED, error) from error
        check_weights(model, f"masked language model '{self.source}'", "get its files again")
        return model.to(compute_device()).eval(), tokenizer

"""Sizes of a model by its architecture: weights, what a training changes and keeps, and a token's keys and values.

They are read off the model itself, built without memory (torch's `meta` device) with one layer and with two: layers are
alike, so all of them follow.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fedtext.models.architecture import Architecture
from fedtext.params.training import Lora
from fedtext.training.lora import lora_config

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

PROBED = (2, 64)  # rows and tokens of a pass that nothing computes


@dataclass(frozen=True)
class Sizes:
    """Sizes of one model, and of an adapter on it.

    Attributes:
        weights: Numbers in all.
        multiplied: Numbers that each token is multiplied by: all but those of embedding tables that are only looked up.
        layers: Number of layers.
        hidden: Length of a token's vector.
        vocabulary: Number of tokens that it knows.
        cached: Numbers that a token leaves in the cache of keys and values.
        trained: Numbers that a training changes.
        kept: Bytes that a token leaves in a layer for the backward pass, in 16 bits a number.
    """

    weights: int
    multiplied: int
    layers: int
    hidden: int
    vocabulary: int
    cached: int
    trained: int = 0
    kept: int = 0


def sizes_of(architecture: Architecture, lora: Lora | None = None, *, trained: bool = False) -> Sizes:
    """Return the sizes of a model; with `trained`, also those of a training, of all weights if `lora` is None."""
    return _sizes(architecture.config.to_json_string(), lora, trained, _Config(architecture.config))


class _Config:
    """A configuration that a cache does not compare: the text beside it is the key."""

    def __init__(self, config: PretrainedConfig) -> None:
        self.config = config

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Config)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=64)
def _sizes(key: str, lora: Lora | None, trained: bool, held: _Config) -> Sizes:
    config = held.config
    layers = int(config.num_hidden_layers)
    one, two = (_probe(with_layers(config, number), lora, trained) for number in (1, 2))
    heads = int(config.num_attention_heads)
    shared = int(getattr(config, "num_key_value_heads", None) or heads)
    head = int(getattr(config, "head_dim", None) or config.hidden_size // heads)

    def of_all(name: str) -> int:
        return int(one[name] + (layers - 1) * (two[name] - one[name]))

    return Sizes(
        weights=of_all("weights"),
        multiplied=of_all("multiplied"),
        layers=layers,
        hidden=int(config.hidden_size),
        vocabulary=int(config.vocab_size),
        cached=2 * layers * shared * head,
        trained=of_all("trained"),
        kept=two["kept"] - one["kept"],
    )


def with_layers(config: PretrainedConfig, number: int) -> PretrainedConfig:
    """Return the configuration with another number of layers."""
    changed = copy.deepcopy(config)
    changed.num_hidden_layers = number
    return changed


def is_generative(config: PretrainedConfig) -> bool:
    """Return whether the configuration is a causal language model's."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    return config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and config.model_type not in ENCODERS


ENCODERS = {"bert", "roberta", "distilbert", "xlm-roberta", "electra", "camembert"}  # as this project uses them


def model_class(config: PretrainedConfig) -> Any:
    """Return the class of transformers that builds the model: a causal one, or an encoder."""
    import transformers

    if is_generative(config):
        return transformers.AutoModelForCausalLM
    return transformers.AutoModelForTextEncoding if config.model_type == "t5" else transformers.AutoModel


def _probe(config: PretrainedConfig, lora: Lora | None, trained: bool) -> dict[str, int]:
    """Return the sizes of a model with few layers."""
    import torch

    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PEFT asks for a property by an older name
        model: Any = model_class(config).from_config(config, dtype=torch.bfloat16)
        weights = sum(one.numel() for one in model.parameters())
        tables = sum(one.weight.numel() for one in model.modules() if isinstance(one, torch.nn.Embedding))
        head = model.get_output_embeddings() if is_generative(config) else None
        found = {"weights": weights, "multiplied": weights - tables, "trained": 0, "kept": 0}
        if head is not None and getattr(config, "tie_word_embeddings", False):
            found["multiplied"] += head.weight.numel()  # the table is the head as well
        if trained:
            if lora is not None:
                from peft import get_peft_model

                model = get_peft_model(model, lora_config(model, lora))
            found["trained"] = sum(one.numel() for one in model.parameters() if one.requires_grad)
            found["kept"] = _kept(model) // (PROBED[0] * PROBED[1])
    return found


def _kept(model: PreTrainedModel) -> int:
    """Return the bytes that a forward pass keeps for the backward pass, beside the weights."""
    import torch

    own = {one.untyped_storage()._cdata for one in model.parameters()}
    kept: dict[int, Any] = {}

    def keep(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            kept[storage._cdata] = tensor  # held, so that no other storage gets its place
        return tensor

    rows, tokens = PROBED
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model.enable_input_require_grads()
        model(
            input_ids=torch.zeros((rows, tokens), dtype=torch.long),
            attention_mask=torch.zeros((rows, 1, tokens, tokens), dtype=torch.bfloat16),  # else its values are read
            position_ids=torch.arange(tokens).expand(rows, -1),
            use_cache=False,
        )
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())

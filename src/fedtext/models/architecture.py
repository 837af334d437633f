"""The architecture of a model, without its weights: from its files, or from a table of models that this project names.

A plan (fedtext.planning) needs a model's shape before anybody has downloaded it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedtext.models import smollm2
from fedtext.models.language_model import place_of
from fedtext.models.source import BUNDLED, MAIN
from fedtext.system.errors import MissingFileError

if TYPE_CHECKING:
    from transformers import PretrainedConfig

CONFIG = "config.json"

LLAMA_3_8B = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}
QWEN_3_4B = {
    "hidden_size": 2560,
    "intermediate_size": 9728,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
}
MINILM = {"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 6}

# As published in each model's config.json: the type, and what differs from the type's own defaults.
KNOWN: dict[str, tuple[str, dict[str, Any]]] = {
    smollm2.NAME: (
        "llama",
        {
            "hidden_size": 576,
            "intermediate_size": 1536,
            "num_hidden_layers": 30,
            "num_attention_heads": 9,
            "num_key_value_heads": 3,
            "vocab_size": 49152,
            "tie_word_embeddings": True,
        },
    ),
    "HuggingFaceTB/SmolLM2-1.7B-Instruct": (
        "llama",
        {
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "num_hidden_layers": 24,
            "num_attention_heads": 32,
            "num_key_value_heads": 32,
            "vocab_size": 49152,
            "tie_word_embeddings": True,
        },
    ),
    "meta-llama/Meta-Llama-3-8B": ("llama", LLAMA_3_8B),
    "meta-llama/Meta-Llama-3-8B-Instruct": ("llama", LLAMA_3_8B),
    "Qwen/Qwen3-4B-Base": ("qwen3", QWEN_3_4B),
    "Qwen/Qwen3-4B-Instruct-2507": ("qwen3", QWEN_3_4B),
    "google/gemma-2-2b": (
        "gemma2",
        {
            "hidden_size": 2304,
            "intermediate_size": 9216,
            "num_hidden_layers": 26,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
            "head_dim": 256,
            "vocab_size": 256000,
        },
    ),
    "meta-llama/Llama-2-7b-chat-hf": (
        "llama",
        {"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32},
    ),
    "openai-community/gpt2": ("gpt2", {}),
    "openai-community/gpt2-large": ("gpt2", {"n_embd": 1280, "n_layer": 36, "n_head": 20}),
    "openai-community/gpt2-xl": ("gpt2", {"n_embd": 1600, "n_layer": 48, "n_head": 25}),
    "distilbert/distilgpt2": ("gpt2", {"n_layer": 6}),
    "EleutherAI/pythia-2.8b": (
        "gpt_neox",
        {
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "vocab_size": 50304,
        },
    ),
    "offline": ("bert", MINILM),
    "sentence-transformers/all-MiniLM-L6-v2": ("bert", MINILM),
    "BAAI/bge-large-en-v1.5": (
        "bert",
        {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16},
    ),
    "sentence-transformers/all-mpnet-base-v2": ("mpnet", {}),
    "sentence-transformers/all-distilroberta-v1": ("roberta", {"num_hidden_layers": 6}),
    "sentence-transformers/stsb-roberta-base-v2": ("roberta", {}),
    "sentence-transformers/sentence-t5-base": (
        "t5",
        {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12, "is_encoder_decoder": False},
    ),
    "google-bert/bert-base-uncased": ("bert", {}),
    "FacebookAI/roberta-base": ("roberta", {}),
    "FacebookAI/roberta-large": (
        "roberta",
        {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16},
    ),
}


@dataclass(frozen=True)
class Architecture:
    """What a model is built like.

    Attributes:
        source: The model's source.
        config: The configuration of transformers.
        read: Whether it was read from the model's files; else it is the table's.
    """

    source: str
    config: PretrainedConfig
    read: bool


def architecture_of(source: str) -> Architecture:
    """Return the architecture of a model: of its directory, of the hub's cache, or of the table; no network is used.

    Raises:
        MissingFileError: None of them has it.
    """
    from transformers import AutoConfig

    if (directory := _directory(source)) is not None:
        config = AutoConfig.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
        return Architecture(source, config, read=True)
    name = source.partition("@")[0]
    if name not in KNOWN:
        raise MissingFileError(
            f"the architecture of '{source}' is not known before its files are here: download its {CONFIG} "
            f"(`hf download {name} {CONFIG}`), or name a directory",
            code="architecture-not-known",
            value=source,
        )
    kind, differing = KNOWN[name]
    return Architecture(source, AutoConfig.for_model(kind, **differing), read=False)


def _directory(source: str) -> str | None:
    """Return the directory with the model's configuration, None if it is not on this machine."""
    if source.startswith(BUNDLED):
        return place_of(source)
    path = Path(source).expanduser()
    if path.is_dir():
        beside = [path, *sorted(path.glob("0_*"))]  # sentence-transformers keeps the transformer in a folder of its own
        return next((str(one) for one in beside if (one / CONFIG).is_file()), None)
    if source in KNOWN and "/" not in source:
        return None
    from huggingface_hub import try_to_load_from_cache

    name, _, revision = source.partition("@")
    found = try_to_load_from_cache(name, CONFIG, revision=revision or MAIN) if "/" in name else None
    return str(Path(found).parent) if isinstance(found, str) else None

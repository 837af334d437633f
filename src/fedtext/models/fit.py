"""Checks, before a run, that a tokenizer can do what the run needs, and that it belongs to its model.

A tokenizer is tried on a few words. What would otherwise fail after a release, in the middle of a training or as an
empty data set, is an error here. Models that ship with the package, or whose SHA-256 is checked, need no trial.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fedtext.models.source import TOKENIZER_FILES, TOKENIZER_SIGNS, check_tokenizer_files, find_model, unreadable
from fedtext.system.errors import FedtextError, InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PROBE = "Two words, a third; ¿qué? Ωμέγα, 漢字, ไทย 🙂"  # every tokenizer has tokens for some of it
MESSAGE = "Write one text about tea."
OWN_TOKENIZER = "give it the tokenizer that it was trained with"
TokenizerCheck = Callable[["PreTrainedTokenizerBase", Path], str | None]  # what is missing, as the end of a sentence


def check_fit(source: str, kind: str, shipped: str, asked: Sequence[TokenizerCheck]) -> None:
    """Raise an error if the tokenizer of a model, or a tokenizer alone, lacks a needed capability.

    Args:
        source: A local directory or a Hugging Face id, whose tokenizer and configuration are downloaded.
        kind: Kind of model, for messages.
        shipped: What to use instead, for messages.
        asked: The needed capabilities.

    Raises:
        OSError: It has no tokenizer that can be read.
        ValueError: The tokenizer lacks a capability; names the model and a remedy.
    """
    directory = _transformer(_files(source, kind, shipped))
    if asked == ENCODER and not any((directory / name).is_file() for name in (*TOKENIZER_SIGNS, "config.json")):
        return  # it has no transformer
    check_tokenizer_files(str(directory), kind, shipped)
    tokenizer = read_tokenizer(directory, source, kind, shipped)
    for ask in asked:
        if (fault := ask(tokenizer, directory)) is not None:
            raise InputError(f"{kind} '{source}': {fault}", code="model-does-not-fit", value=source)


def read_tokenizer(directory: Path, source: str, kind: str, shipped: str) -> PreTrainedTokenizerBase:
    """Read the tokenizer in a directory.

    Raises:
        OSError: It cannot be read.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(str(directory), local_files_only=True, trust_remote_code=False)
    except FedtextError:
        raise
    except Exception as error:  # the library raises a bare Exception for a damaged tokenizer.json
        raise unreadable(source, kind, shipped, error) from error


def reads_any_text(tokenizer: PreTrainedTokenizerBase, directory: Path) -> str | None:
    """Return the fault of a tokenizer that cannot read every text; None if it can."""
    try:
        ids = tokenizer(PROBE, add_special_tokens=False, verbose=False)["input_ids"]
    except Exception as error:  # a tokenizer without an unknown token; the library raises a bare Exception
        return f"its tokenizer fails on text that it has no token for ({error}): {OWN_TOKENIZER}, or add an unk_token"
    return None if ids else f"its tokenizer finds no token in {PROBE!r}: {OWN_TOKENIZER}"


def has_offsets(tokenizer: PreTrainedTokenizerBase, directory: Path) -> str | None:
    """Return the fault of a tokenizer without character offsets, by which texts are cut; None if it has them."""
    try:
        told = tokenizer(PROBE, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        spans = told["offset_mapping"]
    except (KeyError, NotImplementedError):  # slow tokenizers, as different versions of the library have it
        spans = []
    if spans and max(end for _, end in spans) > 0:
        return None
    return (
        "its tokenizer does not say where in a text its tokens stand (no offsets), so it can cut no texts: save it as "
        "a fast tokenizer (tokenizer.json), or name another (--params models.chunk_tokenizer=bundled:generator)"
    )


def has_start_token(tokenizer: PreTrainedTokenizerBase, directory: Path) -> str | None:
    """Return the fault of a tokenizer without a token that starts a text; None if it has one."""
    if tokenizer.bos_token_id is not None or tokenizer.eos_token_id is not None:
        return None
    return (
        "its tokenizer has neither a bos_token nor an eos_token to start a text with: set one in its "
        "tokenizer_config.json (tokenizer.eos_token = '...', then tokenizer.save_pretrained)"
    )


# Kinds of the library that are made for both directions, and of which the causal class reads both unless told not to.
DECODERS_OF_THEIR_OWN = ("bart", "mbart", "mvp")  # whose causal class is a decoder whatever the configuration says


def reads_forwards(tokenizer: PreTrainedTokenizerBase, directory: Path) -> str | None:
    """Return the fault of a model that would read the tokens after the one that it predicts; None if it does not."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES as BOTH_WAYS

    place = directory / "config.json"
    told = json.loads(place.read_bytes()) if place.is_file() else {}
    kind = told.get("model_type")
    if kind not in BOTH_WAYS or kind in DECODERS_OF_THEIR_OWN or told.get("is_decoder") or told.get("causal"):
        return None
    return (
        f"it is of the kind {kind} and no decoder (is_decoder in its config.json), so as a next-token model it would "
        "read the tokens that it is to predict: name a causal model, as distilbert/distilgpt2, or train a copy of it "
        "with is_decoder=true"
    )


def has_mask(tokenizer: PreTrainedTokenizerBase, directory: Path) -> str | None:
    """Return the fault of a tokenizer without a mask token; None if it has one."""
    return None if tokenizer.mask_token_id is not None else f"its tokenizer has no mask_token: {OWN_TOKENIZER}"


def has_embedding_rows(tokenizer: PreTrainedTokenizerBase, directory: Path) -> str | None:
    """Return the fault of a model without an embedding row for every token; None if it has them.

    Rows without a token, such as padding, do no harm.
    """
    rows, last = _rows(directory), max(tokenizer.get_vocab().values(), default=-1)
    if rows is None:
        return None
    if last >= rows:
        return (
            f"its tokenizer has tokens up to number {last}, and the model {rows} rows, from 0: {OWN_TOKENIZER}, or "
            "give the model more rows (model.resize_token_embeddings)"
        )
    heights = _heights(directory)
    if heights and rows not in heights:
        return f"its config.json has a vocab_size of {rows}, and no tensor of its weights so many rows: get it again"
    return None


def chat_fault(tokenizer: PreTrainedTokenizerBase) -> str | None:
    """Return why the tokenizer cannot be used with chat messages, as the end of a sentence; None if it can."""
    if tokenizer.chat_template is None:
        return "has no chat template"
    turn = [{"role": "user", "content": MESSAGE}]
    try:
        said = tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
    except Exception as error:  # whatever a template raises; some want a system's message first
        return f"has a chat template that fails on one user's message ({str(error).splitlines()[0]})"
    return None if MESSAGE in str(said) else "has a chat template that leaves out what a user says"


LANGUAGE_MODEL: tuple[TokenizerCheck, ...] = (reads_any_text, reads_forwards, has_start_token, has_embedding_rows)
MASKED_MODEL: tuple[TokenizerCheck, ...] = (reads_any_text, has_mask, has_embedding_rows)
TAGGER: tuple[TokenizerCheck, ...] = (reads_any_text, has_offsets, has_embedding_rows)
ENCODER: tuple[TokenizerCheck, ...] = (reads_any_text, has_embedding_rows)
TOKENIZER: tuple[TokenizerCheck, ...] = (reads_any_text, has_offsets)


def _files(source: str, kind: str, shipped: str) -> Path:
    """Return the directory with the tokenizer and configuration of a model."""
    place = find_model(source, kind, shipped)
    if (directory := Path(place.name)).is_dir():
        return directory
    from huggingface_hub import snapshot_download

    try:
        found = snapshot_download(
            place.name, revision=place.revision, allow_patterns=[*TOKENIZER_FILES], local_files_only=place.local
        )
    except Exception as error:  # the hub's client raises many types
        raise unreadable(source, kind, shipped, error) from error
    return Path(found)


def _transformer(directory: Path) -> Path:
    """Return the folder of a sentence encoder's transformer, that of its first module; else the directory itself."""
    if not (directory / "modules.json").is_file():
        return directory
    modules = json.loads((directory / "modules.json").read_bytes())
    return directory / (modules[0].get("path") or "") if modules else directory


def _rows(directory: Path) -> int | None:
    """Return the vocabulary size of the model's configuration; None if it names none."""
    if not (directory / "config.json").is_file():
        return None
    told = json.loads((directory / "config.json").read_bytes())
    inner = told.get("text_config")
    rows = told.get("vocab_size") or (inner.get("vocab_size") if isinstance(inner, dict) else None)
    return rows if isinstance(rows, int) else None


def _heights(directory: Path) -> set[int]:
    """Return the first dimensions of the local weights, from the headers of their files."""
    from safetensors import safe_open

    found = set()
    for path in directory.glob("*.safetensors"):
        with safe_open(path, framework="np") as file:
            found |= {shape[0] for name in file.keys() if (shape := file.get_slice(name).get_shape())}  # noqa: SIM118
    return found

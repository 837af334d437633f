"""Where a public model is read from: a local directory, the Hugging Face hub, or the hub's local cache.

The hub is queried before anything is read, with one request a process, because its own client retries for minutes
without a network. The response names a commit, which results depend on: other weights under an old name are another
model.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fedtext.system.errors import InputError, MissingFileError, UnreadableFileError, did_you_mean

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PATIENCE = 10.0  # seconds for the hub's answer
MAIN = "main"
BUNDLED = "bundled:"  # before the name of a language model that ships with the package
SHIPPED = f"{BUNDLED}generator"
TOKENIZER_FILES = ["*.json", "*.txt", "*.model", "*.jinja"]
LANGUAGE_MODELS = ("smollm2", SHIPPED, f"{BUNDLED}on_device")  # words that stand for models at hand
AT_HAND = {"encoder": ("offline",), "masked language model": ("none",)}  # and for other kinds
READ = [*TOKENIZER_FILES, "*.safetensors"]
TOKENIZER_SIGNS = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json")
CONFIGURATIONS = ("config.json", "sentence_bert_config.json")
LIMITS = ("max_seq_length", "max_position_embeddings", "n_positions")  # the first that is present holds
NOT_READ = ["onnx/*", "openvino/*", "original/*", "consolidated*"]  # the same weights again, for others


class Place(NamedTuple):
    """A directory or a Hugging Face id.

    Attributes:
        name: The directory, or `owner/name`.
        local: Whether it is read without the network.
        revision: Branch, tag or commit on the hub.
        commit: The commit that `revision` stands for, None for a directory.
    """

    name: str
    local: bool
    revision: str = MAIN
    commit: str | None = None

    @property
    def keywords(self) -> dict[str, Any]:
        """Keyword arguments of a tokenizer's `from_pretrained`, beside the name."""
        return {"revision": self.revision, "local_files_only": self.local}

    @property
    def model_keywords(self) -> dict[str, Any]:
        """Keyword arguments of a model's `from_pretrained`, beside the name."""
        return {**self.keywords, **self.adapter_keywords}

    @property
    def adapter_keywords(self) -> dict[str, Any]:
        """Keyword arguments for a model's adapter search, which would otherwise query the hub for half a minute."""
        return {"adapter_kwargs": {"local_files_only": self.local}}


_fetched: set[Place] = set()


def find_model(source: str, kind: str, shipped: str) -> Place:
    """Find the model of this `kind` (for messages) at `source`; `shipped` names what to use instead.

    An id may name its branch, tag or commit: `owner/name@revision`.

    Raises:
        OSError: It is no local directory, not on the hub, and not in the hub's cache.
    """
    path = Path(source).expanduser()
    if path.is_dir():
        return Place(str(path), local=True)
    if "/" not in source and (near := did_you_mean(source, AT_HAND.get(kind, LANGUAGE_MODELS), "")).startswith("did"):
        raise MissingFileError(f"{kind} '{source}' is not known: {near}", code="unknown-model-name", value=source)
    if source.startswith((".", "/", "~")):
        raise MissingFileError(
            f"{kind} '{source}' is not a directory here: give an existing one, a Hugging Face id (owner/name), "
            f"or {shipped}",
            code="no-model-directory",
            value=source,
        )
    try:
        name, _, revision = source.partition("@")
        place = _on_hub(name, revision or MAIN)
    except OSError as error:
        raise unreadable(source, kind, shipped, error) from error
    return place._replace(local=True) if place in _fetched else place


def fetch(source: str, kind: str, shipped: str) -> None:
    """Download a model of the hub into the hub's cache, so that later readers need no network.

    Nodes that read private data have none (fedtext.wiring.guard). Files that no reader here uses are not downloaded.

    Raises:
        OSError: It does not exist, or cannot be downloaded.
    """
    place = find_model(source, kind, shipped)
    if place.local:
        return
    from huggingface_hub import snapshot_download

    try:
        snapshot_download(place.name, revision=place.revision, allow_patterns=[*READ], ignore_patterns=[*NOT_READ])
    except Exception as error:  # the hub's client raises many types
        raise unreadable(source, kind, shipped, error) from error
    _fetched.add(place)


def fetch_tokenizer(source: str, kind: str, shipped: str) -> str:
    """Return a directory with the tokenizer of a model of the hub, without its weights; a local source as it is.

    Raises:
        OSError: It does not exist, or cannot be downloaded.
    """
    place = find_model(source, kind, shipped)
    if place.local:
        return source
    from huggingface_hub import snapshot_download

    try:
        return str(snapshot_download(place.name, revision=place.revision, allow_patterns=[*TOKENIZER_FILES]))
    except Exception as error:  # the hub's client raises many types
        raise unreadable(source, kind, shipped, error) from error


def model_identity(source: str, kind: str, shipped: str) -> Path | str:
    """Return what a result depends on: the directory's content, or the id and its commit.

    Raises as `find_model` does.
    """
    place = find_model(source, kind, shipped)
    return Path(place.name) if place.commit is None else f"{place.name}@{place.commit}"


def check_model_files(source: str, kind: str, shipped: str) -> None:
    """Raise an error, before any long work, if a model lacks its configuration or safetensors weights.

    Raises:
        OSError: It is neither local nor on the hub, or lacks a file that every model has.
    """
    place = find_model(source, kind, shipped)
    directory = Path(place.name)
    if not directory.is_dir():
        return
    configurations, weights = [*directory.rglob("config.json")], [*directory.rglob("*.safetensors")]
    if not configurations:
        raise unreadable(source, kind, shipped, MissingFileError("it has no config.json", code="no-config"))
    if not weights:
        raise unreadable(source, kind, shipped, MissingFileError("it has no weights in safetensors", code="no-weights"))
    for path, whole in [*((path, _is_json) for path in configurations), *((path, _is_whole) for path in weights)]:
        if not whole(path):
            damaged = InputError(
                f"{path.relative_to(directory)} is cut short or damaged; get it again",
                code="model-file-damaged",
                value=path.name,
            )
            raise unreadable(source, kind, shipped, damaged)


def context_of(source: str, kind: str, shipped: str) -> int | None:
    """Return the largest number of tokens that the model reads at once, from its configuration.

    A sentence encoder may have a lower limit than its transformer, in a file of its own.

    Returns:
        None if the configuration is not local or names no limit.
    """
    directory = Path(find_model(source, kind, shipped).name)
    limits: dict[str, Any] = {}
    for name in CONFIGURATIONS:
        if (directory / name).is_file():
            limits |= json.loads((directory / name).read_bytes())
    return next((limits[name] for name in LIMITS if limits.get(name)), None)


def check_tokenizer_files(source: str, kind: str, shipped: str) -> None:
    """Raise an error, before any long work, if a directory has no tokenizer.

    Raises:
        OSError: It is neither local nor on the hub, or lacks a file that every tokenizer has.
    """
    directory = Path(find_model(source, kind, shipped).name)
    if directory.is_dir() and not any((directory / name).is_file() for name in TOKENIZER_SIGNS):
        raise unreadable(
            source, kind, shipped, MissingFileError(f"it has none of {', '.join(TOKENIZER_SIGNS)}", code="no-tokenizer")
        )


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return False
    return True


def _is_whole(path: Path) -> bool:
    """Return whether the file is as long as its header says; only the header is read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np"):
            return True
    except SafetensorError:
        return False


def check_weights(model: PreTrainedModel, named: str, remedy: str) -> None:
    """Raise `ValueError` if a weight is NaN or infinite: such a model writes one token for ever."""
    broken = next((name for name, weight in model.named_parameters() if not bool(weight.isfinite().all())), None)
    if broken is not None:
        raise InputError(
            f"{named} has weights that are NaN or infinite, {broken} first: {remedy}",
            code="weights-not-finite",
            value=broken,
        )


def unreadable(source: str, kind: str, shipped: str, error: Exception) -> OSError:
    """Return one error for any error that a library raises while it reads a model."""
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return UnreadableFileError(
        f"{kind} '{source}' cannot be read: {reason.rstrip('.')}. Check the name and the network, or give {shipped} "
        "or a local directory with its configuration, tokenizer and model.safetensors (pickled weights are refused)",
        code="model-unreadable",
        value=source,
    )


@cache
def _on_hub(name: str, revision: str) -> Place:
    """Return the model at the commit that the hub names, or at the cached one if the hub does not respond."""
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        commit = HfApi().model_info(name, revision=revision, timeout=PATIENCE).sha
    except (RepositoryNotFoundError, RevisionNotFoundError, HFValidationError) as error:
        raise UnreadableFileError(str(error), code="not-on-hub") from error
    except Exception as error:  # no network, offline mode, the hub is down: its client raises many types
        cached = try_to_load_from_cache(name, "config.json", revision=revision)
        if not isinstance(cached, str):
            raise UnreadableFileError(str(error), code="hub-unreachable") from error
        return Place(name, local=True, revision=revision, commit=Path(cached).parent.name)  # snapshots/<commit>/
    return Place(name, local=False, revision=revision, commit=commit)

"""Where a public model is read from: a local directory, the Hugging Face hub, or the hub's local cache.

The hub is queried before anything is read, with one request a process, because its own client retries for minutes
without a network. The response names a commit, which results depend on: other weights under an old name are another
model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fedtext.system.errors import FedtextError, InputError, MissingFileError, UnreadableFileError, did_you_mean

PATIENCE = 10.0  # seconds for the hub's answer
MAIN = "main"
BUNDLED = "bundled:"  # before the name of a language model that ships with the package
SHIPPED = f"{BUNDLED}generator"
TOKENIZER_FILES = ["*.json", "*.txt", "*.model", "*.jinja"]
LANGUAGE_MODELS = ("smollm2", SHIPPED, f"{BUNDLED}on_device")  # words that stand for models at hand
AT_HAND = {"encoder": ("offline",), "masked language model": ("none",)}  # and for other kinds
READ = [*TOKENIZER_FILES, "*.safetensors"]
TOKENIZER_SIGNS = (
    *("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json"),
    *("vocab.txt", "spiece.model", "sentencepiece.bpe.model"),  # of older ones
)
CONFIGURATIONS = ("config.json", "sentence_bert_config.json")
LIMITS = ("max_seq_length", "max_position_embeddings", "n_positions")  # the first that is present holds
INDEX = ".safetensors.index.json"  # how the file ends that says which file holds which tensor
JSON_FILES = (
    *("config.json", "generation_config.json", "modules.json", "sentence_bert_config.json"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
)
LISTS = ("modules.json",)  # all others hold an object
POINTER = b"version https://git-lfs.github.com/spec/"  # how the text begins that Git LFS puts in place of a file
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
        """Keyword arguments of a tokenizer's `from_pretrained`, beside the name.

        Unless told not to, the library offers to run the code that lies beside a model, and waits for an answer.
        """
        return {"revision": self.revision, "local_files_only": self.local, "trust_remote_code": False}

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
    _snapshot(place, source, kind, shipped)
    _fetched.add(place)


def files_of(source: str, kind: str, shipped: str) -> Path:
    """Return the directory with the files of a model; one of the hub is downloaded first.

    Raises:
        OSError: It does not exist, or cannot be downloaded.
    """
    fetch(source, kind, shipped)
    place = find_model(source, kind, shipped)
    directory = Path(place.name)
    return directory if directory.is_dir() else _snapshot(place, source, kind, shipped)


def _snapshot(place: Place, source: str, kind: str, shipped: str) -> Path:
    """Return the directory of the hub's cache with a model's files, downloaded unless the place is local."""
    from huggingface_hub import snapshot_download

    try:
        found = snapshot_download(
            place.name,
            revision=place.revision,
            allow_patterns=[*READ],
            ignore_patterns=[*NOT_READ],
            local_files_only=place.local,
        )
    except Exception as error:  # the hub's client raises many types
        raise unreadable(source, kind, shipped, error) from error
    return Path(found)


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
        OSError: It is neither local nor on the hub, lacks a file that every model has or that its index names, or has
            one that is cut short.
    """
    directory = Path(find_model(source, kind, shipped).name)
    if not directory.is_dir():
        return
    try:
        files, weights = _json_files(directory), weight_files(directory)
        _check_plain(directory, [*files, *weights])
        if not any(path.name == "config.json" for path in files):
            raise MissingFileError("it has no config.json", code="no-config")
        if not weights:
            raise MissingFileError("it has no weights in safetensors", code="no-weights")
        _check_files(directory, [*files, *weights])
        _check_shards(directory)
    except FedtextError as fault:
        raise unreadable(source, kind, shipped, fault) from fault


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
    return next((limit for name in LIMITS if isinstance(limit := limits.get(name), int) and limit > 0), None)


def check_tokenizer_files(source: str, kind: str, shipped: str) -> None:
    """Raise an error, before any long work, if a directory has no tokenizer.

    Raises:
        OSError: It is neither local nor on the hub, lacks a file that every tokenizer has, or has one that is cut
            short.
    """
    directory = Path(find_model(source, kind, shipped).name)
    if not directory.is_dir():
        return
    try:
        files = _json_files(directory)
        _check_plain(directory, files)
        if not any((directory / name).is_file() for name in TOKENIZER_SIGNS):
            raise MissingFileError(f"it has none of {', '.join(TOKENIZER_SIGNS)}", code="no-tokenizer")
        _check_files(directory, files)
    except FedtextError as fault:
        raise unreadable(source, kind, shipped, fault) from fault


def weight_files(directory: Path) -> list[Path]:
    """Return the files of a model's weights below its directory; those of other programs are left out."""
    names = sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*.safetensors"))
    return [directory / name for name in names if not any(fnmatch(name, one) for one in NOT_READ)]


def _json_files(directory: Path) -> list[Path]:
    return [path for path in sorted(directory.rglob("*.json")) if path.name in JSON_FILES or path.name.endswith(INDEX)]


def _check_plain(directory: Path, paths: Iterable[Path]) -> None:
    """Raise an error for what has the name of a file and is none; in the hub's cache, files are links to others."""
    for path in paths:
        if not path.is_file():
            name = str(path.relative_to(directory))
            raise MissingFileError(
                f"{name} is a folder, or a link to a file that is not there: copy the model with the files that its "
                "links name (cp -rL)",
                code="model-file-is-none",
                value=name,
            )


def _check_files(directory: Path, paths: Iterable[Path]) -> None:
    """Raise an error for a pointer in the place of a file, and for a file that is cut short."""
    for path in paths:
        name = str(path.relative_to(directory))
        with path.open("rb") as file:
            if file.read(len(POINTER)) == POINTER:
                raise InputError(
                    f"{name} is a pointer of Git LFS and not the file: get it by `git lfs pull` in its repository",
                    code="model-file-is-pointer",
                    value=name,
                )
        if not (_is_whole if path.suffix == ".safetensors" else _is_json)(path):
            raise _damaged(name)


def _damaged(name: str) -> InputError:
    return InputError(f"{name} is cut short or damaged; get it again", code="model-file-damaged", value=name)


def _check_shards(directory: Path) -> None:
    """Raise an error if a file is missing that the index of the weights names, as after a download that broke off."""
    for index in directory.rglob(f"*{INDEX}"):
        named = json.loads(index.read_bytes()).get("weight_map") or {}
        if not isinstance(named, dict) or not all(isinstance(name, str) for name in named.values()):
            raise _damaged(str(index.relative_to(directory)))
        if missing := sorted(name for name in set(named.values()) if not (index.parent / name).is_file()):
            raise MissingFileError(
                f"{len(missing)} files are missing that {index.name} names, {missing[0]} first; get them",
                code="shards-missing",
                value=missing,
            )


def _is_json(path: Path) -> bool:
    """Return whether the file holds the JSON that its name tells; the library reads no other encoding than UTF-8."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        if path.name in LISTS:
            return isinstance(held, list) and all(isinstance(one, dict) for one in held)
        return isinstance(held, dict)
    except (ValueError, RecursionError):
        return False


def _is_whole(path: Path) -> bool:
    """Return whether the file is as long as its header says; only the header is read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np"):
            return True
    except SafetensorError:
        return False


def unreadable(source: str, kind: str, shipped: str, error: Exception) -> OSError:
    """Return one error for any error that a library raises while it reads a model."""
    return UnreadableFileError(
        f"{kind} '{source}' cannot be read: {_reason(error)}. Check the name and the network, or give {shipped} "
        "or a local directory with its configuration, tokenizer and model.safetensors (pickled weights are refused)",
        code="model-unreadable",
        value=source,
    )


def _reason(error: Exception) -> str:
    """Return the first line of an error, with the next where it ends in a colon, as the library's checks have it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return (" ".join(lines[:2]) if lines[0].endswith(":") else lines[0]).rstrip(".,")


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

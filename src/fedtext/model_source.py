"""Where a public model is read from: a local directory, the Hugging Face hub, or the hub's local cache.

Asked before anything is read, with one request, because the hub's own client retries for minutes without a network.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PATIENCE = 10.0  # seconds for the hub's answer


class Place(NamedTuple):
    """A directory or a Hugging Face id, and whether it is read without the network."""

    name: str
    local: bool


def find_model(source: str, kind: str, shipped: str) -> Place:
    """Place of the `kind` of model (for messages) at `source`; `shipped` names what to use instead.

    Raises:
        OSError: It is neither a directory here, nor on the hub, nor in the hub's cache.
    """
    path = Path(source).expanduser()
    if path.is_dir():
        return Place(str(path), local=True)
    if source.startswith((".", "/", "~")):
        raise FileNotFoundError(
            f"{kind} '{source}' is not a directory here: give an existing one, a Hugging Face id (owner/name), "
            f"or {shipped}"
        )
    return Place(source, local=not _is_on_hub(source, kind, shipped))


def check_model_files(source: str, kind: str, shipped: str) -> None:
    """Refuses, before any long work, a model whose configuration or safetensors weights are not there.

    Raises:
        OSError: It is neither here nor on the hub, or lacks a file that every model has.
    """
    place = find_model(source, kind, shipped)
    directory = Path(place.name)
    if not directory.is_dir():
        return
    if not any(directory.rglob("config.json")):
        raise unreadable(source, kind, shipped, FileNotFoundError("it has no config.json"))
    if not any(directory.rglob("*.safetensors")):
        raise unreadable(source, kind, shipped, FileNotFoundError("it has no weights in safetensors"))


def check_weights(model: PreTrainedModel, named: str, remedy: str) -> None:
    """`ValueError` where a weight is NaN or infinite: such a model runs to the end, and writes one token for ever."""
    broken = next((name for name, weight in model.named_parameters() if not bool(weight.isfinite().all())), None)
    if broken is not None:
        raise ValueError(f"{named} has weights that are NaN or infinite, {broken} first: {remedy}")


def unreadable(source: str, kind: str, shipped: str, error: Exception) -> OSError:
    """One error for whatever a library raises while it reads a model."""
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return OSError(
        f"{kind} '{source}' cannot be read: {reason.rstrip('.')}. Check the name and the network, or give {shipped} "
        "or a local directory with its configuration, tokenizer and model.safetensors (pickled weights are refused)"
    )


def _is_on_hub(source: str, kind: str, shipped: str) -> bool:
    """Whether the hub answers for `source`; False if it does not answer but its cache has the model."""
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    try:
        HfApi().model_info(source, timeout=PATIENCE)
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise unreadable(source, kind, shipped, error) from error
    except Exception as error:  # no network, offline mode, the hub is down: its client raises many types
        if not isinstance(try_to_load_from_cache(source, "config.json"), str):
            raise unreadable(source, kind, shipped, error) from error
        return False
    return True

"""Whether a model's weights can be used, as far as can be known before anything is computed with them.

Which tensors a file holds stands in its header, so a missing one is found without reading the weights. A weight that is
NaN or infinite is found by reading them all, about as fast as the disk does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedtext.models.source import unreadable, weight_files
from fedtext.system.errors import InputError
from fedtext.system.progress import without_library_bars, without_library_warnings

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")  # of a layer, in a tensor's name
NARROW = 2  # bytes: weights of fewer are quantised, and none of them is NaN by training


def check_weights(model: PreTrainedModel, named: str, remedy: str) -> None:
    """Raise `ValueError` if a weight is NaN or infinite: such a model writes one token for ever."""
    broken = next((name for name, weight in model.named_parameters() if not bool(weight.isfinite().all())), None)
    if broken is not None:
        raise _not_finite(named, broken, remedy)


def check_saved_weights(directory: Path, named: str, remedy: str) -> None:
    """Raise `ValueError` if a weight in the files of a model is NaN or infinite; one tensor is in memory at a time."""
    from safetensors import safe_open

    for path in weight_files(directory):
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118
                if not _is_finite(file.get_tensor(name)):
                    raise _not_finite(named, name, remedy)


def check_tensors(directory: Path, model_class: str, source: str, kind: str, shipped: str) -> None:
    """Raise an error if the files in a directory lack a tensor of the model, or have one of another shape.

    The library itself compares them, for it renames some as it loads them; nothing is read but headers.

    Args:
        directory: The model's files.
        model_class: The class of transformers that loads it, as `AutoModelForCausalLM`.
        source: The model's name, for messages.
        kind: Kind of model, for messages.
        shipped: What to use instead, for messages.

    Raises:
        OSError: A tensor is missing or of another shape, or the library cannot read the configuration.
    """
    import transformers

    try:
        with without_library_bars(), without_library_warnings():
            model, loading = getattr(transformers, model_class).from_pretrained(
                str(directory),
                device_map="meta",
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
        check_complete(loading)
        _check_no_more_layers(loading, model.state_dict())
    except Exception as error:  # the library raises a RuntimeError for shapes, and KeyErrors for configurations
        raise unreadable(source, kind, shipped, error) from error


def check_complete(loading: Mapping[str, Any]) -> None:
    """Raise `ValueError` if a tensor is missing, by what the library says of a model that it loaded."""
    if missing := sorted(loading["missing_keys"]):
        raise InputError(
            f"{len(missing)} tensors are missing, {missing[0]} first", code="tensors-missing", value=missing
        )


def _check_no_more_layers(loading: Mapping[str, Any], built: Iterable[str]) -> None:
    """Raise `ValueError` if the files have layers that the model lacks; tensors of other kinds are left to others.

    Without its last layers a model loads, and writes noise.
    """
    alike = {NUMBER.sub("", name) for name in built}
    if more := sorted(name for name in loading["unexpected_keys"] if NUMBER.sub("", name) in alike):
        raise InputError(
            f"its weights have {len(more)} tensors of layers that its config.json does not count, {more[0]} first",
            code="layers-not-counted",
            value=more,
        )


def _is_finite(weights: Tensor) -> bool:
    """Return whether all numbers are finite: the least and the largest are, and a NaN would be both."""
    if not weights.is_floating_point() or weights.element_size() < NARROW or not weights.numel():
        return True
    return all(bool(end.isfinite()) for end in weights.aminmax())


def _not_finite(named: str, first: str, remedy: str) -> InputError:
    return InputError(
        f"{named} has weights that are NaN or infinite, {first} first: {remedy}",
        code="weights-not-finite",
        value=first,
    )

"""What a Kedro dataset holds, as seen from outside: where its content lies and which settings shape it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, AbstractVersionedDataset, DatasetError

NOT_SHAPING = {"filepath", "path", "metadata", "credentials", "version", "dataset", "self", "type", "args", "kwargs"}


def content(dataset: AbstractDataset[Any, Any]) -> Path | str | None:
    """Where a dataset's content lies, a name that stands for it, or None if neither can be told."""
    inner = getattr(dataset, "_dataset", dataset)
    if callable(identity := getattr(inner, "identity", None)):
        found: Path | str = identity()
        return found
    if getattr(inner, "_protocol", "file") != "file":
        return None
    if isinstance(inner, AbstractVersionedDataset):
        try:
            return Path(inner._get_load_path())
        except DatasetError:
            return Path("/nonexistent")
    path = getattr(inner, "_filepath", None) or getattr(inner, "_path", None)
    return None if path is None else Path(path)


def settings(dataset: AbstractDataset[Any, Any]) -> dict[str, str]:
    """A dataset's catalog settings that shape its content: not where it lies, what it is called, or who may read it."""
    inner = getattr(dataset, "_dataset", dataset)
    if callable(shaping := getattr(inner, "shaping", None)):
        return {"type": _class_name(inner), **shaping()}
    arguments = {**(given := getattr(inner, "_init_args", {})), **given.get("kwargs", {})}  # kwargs: of a subclass
    given = {key: value for key, value in arguments.items() if key not in NOT_SHAPING}
    return {"type": _class_name(inner), **{k: v if isinstance(v, str) else repr(v) for k, v in given.items()}}


def model_name(dataset: AbstractDataset[Any, Any]) -> str | None:
    """How a public model is named where people read it; None of what is no model."""
    named: str | None = getattr(getattr(dataset, "_dataset", dataset), "model_name", None)
    return named


def _class_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"

"""Several generators in a pipeline: which ones the configuration names, and how a node takes them as inputs.

A node of which one parameter is `**generators: Generator` takes them all:

    node(write, {"prompts": "prompts", **generator_inputs()}, "texts")
    def write(prompts: pd.DataFrame, **generators: Generator) -> pd.DataFrame: ...
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.config import active_loader

PREFIX = "plm_"  # of the catalog entry of every one


def active_generators() -> tuple[str, ...]:
    """Return the names of the generators in `models.plms`, sorted; one whose source is null is left out.

    Raises:
        RunRefusedError: It is not a mapping, or a name is no word that can name an argument.
    """
    named = _sources("plms") or {}
    if not isinstance(named, dict) or not all(str(name).isidentifier() for name in named):
        raise RunRefusedError(
            f"models.plms is {named!r}: it names generators by words of letters, digits and _, each with its source"
        )
    return tuple(sorted(name for name, told in named.items() if told is not None))


def generator_describes() -> bool:
    """Return whether the run's one `generator` writes the public texts from a description."""
    return _sources("describer") in (None, _sources("generator"))


def _sources(role: str) -> Any:
    """Return the source of a role of `models`: the command line's, else the configuration's."""
    loader = active_loader()
    given: Any = (loader.runtime_params or {}).get("models") or {}
    return given.get(role) or loader["globals"]["models"][role]


def generator_inputs(names: Iterable[str] | None = None) -> dict[str, str]:
    """Return a node's inputs for the named generators: the catalog entry `plm_NAME` of each; None: of all."""
    return {name: f"{PREFIX}{name}" for name in (active_generators() if names is None else names)}


def all_generator_inputs() -> dict[str, str]:
    """Return the inputs as `generator_inputs` does, or the run's one `generator` if `models.plms` names none."""
    return generator_inputs() or {"generator": "generator"}

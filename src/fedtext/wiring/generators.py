"""Several generators in a pipeline: which the configuration names, and how a node asks for them.

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
    """Names of the generators in `models.plms`, in alphabetical order; one whose source is null is left out.

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
    """Whether public texts that a description asks for are written by the run's one `generator`."""
    return _sources("describer") in (None, _sources("generator"))


def _sources(role: str) -> Any:
    """What the command line, else the configuration, names for a role of `models`."""
    loader = active_loader()
    given: Any = (loader.runtime_params or {}).get("models") or {}
    return given.get(role) or loader["globals"]["models"][role]


def generator_inputs(names: Iterable[str] | None = None) -> dict[str, str]:
    """Inputs of a node by name of the generator: the catalog entry `plm_NAME` of each; None: of all that are named."""
    return {name: f"{PREFIX}{name}" for name in (active_generators() if names is None else names)}


def all_generator_inputs() -> dict[str, str]:
    """As `generator_inputs`; the one `generator` of the run where `models.plms` names none."""
    return generator_inputs() or {"generator": "generator"}

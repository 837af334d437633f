"""Provenance of a result: the values of parameters and the public models that its makers read.

A record passes it from node to node, so that a report describes the nodes that made its inputs, in whichever run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from fedtext.resuming.fingerprint import canonical


class MadeWith(BaseModel):
    """Values by name; a name has several if parts of a result were made at different ones.

    Attributes:
        parameters: By dotted name.
        models: How each public model is named, by the name of its data set.
        unrecorded: Data sets that a node has made and no record tells how.
    """

    model_config = ConfigDict(frozen=True)

    parameters: dict[str, tuple[Any, ...]] = {}
    models: dict[str, tuple[str, ...]] = {}
    unrecorded: tuple[str, ...] = ()

    @classmethod
    def of_parameter(cls, name: str, value: Any) -> Self:
        """Return the provenance of a node's parameter input, such as `params:popri`, and the value it read."""
        plain = json.loads(canonical(value))
        leaves = _leaves(plain, "" if name == "parameters" else name.removeprefix("params:"))
        return cls(parameters={leaf: (found,) for leaf, found in leaves})

    @classmethod
    def together(cls, parts: Iterable[MadeWith]) -> Self:
        """Return the union of the parts' provenance."""
        parameters: dict[str, tuple[Any, ...]] = {}
        models: dict[str, tuple[str, ...]] = {}
        unrecorded: set[str] = set()
        for part in parts:
            _enter(parameters, part.parameters)
            _enter(models, part.models)
            unrecorded.update(part.unrecorded)
        return cls(
            parameters=dict(sorted(parameters.items())),
            models=dict(sorted(models.items())),
            unrecorded=tuple(sorted(unrecorded)),
        )

    def contradicted_by(self, other: MadeWith) -> dict[str, tuple[Any, ...]]:
        """Return the parameters that `other` read at another value, with the values here."""
        here = self.parameters.items()
        return {name: values for name, values in here if name in other.parameters and other.parameters[name] != values}


def _enter(known: dict[str, tuple[Any, ...]], found: Mapping[str, tuple[Any, ...]]) -> None:
    for name, values in found.items():
        had = known.get(name, ())
        known[name] = had + tuple(value for value in values if value not in had)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield values by dotted names, without the name of a model that `narrowed` keeps."""
    if not isinstance(value, Mapping):
        yield name, value
        return
    for key, inside in value.items():
        if key:
            yield from _leaves(inside, f"{name}.{key}" if name else str(key))

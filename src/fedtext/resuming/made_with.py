"""What a result was made from: the values of parameters and the public models that its makers read.

A record carries this from node to node, so that a report tells of what made its inputs, whoever runs the report.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from fedtext.resuming.fingerprint import canonical


class MadeWith(BaseModel):
    """Values by name; a name has several where parts of one result were made at different ones.

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
        """Of a node's input, as `params:popri` or `parameters`, and what it read of its value."""
        plain = json.loads(canonical(value))
        leaves = _leaves(plain, "" if name == "parameters" else name.removeprefix("params:"))
        return cls(parameters={leaf: (found,) for leaf, found in leaves})

    @classmethod
    def together(cls, parts: Iterable[MadeWith]) -> Self:
        """What all of the parts were made from."""
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
        """Parameters that `other` has read at another value: theirs here."""
        here = self.parameters.items()
        return {name: values for name, values in here if name in other.parameters and other.parameters[name] != values}


def _enter(known: dict[str, tuple[Any, ...]], found: Mapping[str, tuple[Any, ...]]) -> None:
    for name, values in found.items():
        had = known.get(name, ())
        known[name] = had + tuple(value for value in values if value not in had)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Values by dotted names; the name of a model, which `narrowed` leaves, is none."""
    if not isinstance(value, Mapping):
        yield name, value
        return
    for key, inside in value.items():
        if key:
            yield from _leaves(inside, f"{name}.{key}" if name else str(key))

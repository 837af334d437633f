"""Questions as data: what every unit is asked to send, in public parameters and arrays.

A question is a typed value. Whoever holds the units' samples computes what they send (`Question.blocks`): this process,
a worker of the engine, or a silo's own process (fedtext.silo). So a silo knows everything that it can be asked, and no
code travels.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict, ValidationError

from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import Block
from fedtext.system.errors import InputError

SHOWN = 100  # characters of a word that somebody else chose


class Asked(BaseModel, ABC):
    """Base of all that a holder of samples can be asked: its fields are public parameters and arrays."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    @property
    def classes(self) -> Sequence[str]:
        """The declared classes that samples are told apart by; empty: all are of one."""
        return ()


class Question(Asked):
    """Base of all questions: what each unit is asked to send."""

    def seen(
        self, texts: Sequence[str], embeddings: Float[np.ndarray, "sample dim"]
    ) -> Float[np.ndarray, "sample seen"]:
        """Return what the question looks at in each sample: its embedding, or more."""
        return embeddings

    @abstractmethod
    def blocks(self, held: PrivateSamples) -> Iterable[Block]:
        """Compute what each unit that holds samples contributes, unclipped, at most one row a unit."""


def classes_name(classes: Sequence[str]) -> str:
    """Return a digest of the declared classes, which names a sum's noise.

    Where another run declares another class, equal bytes would say for certain that nobody holds a sample of either.
    """
    return hashlib.sha256(json.dumps([*classes]).encode()).hexdigest()


def question_parts(question: Asked) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the question's parameters, as JSON has them, and its arrays."""
    values = {name: getattr(question, name) for name in type(question).model_fields}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    return question.model_dump(mode="json", exclude=set(arrays)), arrays


def read_question(
    kind: str, fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray], known: Iterable[type[Asked]]
) -> Asked:
    """Return the question of a known class, made of its parameters and arrays.

    Raises:
        ValueError: it is of another class, or its fields are not of that class.
    """
    kinds = {kind_of(one): one for one in known}
    if (found := kinds.get(kind)) is None:
        raise InputError(
            f"a question of the kind {kind[:SHOWN]!r} is none of the {len(kinds)} that are answered here: ask one of "
            "those, or install the same version of fedtext at both ends",
            code="unknown-question",
            value=kind[:SHOWN],
        )
    try:
        return found.model_validate({**fields, **arrays})
    except ValidationError as error:
        raise InputError(
            f"a question of the kind {kind} has {error.error_count()} faulty fields: install the same version of "
            "fedtext at both ends",
            code="faulty-question",
            value=kind,
        ) from None


def kind_of(question: type[Asked]) -> str:
    """Return the name of a class of questions: where it is defined, so that no two have one name."""
    return f"{question.__module__}.{question.__qualname__}"

"""Frozen, typed parameters, one file a subject: every value of a run is public and validated before a node runs.

A model defines the meaning of a field and its allowed values, and no default: conf/base has the value of every field.
"""

from __future__ import annotations

import datetime
import re
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from fedtext.params import reading
from fedtext.system.errors import InputError

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?!\d).*", re.ASCII)


class Parameters(BaseModel):
    """Base of every parameter model: immutable; unknown keys, missing keys and infinities are errors.

    So are a `true` for a number, which would be 1, and a number for a date, which would be a day of 1970.

    A field for which infinity has a meaning allows it (`allow_inf_nan`). Reading a field is recorded
    (fedtext.params.reading): a field that was not read cannot have changed a result.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _is_of_its_kind(cls, value: object, field: ValidationInfo) -> object:
        kinds = _kinds(cls.model_fields[str(field.field_name)].annotation)
        if isinstance(value, bool) and kinds & {int, float} and bool not in kinds:
            raise PydanticCustomError("no_number", "give a number")
        a_date = isinstance(value, datetime.date) or (isinstance(value, str) and _DATE.fullmatch(value.strip()))
        if datetime.date in kinds and value is not None and not a_date:
            raise PydanticCustomError("no_date", "give a date, as 2024-06-30")
        return value

    if not TYPE_CHECKING:  # to mypy it would mean that every name is an attribute

        def __getattribute__(self, name: str) -> Any:
            reading.note(type(self), name)
            return super().__getattribute__(name)


def _kinds(annotation: Any) -> set[Any]:
    """Return the types of a field: those of a union, without what is annotated to them."""
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return {get_args(one)[0] if get_origin(one) is Annotated else one for one in parts}


Seed = Annotated[int, Field(ge=0, lt=2**32)]  # NumPy's old generators, which libraries draw from, take no more
Value = TypeVar("Value")
LearningRate = Annotated[float, Field(gt=0, le=10)]  # above it any training here diverges


def each_once(values: tuple[Value, ...], name: str) -> tuple[Value, ...]:
    """Return the values, or raise ValueError if the parameter `name` has one twice."""
    if twice := [value for value in dict.fromkeys(values) if values.count(value) > 1]:
        raise InputError(
            f"{name} has {' and '.join(map(repr, twice))} twice: name each once",
            code="named-twice",
            parameter=name,
            value=list(twice),
        )
    return values


def words(value: object) -> object:
    """Return a list as the command line gives it: words with spaces or commas between them; empty after `name=`.

    A single word that is a number arrives as one, nothing as None.
    """
    if value is None:
        return ()
    return tuple(str(value).replace(",", " ").split()) if isinstance(value, str | int | float) else value

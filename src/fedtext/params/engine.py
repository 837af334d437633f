"""Where the pieces of a run are computed, which no result depends on."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fedtext.params import Parameters
from fedtext.system.errors import InputError


class EngineParameters(Parameters):
    """The engine (fedtext.system.engine): its name, how many workers it has, and where a Ray cluster is.

    No node is given these parameters, so none is in a fingerprint: a resumed run may have another engine.
    """

    name: Literal["in_process", "processes", "ray"]
    workers: int | None = Field(ge=1)
    address: str | None

    @model_validator(mode="after")
    def _address_is_of_a_cluster(self) -> Self:
        if self.address is not None and self.name != "ray":
            raise InputError(
                f"engine.address is {self.address!r} and engine.name {self.name}: an address is of a Ray cluster, set "
                "engine.name=ray or leave the address out",
                code="address-without-ray",
                parameter="engine.address",
                value=self.address,
            )
        return self

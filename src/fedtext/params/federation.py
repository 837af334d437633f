"""Who answers questions about the private text: this process, or silos in processes of their own."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fedtext.params import Parameters
from fedtext.system.errors import InputError


class FederationParameters(Parameters):
    """The federation: `simulated` in this process, or `flower`, as many `silos` as a SuperLink connects."""

    engine: Literal["simulated", "flower"]
    silos: int | None = Field(ge=1)

    @model_validator(mode="after")
    def _silos_are_counted_beforehand(self) -> Self:
        if (self.silos is None) == (self.engine == "flower"):
            raise InputError(
                f"federation.silos is {self.silos} and federation.engine {self.engine}: with federation.engine=flower "
                "say how many silos take part, and else leave it out",
                code="silos-not-counted",
                parameter="federation.silos",
                value=self.silos,
            )
        return self

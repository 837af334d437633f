"""Who answers questions about the private text: this process, or silos in processes of their own."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fedtext.params import Parameters
from fedtext.system.errors import InputError


class FederationParameters(Parameters):
    """The federation: `simulated` in this process, or `flower`, silos that a SuperLink connects.

    `flwr` is Flower's command line, which lies in an environment of its own. No result depends on the way to the silos,
    so it may be another in a resumed run.
    """

    engine: Literal["simulated", "flower"]
    superlink: str | None
    silos: int | None = Field(ge=1)
    flwr: str
    root_certificates: str | None
    patience: float = Field(gt=0)

    @model_validator(mode="after")
    def _flower_is_told_where(self) -> Self:
        for name in ("superlink", "silos"):
            if (getattr(self, name) is None) == (self.engine == "flower"):
                what = "is not set" if self.engine == "flower" else f"is {getattr(self, name)!r}"
                raise InputError(
                    f"federation.{name} {what}, and federation.engine is {self.engine}: the SuperLink's address and "
                    "the number of silos belong to federation.engine=flower, and to it alone",
                    code="federation-half-declared",
                    parameter=f"federation.{name}",
                    value=getattr(self, name),
                )
        return self

"""Who answers questions about the private text: this process, or silos in processes of their own."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fedtext.params import Parameters
from fedtext.system.errors import InputError


class FederationParameters(Parameters):
    """The federation: `simulated` in this process, or `flower`, as many `silos` as a SuperLink connects.

    The other fields are the way to it: its address, Flower's command line (which lies in an environment of its own),
    the certificate of its authority, and the seconds to wait for silos. `session` tells apart two secure sums of one
    query.
    """

    engine: Literal["simulated", "flower"]
    silos: int | None = Field(ge=1)
    superlink: str | None
    flwr: str
    root_certificates: str | None
    patience: float = Field(gt=0)
    session: int = Field(ge=0)

    @model_validator(mode="after")
    def _silos_are_counted_and_reached(self) -> Self:
        for name, value in (("silos", self.silos), ("superlink", self.superlink)):
            if (value is None) == (self.engine == "flower"):
                raise InputError(
                    f"federation.{name} is {value} and federation.engine {self.engine}: with federation.engine=flower "
                    "say how many silos take part and where the SuperLink is, and else leave both out",
                    code="federation-half-declared",
                    parameter=f"federation.{name}",
                    value=value,
                )
        return self

"""Communication cost: what one client exchanges with the server, and both sides' seconds, as in POPri's Table 2."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

DOWN_BYTES = 4  # an embedding coordinate or a model weight, float32
UP_BYTES = 8  # a coordinate of the secure sum, an integer modulo 2^64


class Exchange(BaseModel):
    """The floats that a client downloads and uploads each time that it is queried.

    `exchanges` is how often a client is queried in the whole run, a mean where clients are sampled; `variant` names the
    algorithm's variant.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    down_floats: int
    up_floats: int
    exchanges: float
    variant: str = ""


class Cost(BaseModel):
    """One row of the table: floats and client seconds per client and exchange, server seconds per round.

    None means not measured. `algorithm` is the title of the algorithm that was run, empty in a published row.
    `exchanges` is how often a client is queried in the whole run, a mean where clients are sampled. `hardware` names
    the machine on which the seconds were measured.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str
    algorithm: str = ""
    down_floats: int
    up_floats: int
    exchanges: float
    client_seconds: float | None = None
    server_seconds: float | None = None
    hardware: str = "this machine"

    @classmethod
    def of(cls, title: str, exchange: Exchange) -> Cost:
        """Return the row of an algorithm that was run, by its title."""
        method = f"{title}, {exchange.variant}" if exchange.variant else title
        return cls(method=method, algorithm=title, **exchange.model_dump(exclude={"variant"}))

    @property
    def down_bytes(self) -> int:
        """Bytes a client downloads in the whole run, a mean over clients."""
        return round(self.down_floats * self.exchanges * DOWN_BYTES)

    @property
    def up_bytes(self) -> int:
        """Bytes a client uploads in the whole run, a mean over clients."""
        return round(self.up_floats * self.exchanges * UP_BYTES)

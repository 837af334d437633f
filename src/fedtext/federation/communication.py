"""What one client exchanges with the server, and the seconds both sides take: a row of POPri's Table 2."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

DOWN_BYTES = 4  # an embedding coordinate or a model weight, float32
UP_BYTES = 8  # a coordinate of the secure sum, an integer modulo 2^64


class Cost(BaseModel):
    """One row. Floats and client seconds are per client and exchange, server seconds per round; None is not measured.

    `exchanges` is how often a client is asked in the whole run, a mean where it is drawn; `hardware` says what the
    seconds were measured on.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str
    down_floats: int
    up_floats: int
    exchanges: float
    client_seconds: float | None = None
    server_seconds: float | None = None
    hardware: str = "this machine"

    @property
    def down_bytes(self) -> int:
        """Bytes a client downloads in the whole run, a mean over clients."""
        return round(self.down_floats * self.exchanges * DOWN_BYTES)

    @property
    def up_bytes(self) -> int:
        """Bytes a client uploads in the whole run, a mean over clients."""
        return round(self.up_floats * self.exchanges * UP_BYTES)

"""Communication and computation in the form of POPri's Table 2: per round, and per client for all but the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from fedtext.params.popri import Popri

if TYPE_CHECKING:
    import pandas as pd

DOWN_BYTES = 4  # an embedding coordinate, float32
UP_BYTES = 8  # a coordinate of the secure sum, an integer modulo 2^64


class Cost(BaseModel):
    """One row. Floats and client seconds are per client and exchange, server seconds per round; None is not measured.

    `exchanges` is how often a client is asked in the whole run; `hardware` says what the seconds were measured on.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str
    down_floats: int
    up_floats: int
    exchanges: int
    client_seconds: float | None = None
    server_seconds: float | None = None
    hardware: str

    @property
    def down_bytes(self) -> int:
        """Bytes a client downloads in the whole run."""
        return self.down_floats * self.exchanges * DOWN_BYTES

    @property
    def up_bytes(self) -> int:
        """Bytes a client uploads in the whole run."""
        return self.up_floats * self.exchanges * UP_BYTES


# "Communication and computation cost comparison per round ... on the bioRxiv dataset with 1000 clients sampled per
# round" (ICML Table 2; FedAvg's server runtime is "negligible compared to other methods"; T = 20, App. B.1).
_GPU = "GPU seconds, ICML Table 2"
PUBLISHED = (
    Cost(
        method="FedAvg (published)",
        down_floats=82_000_000,
        up_floats=82_000_000,
        exchanges=20,
        client_seconds=4.8,
        hardware=_GPU,
    ),
    Cost(
        method="Private Evolution (published)",
        down_floats=700_000,
        up_floats=1_800,
        exchanges=20,
        client_seconds=0.0027,
        server_seconds=326.25,
        hardware=_GPU,
    ),
    Cost(
        method="POPri (published)",
        down_floats=7_000_000,
        up_floats=18_000,
        exchanges=20,
        client_seconds=0.01,
        server_seconds=13_547.84,
        hardware=_GPU,
    ),
)


def popri_cost(
    popri: Popri,
    *,
    embedding_dim: int,
    client_seconds: float | None = None,
    server_seconds: float | None = None,
    hardware: str = "this machine",
) -> Cost:
    """What one client exchanges under `popri.scoring`.

    A scoring that ballots every round sends all K x J candidates' embeddings down and one score each up. A single
    release sends nothing down, for encoder and feature seed are public and ahead of the run, and the mean features up,
    once; with classes, a block and one count coordinate for each.
    """
    if popri.single_release:
        features = popri.random_features if popri.scoring == "witness_rff" else embedding_dim
        classes = len(popri.classes)
        down, up = 0, classes * (features + 1) if popri.labels else features
    else:
        candidates = popri.prompts * popri.responses
        down, up = candidates * embedding_dim, candidates
    return Cost(
        method=f"POPri, {popri.scoring} (this run)",
        down_floats=down,
        up_floats=up,
        exchanges=popri.releases,
        client_seconds=client_seconds,
        server_seconds=server_seconds,
        hardware=hardware,
    )


def cost_table(rows: Sequence[Cost], published: Sequence[Cost] = PUBLISHED) -> pd.DataFrame:
    """Rows of this run above the published ones, a column for each of Table 2 and the bytes of the whole run."""
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "method": row.method,
                "down_floats": row.down_floats,
                "up_floats": row.up_floats,
                "exchanges": row.exchanges,
                "down_bytes": row.down_bytes,
                "up_bytes": row.up_bytes,
                "client_seconds": row.client_seconds,
                "server_seconds": row.server_seconds,
                "hardware": row.hardware,
            }
            for row in (*rows, *published)
        ]
    )

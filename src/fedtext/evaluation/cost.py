"""Communication and computation in the form of POPri's Table 2: per round, and per client for all but the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedtext.federation.communication import Cost

if TYPE_CHECKING:
    import pandas as pd

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

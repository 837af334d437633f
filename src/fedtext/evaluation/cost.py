"""Communication and computation cost in the layout of POPri's Table 2: per round, per client and for the server."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fedtext.federation.communication import Cost

ROUND = re.compile(r"round_\d+")
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


def cost_rows(rows: Sequence[Cost], published: Sequence[Cost] = PUBLISHED) -> list[dict[str, Any]]:
    """Return the rows of this run above the published ones, with the bytes of the whole run."""
    return [{**row.model_dump(), "down_bytes": row.down_bytes, "up_bytes": row.up_bytes} for row in (*rows, *published)]


def with_seconds(cost: Cost, *, units: int, clients: Mapping[str, float], server: Mapping[str, float]) -> Cost:
    """Add the measured seconds of a run's nodes: one client's for an exchange, the server's for a round.

    Args:
        cost: The cost of what one client exchanges.
        units: Clients of the run; a simulation computes them one after another.
        clients: Seconds by name of the nodes that compute client messages.
        server: Seconds by name of the algorithm's other nodes; nodes of a round have `round_03` in their name.
    """
    exchanged = (
        units * cost.exchanges
    )  # none where a control reads no private text, whatever the data root's history has
    rounds = len({found[0] for name in (*clients, *server) if (found := ROUND.search(name))})
    return cost.model_copy(
        update={
            "client_seconds": sum(clients.values()) / exchanged if clients and exchanged else None,
            "server_seconds": sum(server.values()) / max(rounds, 1) if server else None,
        }
    )

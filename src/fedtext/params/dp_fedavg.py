"""DP-FedAvg's parameters; the paper's values and words stand in conf/paper/parameters/dp_fedavg.yml."""

from __future__ import annotations

from pydantic import Field

from fedtext.params import Parameters, Seed
from fedtext.params.federated import LocalTraining, ServerOptimizer


class DpFedavg(Parameters):
    """One DP-FedAvg run: `rounds` releases of the sum of client updates, each clipped to the L2 norm `clip_norm`."""

    rounds: int = Field(ge=1)
    clip_norm: float = Field(gt=0)
    local: LocalTraining
    server: ServerOptimizer
    seed: Seed

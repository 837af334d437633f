"""How clients train an on-device model and a server updates its weights: DP-FedAvg and DP-FTRL.

The papers' values and words are in conf/paper/parameters/dp_fedavg.yml and dp_ftrl.yml.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fedtext.params import LearningRate, Parameters, Seed
from fedtext.system.errors import InputError


class LocalTraining(Parameters):
    """A client's work in a round: `epochs` shuffled passes over its samples by plain SGD, `batch_size` a step.

    `clients_at_once` is the number of clients that are trained side by side, on a CPU by each core. It changes results
    in their last bits only (of bfloat16 where that is faster), and memory: about `16 x parameters + 16 x batch_size x
    tokens x vocabulary` bytes a client.
    """

    epochs: int = Field(ge=1)
    batch_size: int = Field(ge=1)
    learning_rate: LearningRate
    clients_at_once: int = Field(ge=1)


class ServerOptimizer(Parameters):
    """The server's step along the clients' mean update, taken as a negative gradient (Reddi et al., ICLR 2021).

    `sgd` at learning rate 1 adds the mean update: federated averaging itself. `momentum` keeps the share `decay` of
    earlier updates; `adam` divides by the root of their mean square (`square_decay`) plus `smallest_root`.
    """

    method: Literal["sgd", "momentum", "adam"]
    learning_rate: LearningRate
    decay: float = Field(ge=0, lt=1)
    square_decay: float = Field(ge=0, lt=1)
    smallest_root: float = Field(gt=0)


class DpFedavg(Parameters):
    """One DP-FedAvg run: `rounds` releases of the sum of client updates, each clipped to the L2 norm `clip_norm`."""

    rounds: int = Field(ge=1)
    clip_norm: float = Field(gt=0)
    local: LocalTraining
    server: ServerOptimizer
    seed: Seed


Noise = Literal["banded", "tree", "honaker_tree", "independent"]


class DpFtrl(Parameters):
    """One DP-FTRL run of the on-device model: `rounds` rounds, each client in every `separation`-th of them.

    `noise` is its correlation across rounds: the `banded` factorisation of least error, a `tree` with restarts every
    `restart` rounds, the same tree with Honaker's estimate, or `independent` as DP-FedAvg's. `bands` is the number of
    diagonals of the banded factor (null: as many as `separation` and `rounds` allow), one more than the sums that stay
    open. `server_learning_rate` multiplies the mean of the clients' clipped updates; `momentum` is the server's.
    """

    rounds: int = Field(ge=1)
    separation: int = Field(ge=1)
    noise: Noise
    bands: int | None = Field(ge=1)
    restart: int | None = Field(ge=1)
    clip_norm: float = Field(gt=0)
    server_learning_rate: LearningRate
    momentum: float = Field(ge=0, lt=1)
    local: LocalTraining
    seed: Seed

    @property
    def diagonals(self) -> int:
        """Number of bands of the banded factor."""
        return min(self.bands or self.rounds, self.separation, self.rounds)

    @model_validator(mode="after")
    def _options_fit_the_noise(self) -> Self:
        if self.bands is not None and (self.noise != "banded" or self.bands > min(self.separation, self.rounds)):
            raise InputError(
                f"dp_ftrl.bands is {self.bands} with noise {self.noise}, separation {self.separation} and "
                f"{self.rounds} rounds: bands belong to noise banded, up to the separation and the rounds; or set null",
                code="bands-do-not-fit-noise",
                parameter="dp_ftrl.bands",
                value=self.bands,
            )
        if self.restart is not None and self.noise not in ("tree", "honaker_tree"):
            raise InputError(
                f"dp_ftrl.restart is {self.restart} with noise {self.noise}: only trees restart; set null",
                code="restart-without-trees",
                parameter="dp_ftrl.restart",
                value=self.restart,
            )
        return self

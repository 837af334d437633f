"""How clients train an on-device model on their own text, and how a server moves the common weights."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fedtext.params import LearningRate, Parameters


class LocalTraining(Parameters):
    """What one client does in a round: `epochs` shuffled passes over its samples by plain SGD, `batch_size` a step.

    `clients_at_once` is the number of clients that are trained side by side, on a CPU by each core. It moves results in
    their last bits only (of bfloat16 where that pays), and memory: about
    `16 x parameters + 16 x batch_size x tokens x vocabulary` bytes a client.
    """

    epochs: int = Field(ge=1)
    batch_size: int = Field(ge=1)
    learning_rate: LearningRate
    clients_at_once: int = Field(ge=1)


class ServerOptimizer(Parameters):
    """What the server does with the clients' mean update, taken as a negative gradient (Reddi et al., ICLR 2021).

    `sgd` at learning rate 1 adds the mean update: federated averaging itself. `momentum` remembers `decay` of the
    updates before; `adam` divides by the root of their mean square (`square_decay`) plus `smallest_root`.
    """

    method: Literal["sgd", "momentum", "adam"]
    learning_rate: LearningRate
    decay: float = Field(ge=0, lt=1)
    square_decay: float = Field(ge=0, lt=1)
    smallest_root: float = Field(gt=0)

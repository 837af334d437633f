"""What a node has to compute with a model, as a value: a plan's seconds and bytes follow from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fedtext.params.training import Lora


class Kind(StrEnum):
    """What is done with a model."""

    WRITING = "writing"
    READING = "reading"
    TRAINING = "training"
    PRIVATE_TRAINING = "private training"  # a gradient for every unit


@dataclass(frozen=True)
class Work:
    """The work of a node, or of a part of it, with one model.

    Attributes:
        kind: What is done.
        tokens: Tokens that are written, read or trained on, all passes together.
        at_once: Rows that are computed side by side.
        row: Tokens of such a row.
        texts: Texts that are written.
        shown: Tokens of prompts, each computed once for all of its texts.
        shared: Texts that share a prompt.
        referred: Tokens that a reference model reads beside a training.
        devices: Devices of this kind that share the tokens; rows and memory are those of each.
        lora: The adapter that is trained; None: all weights, where something is trained.
        checkpointed: Whether activations are computed again in the backward pass.
        lower: The parameter that is the number of rows.
        checkpointing: The parameter that is `checkpointed`; empty: there is none.
        model: Name of the data set of the model; empty: the node's only one.
    """

    kind: Kind
    tokens: float
    at_once: int
    row: float
    texts: int = 0
    shown: float = 0.0
    shared: int = 1
    referred: float = 0.0
    devices: int = 1
    lora: Lora | None = None
    checkpointed: bool = False
    lower: str = ""
    checkpointing: str = ""
    model: str = ""

    @property
    def trains(self) -> bool:
        """Whether weights change."""
        return self.kind in (Kind.TRAINING, Kind.PRIVATE_TRAINING)

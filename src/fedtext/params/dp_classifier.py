"""Parameters of the classifier that is trained on the private text itself by DP-SGD."""

from __future__ import annotations

from fedtext.params import Parameters, Seed
from fedtext.params.training import DpDescent


class DpClassifier(Parameters):
    """A linear head on frozen embeddings of `models.classifier`; its classes are those of `task.labels`."""

    training: DpDescent
    seed: Seed

"""How texts are judged by a classifier that learns from them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fedtext.params import Parameters, Seed
from fedtext.params.task import Task
from fedtext.params.training import CausalTraining

Kind = Literal["tfidf", "embeddings", "fine_tuned"]


class ClassifierTraining(Parameters):
    """What learns: logistic regression on TF-IDF or on frozen `embeddings`, or an encoder that is `fine_tuned`.

    `penalty` is C of scikit-learn's logistic regression, the inverse of the L2 penalty's weight. `fine_tuning` is the
    encoder's; `length` is the most tokens of a text that it reads.
    """

    kind: Kind
    penalty: float = Field(gt=0)
    fine_tuning: CausalTraining
    length: int = Field(ge=4)


class Classification(Parameters):
    """Whether a classifier judges the texts, and which one.

    `measured`: null, where `task.labels` names classes and figures of held-out text have no price; true: at a price
    too, of which `clip_norm` is the most that a test client can say, in texts.
    """

    measured: bool | None
    clip_norm: float = Field(gt=0)
    training: ClassifierTraining
    seed: Seed

    def is_measured(self, task: Task, *, priced: bool) -> bool:
        """Whether texts are judged so; `priced`: whether test clients pay for figures of their text."""
        return not priced and len(task.labels) > 1 if self.measured is None else self.measured

    def refuse_impossible(self, task: Task) -> None:
        """Raises ValueError where it is asked for and there are no classes."""
        if self.measured:
            task.refuse_without_classes("classification.measured=true")

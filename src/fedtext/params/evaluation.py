"""How a synthetic data set is judged."""

from __future__ import annotations

from pydantic import Field, PositiveInt, field_validator

from fedtext.params import Parameters, words
from fedtext.params.generation import Sampler
from fedtext.params.training import CausalTraining


class UntunedControl(Parameters):
    """How the untuned generator writes its control: `responses` texts a prompt."""

    responses: int = Field(4, ge=1)
    sampler: Sampler = Sampler()


class Evaluation(Parameters):
    """Downstream training and the size of every comparison set.

    `texts` is the number of training texts of each condition (synthetic and controls alike). Epsilon = infinity uses
    the private training samples themselves, at most `private_texts` of them, one of every client before a second of
    any; None: all. `max_eval_samples` bounds the held-out samples; `top` are the ranks of top-k accuracy, 1 first:
    reports lead with it.
    """

    training: CausalTraining = CausalTraining(epochs=3)
    untuned: UntunedControl = UntunedControl()
    texts: int = Field(1000, ge=1)
    private_texts: int | None = Field(None, ge=1)
    max_eval_samples: int = Field(2000, ge=10)
    top: tuple[PositiveInt, ...] = (1, 3, 5)
    published_metric: bool = False
    seed: int = 0

    _words = field_validator("top", mode="before")(words)

    @field_validator("top")
    @classmethod
    def _one_comes_first(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if value[:1] != (1,):
            raise ValueError(f"evaluation.top is '{' '.join(map(str, value))}': begin with 1, which reports lead with")
        return value

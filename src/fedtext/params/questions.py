"""How texts are judged by a model that learns from them to answer questions about a passage."""

from __future__ import annotations

from pydantic import Field

from fedtext.params.training import CausalTraining
from fedtext.params.unpriced import Unpriced


class Questions(Unpriced):
    """Whether a reader (`models.classifier`, fine-tuned) learns from texts that are exercises (`corpora.exercises`).

    `length` is the most tokens of question and passage that it reads, `answer_length` the most of an answer.
    """

    group = "evaluation.questions"
    figures = "answers"

    measured: bool
    fine_tuning: CausalTraining
    length: int = Field(ge=16)
    answer_length: int = Field(ge=1)

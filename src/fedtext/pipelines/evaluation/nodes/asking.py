"""Questions of held-out text. A condition is one training and one reading, so that each resumes on its own.

How right each held-out text was answered is as private as the text; only aggregates leave, by `compare_answers`.
"""

from typing import Any

import numpy as np
import pandas as pd

from fedtext.corpora.samples import spread_samples
from fedtext.evaluation.paired import in_order
from fedtext.evaluation.questions import compare_questions, exercises_in, question_scores
from fedtext.models.encoder import Encoder
from fedtext.params.corpus import Partition
from fedtext.params.evaluation import Evaluation
from fedtext.pipelines.evaluation.nodes.held_out import drawn_units

Scores = dict[str, np.ndarray]


def ask_after_texts(
    private_test_sample: pd.DataFrame, classifier: Encoder, evaluation: Evaluation, texts: pd.DataFrame
) -> Scores:
    """After learning from at most `evaluation.texts` exercises among the texts: synthetic ones, or a control's."""
    lessons = exercises_in(texts["text"].tolist(), evaluation.texts, seed=evaluation.seed)
    held_out = private_test_sample["text"].tolist()
    return question_scores(lessons, held_out, classifier, evaluation.questions, seed=evaluation.seed, label="texts")


def ask_after_private_text(
    private_test_sample: pd.DataFrame, classifier: Encoder, evaluation: Evaluation, private_train: pd.DataFrame
) -> Scores:
    """Epsilon = infinity: after learning from `evaluation.private_texts` samples of the private text itself."""
    chosen = spread_samples(private_train, evaluation.private_texts)["text"].tolist()
    lessons = exercises_in(chosen, None, seed=evaluation.seed)
    held_out = private_test_sample["text"].tolist()
    return question_scores(
        lessons, held_out, classifier, evaluation.questions, seed=evaluation.seed, label="private texts"
    )


def compare_answers(private_test_sample: pd.DataFrame, partition: Partition, **conditions: Scores) -> dict[str, Any]:
    """F1 and exact match of all conditions with their intervals, and paired differences."""
    by_name = {name: conditions[name] for name in in_order(conditions)}
    return compare_questions(by_name, drawn_units(private_test_sample, partition))

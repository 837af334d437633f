"""Classification of held-out text. A condition is one training and one reading, so that each resumes on its own.

What each held-out text was taken for is as private as the text; only aggregates leave, by `compare_classifications`.
"""

from typing import Any

import numpy as np
import pandas as pd

from fedtext.corpora.samples import spread_samples
from fedtext.evaluation.classification import (
    classify_by_name,
    classify_condition,
    compare_classified,
    labelled_texts,
)
from fedtext.evaluation.paired import in_order
from fedtext.models.encoder import Encoder
from fedtext.params.classification import Classification
from fedtext.params.evaluation import Evaluation
from fedtext.params.task import Task

Codes = dict[str, np.ndarray]


def classify_by_names(private_test_sample: pd.DataFrame, classifier: Encoder, task: Task) -> Codes:
    """Epsilon = 0: nothing is learned, the nearest name of a class is taken."""
    return classify_by_name(private_test_sample, task, classifier)


def classify_after_texts(
    private_test_sample: pd.DataFrame,
    classifier: Encoder,
    task: Task,
    classification: Classification,
    evaluation: Evaluation,
    texts: pd.DataFrame,
) -> Codes:
    """After learning from `evaluation.texts` of the texts: synthetic ones, or a control's."""
    lessons = labelled_texts(texts, task, classifier, evaluation.texts, seed=classification.seed)
    return classify_condition(lessons, private_test_sample, task, classification, classifier, label="texts")


def classify_after_private_text(
    private_test_sample: pd.DataFrame,
    classifier: Encoder,
    task: Task,
    classification: Classification,
    evaluation: Evaluation,
    private_train: pd.DataFrame,
) -> Codes:
    """Epsilon = infinity: after learning from `evaluation.private_texts` samples of the private text itself."""
    own = private_train[private_train["label"].astype(str).isin(task.labels)].reset_index(drop=True)
    chosen = spread_samples(own, evaluation.private_texts)
    lessons = labelled_texts(chosen, task, classifier, None, seed=classification.seed)
    return classify_condition(lessons, private_test_sample, task, classification, classifier, label="private texts")


def compare_classifications(
    private_test_sample: pd.DataFrame, task: Task, classification: Classification, **conditions: Codes
) -> dict[str, Any]:
    """Accuracy and macro-F1 of all conditions, paired differences and the share of the gap closed."""
    clients, _ = pd.factorize(private_test_sample["client_id"], sort=True)
    by_name = {name: conditions[name] for name in in_order(conditions)}
    return compare_classified(by_name, task, clients, classification.training.kind)

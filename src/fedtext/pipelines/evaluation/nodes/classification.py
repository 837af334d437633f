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
    codes_of,
    compare_classified,
    labelled_texts,
)
from fedtext.evaluation.code_parts import View, judged_with_parts
from fedtext.evaluation.measures.classification import UNKNOWN
from fedtext.evaluation.paired import in_order
from fedtext.models.encoder import Encoder
from fedtext.params.classification import Classification
from fedtext.params.corpus import Corpus, Partition
from fedtext.params.evaluation import Evaluation
from fedtext.params.task import Task
from fedtext.pipelines.evaluation.nodes.held_out import drawn_units

Codes = dict[str, np.ndarray]


def classify_by_names(private_test_sample: pd.DataFrame, classifier: Encoder, task: Task, corpus: Corpus) -> Codes:
    """Epsilon = 0: nothing is learned, the nearest name of a class is taken."""

    def judged(classes: Task, view: View) -> Codes:
        return classify_by_name(view(private_test_sample), classes, classifier)

    return judged_with_parts(judged, task, corpus.code_columns)


def classify_after_texts(
    private_test_sample: pd.DataFrame,
    classifier: Encoder,
    task: Task,
    classification: Classification,
    evaluation: Evaluation,
    corpus: Corpus,
    texts: pd.DataFrame,
) -> Codes:
    """After learning from `evaluation.texts` of the texts: synthetic ones, or a control's."""

    def judged(classes: Task, view: View) -> Codes:
        lessons = labelled_texts(view(texts), classes, classifier, evaluation.texts, seed=classification.seed)
        held_out = view(private_test_sample)
        return classify_condition(lessons, held_out, classes, classification, classifier, label="texts")

    return judged_with_parts(judged, task, corpus.code_columns)


def classify_after_private_text(
    private_test_sample: pd.DataFrame,
    classifier: Encoder,
    task: Task,
    classification: Classification,
    evaluation: Evaluation,
    corpus: Corpus,
    private_train: pd.DataFrame,
) -> Codes:
    """Epsilon = infinity: after learning from `evaluation.private_texts` samples of the private text itself."""
    own = private_train[codes_of(private_train["label"], task) != UNKNOWN].reset_index(drop=True)
    chosen = spread_samples(own, evaluation.private_texts)

    def judged(classes: Task, view: View) -> Codes:
        lessons = labelled_texts(view(chosen), classes, classifier, None, seed=classification.seed)
        held_out = view(private_test_sample)
        return classify_condition(lessons, held_out, classes, classification, classifier, label="private texts")

    return judged_with_parts(judged, task, corpus.code_columns)


def compare_classifications(
    private_test_sample: pd.DataFrame,
    task: Task,
    classification: Classification,
    corpus: Corpus,
    partition: Partition,
    **conditions: Codes,
) -> dict[str, Any]:
    """Accuracy and F1 of all conditions, paired differences and the share of the gap closed."""
    by_name = {name: conditions[name] for name in in_order(conditions)}
    drawn = drawn_units(private_test_sample, partition)
    return compare_classified(by_name, task, drawn, classification.training.kind, corpus.code_columns)

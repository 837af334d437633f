"""Nodes of downstream tasks: question answering, classification and entity recognition.

A condition is one training and one test, so that each resumes on its own. The outcome for each held-out text is as
private as the text; only aggregates leave, by `compare_answers`, `compare_classifications` and `compare_entity_scores`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fedtext.corpora.records import spread_samples
from fedtext.evaluation.classification import (
    View,
    class_codes,
    classify_by_name,
    classify_condition,
    compare_classified,
    evaluate_with_parts,
    labelled_texts,
)
from fedtext.evaluation.entities import compare_entities, entity_scores
from fedtext.evaluation.measures.downstream import UNKNOWN
from fedtext.evaluation.paired import ordered_conditions
from fedtext.evaluation.questions import compare_questions, exercises_in, question_scores
from fedtext.evaluation.scoring import evenly_spaced
from fedtext.models.encoder import Encoder
from fedtext.models.tagger import Tagger
from fedtext.params.corpus import Corpus, Partition
from fedtext.params.evaluation import Classification, Evaluation
from fedtext.params.task import Task
from fedtext.pipelines.evaluation.nodes.held_out import drawn_units

Scores = dict[str, np.ndarray]


def ask_after_texts(
    private_test_sample: pd.DataFrame, classifier: Encoder, evaluation: Evaluation, texts: pd.DataFrame
) -> Scores:
    """Answer after training on at most `evaluation.texts` exercises among the texts: synthetic, or a baseline's."""
    lessons = exercises_in(texts["text"].tolist(), evaluation.texts, seed=evaluation.seed)
    held_out = private_test_sample["text"].tolist()
    return question_scores(lessons, held_out, classifier, evaluation.questions, seed=evaluation.seed, label="texts")


def ask_after_private_text(
    private_test_sample: pd.DataFrame, classifier: Encoder, evaluation: Evaluation, private_train: pd.DataFrame
) -> Scores:
    """Answer after training on `evaluation.private_texts` samples of the private text itself: epsilon = infinity."""
    chosen = spread_samples(private_train, evaluation.private_texts)["text"].tolist()
    lessons = exercises_in(chosen, None, seed=evaluation.seed)
    held_out = private_test_sample["text"].tolist()
    return question_scores(
        lessons, held_out, classifier, evaluation.questions, seed=evaluation.seed, label="private texts"
    )


def compare_answers(private_test_sample: pd.DataFrame, partition: Partition, **conditions: Scores) -> dict[str, Any]:
    """Compare F1 and exact match of all conditions with their intervals, and paired differences."""
    by_name = {name: conditions[name] for name in ordered_conditions(conditions)}
    return compare_questions(by_name, drawn_units(private_test_sample, partition))


Codes = dict[str, np.ndarray]


def classify_by_names(private_test_sample: pd.DataFrame, classifier: Encoder, task: Task, corpus: Corpus) -> Codes:
    """Classify without training, by the nearest name of a class: epsilon = 0."""

    def judged(classes: Task, view: View) -> Codes:
        return classify_by_name(view(private_test_sample), classes, classifier)

    return evaluate_with_parts(judged, task, corpus.code_columns)


def classify_after_texts(
    private_test_sample: pd.DataFrame,
    classifier: Encoder,
    task: Task,
    classification: Classification,
    evaluation: Evaluation,
    corpus: Corpus,
    texts: pd.DataFrame,
) -> Codes:
    """Classify after training on `evaluation.texts` of the texts: synthetic ones, or a baseline's."""

    def judged(classes: Task, view: View) -> Codes:
        lessons = labelled_texts(view(texts), classes, classifier, evaluation.texts, seed=classification.seed)
        held_out = view(private_test_sample)
        return classify_condition(lessons, held_out, classes, classification, classifier, label="texts")

    return evaluate_with_parts(judged, task, corpus.code_columns)


def classify_after_private_text(
    private_test_sample: pd.DataFrame,
    classifier: Encoder,
    task: Task,
    classification: Classification,
    evaluation: Evaluation,
    corpus: Corpus,
    private_train: pd.DataFrame,
) -> Codes:
    """Classify after training on `evaluation.private_texts` samples of the private text itself: epsilon = infinity."""
    own = private_train[class_codes(private_train["label"], task) != UNKNOWN].reset_index(drop=True)
    chosen = spread_samples(own, evaluation.private_texts)

    def judged(classes: Task, view: View) -> Codes:
        lessons = labelled_texts(view(chosen), classes, classifier, None, seed=classification.seed)
        held_out = view(private_test_sample)
        return classify_condition(lessons, held_out, classes, classification, classifier, label="private texts")

    return evaluate_with_parts(judged, task, corpus.code_columns)


def compare_classifications(
    private_test_sample: pd.DataFrame,
    task: Task,
    classification: Classification,
    corpus: Corpus,
    partition: Partition,
    **conditions: Codes,
) -> dict[str, Any]:
    """Compare accuracy and F1 of all conditions: paired differences and the share of the gap closed."""
    by_name = {name: conditions[name] for name in ordered_conditions(conditions)}
    drawn = drawn_units(private_test_sample, partition)
    return compare_classified(by_name, task, drawn, classification.training.kind, corpus.code_columns)


Counts = dict[str, np.ndarray]


def tag_after_texts(
    private_test_sample: pd.DataFrame, tagger: Tagger, evaluation: Evaluation, texts: pd.DataFrame
) -> Counts:
    """Find entities after training on `evaluation.texts` of the texts: synthetic ones, or a baseline's."""
    learned_from = evenly_spaced(texts["text"].tolist(), evaluation.texts)
    return entity_scores(learned_from, private_test_sample["text"].tolist(), tagger, evaluation.entities.penalty)


def tag_after_private_text(
    private_test_sample: pd.DataFrame,
    tagger: Tagger,
    evaluation: Evaluation,
    private_train: pd.DataFrame,
) -> Counts:
    """Find entities after training on `evaluation.private_texts` private samples themselves: epsilon = infinity."""
    learned_from = spread_samples(private_train, evaluation.private_texts)["text"].tolist()
    return entity_scores(learned_from, private_test_sample["text"].tolist(), tagger, evaluation.entities.penalty)


def compare_entity_scores(
    private_test_sample: pd.DataFrame, tagger: Tagger, partition: Partition, **conditions: Counts
) -> dict[str, Any]:
    """Compare macro-F1 of all conditions with its intervals."""
    by_name = {name: conditions[name] for name in ordered_conditions(conditions)}
    return compare_entities(by_name, tagger.kinds, drawn_units(private_test_sample, partition))

"""Extractive question answering as a downstream task (`evaluation.questions`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from fedtext.corpora.records import spread_samples
from fedtext.evaluation.measures import downstream as measures
from fedtext.evaluation.measures.downstream import ANSWER_EXACT, ANSWER_F1
from fedtext.evaluation.questions import compare_questions, exercises_in, question_scores
from fedtext.evaluation.tasks.task import (
    HELD_OUT,
    Document,
    DownstreamTask,
    Scores,
    Table,
    TaskNode,
    in_report_order,
    stressed,
)
from fedtext.evaluation.units import drawn_units
from fedtext.evaluation.wording import count, interval
from fedtext.models.encoder import Encoder
from fedtext.params.conditions import CONDITIONS
from fedtext.params.corpus import Partition
from fedtext.params.evaluation import Evaluation, Questions


def answer_trainer(private: bool) -> Callable[..., Scores]:
    """Create the training on a condition's exercises: `evaluation.texts` of them, or those of `private_texts` samples.

    The first limit counts exercises among a condition's texts, the second one private samples of any kind.
    """

    def answer_questions(
        private_test_sample: pd.DataFrame, classifier: Encoder, evaluation: Evaluation, texts: pd.DataFrame
    ) -> Scores:
        """Train a question answering model on the texts' exercises, and score its answers to held-out questions."""
        given = spread_samples(texts, evaluation.private_texts) if private else texts
        exercises = exercises_in(given["text"].tolist(), None if private else evaluation.texts, seed=evaluation.seed)
        held_out, label = private_test_sample["text"].tolist(), "private texts" if private else "texts"
        return question_scores(exercises, held_out, classifier, evaluation.questions, seed=evaluation.seed, label=label)

    return answer_questions


def compare_answers(private_test_sample: pd.DataFrame, partition: Partition, **conditions: Scores) -> dict[str, Any]:
    """Compare F1 and exact match of all conditions with their intervals, and paired differences."""
    return compare_questions(in_report_order(conditions), drawn_units(private_test_sample, partition))


def answer_tables(document: Document) -> list[Table]:
    """Return the table of every condition's F1 with its interval and exact match."""
    questions = next(iter(document["conditions"].values()))[ANSWER_F1.counted]
    rows = [
        [
            CONDITIONS[name].title,
            count(own["texts"]),
            f"{ANSWER_F1.shown(own[ANSWER_F1.name])} ({interval(ANSWER_F1, own)})",
            ANSWER_EXACT.shown(own[ANSWER_EXACT.name]),
        ]
        for name, own in document["conditions"].items()
    ]
    return [
        Table(
            f"Training texts of a question answering model, on {count(questions)} held-out questions (95% intervals)",
            ["learned from", "exercises", ANSWER_F1.column, ANSWER_EXACT.column],
            rows,
            stressed(document),
        )
    ]


QUESTIONS = DownstreamTask(
    name="questions",
    verb="ask",
    group="evaluation.questions",
    parameters=Questions,
    measures=measures.QUESTIONS,
    inputs={HELD_OUT: HELD_OUT, "classifier": "classifier", "evaluation": "params:evaluation"},
    trainer=answer_trainer,
    compare=TaskNode(compare_answers, {}),
    tables=answer_tables,
)

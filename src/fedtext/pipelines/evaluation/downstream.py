"""Nodes of a downstream task: a training and test for each condition, and the comparison of all.

A condition is one node, so that each resumes on its own. Its scores for each held-out text are as private as the text;
only aggregates leave, by the node that compares conditions, or by a noisy release (private_evaluation.py).
"""

from __future__ import annotations

from collections.abc import Mapping

from kedro.pipeline import Node

from fedtext.evaluation.tasks.task import HELD_OUT, DownstreamTask
from fedtext.params.conditions import EPS0, PRIVATE
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, Outputs, control_scores
from fedtext.wiring.pipeline_settings import EvaluationVariant
from fedtext.wiring.unrolling import Namespace

EVALUATION = Namespace("evaluation")


def controls(task: DownstreamTask, variant: EvaluationVariant) -> list[Node]:
    """Create the conditions that all algorithms share."""
    made = scores_of_controls(task, variant)
    nodes = [_trained(task, EVALUATION, name, texts, made[name]) for name, texts in variant.public_controls.items()]
    if task.untrained:
        untrained = task.untrained
        name = untrained.function.__name__
        nodes.append(EVALUATION.node(untrained.function, untrained.inputs, made[EPS0.name], name=name))
    if variant.private_control:
        nodes.append(_trained(task, EVALUATION, PRIVATE.name, "private_train", made[PRIVATE.name]))
    return nodes


def of_texts(task: DownstreamTask, algorithm: Algorithm, texts: Mapping[str, str]) -> list[Node]:
    """Create the conditions of an algorithm, by the data sets of their texts."""
    place, made = Namespace(EVALUATION(algorithm.name)), _own_scores(task, algorithm.outputs, texts)
    return [_trained(task, place, name, own, made[name]) for name, own in texts.items()]


def scores_of_controls(task: DownstreamTask, variant: EvaluationVariant) -> dict[str, str]:
    """Return the data set of each shared condition's scores, by condition."""
    names = [*([EPS0.name] if task.untrained else []), *variant.controls]
    return {name: control_scores(task.name, name) for name in names}


def scores_of_all(
    task: DownstreamTask, algorithm: Algorithm, texts: Mapping[str, str], variant: EvaluationVariant
) -> dict[str, str]:
    """Return the data set of the scores of each condition that an algorithm's texts are compared by."""
    return scores_of_controls(task, variant) | _own_scores(task, algorithm.outputs, texts)


def compared(task: DownstreamTask, place: Namespace, scores: Mapping[str, str], document: str) -> Node:
    """Create the node that releases aggregates of all conditions; `scores` are their data sets, by condition."""
    inputs = {HELD_OUT: HELD_OUT, "partition": "params:partition", **task.compare.inputs, **scores}
    function = task.compare.function
    return place.node(function, inputs, document, name=function.__name__, tags=Tag.HELD_OUT)


def _own_scores(task: DownstreamTask, made: Outputs, texts: Mapping[str, str]) -> dict[str, str]:
    return {name: made.downstream_scores(task.name, name) for name in texts}


def _trained(task: DownstreamTask, place: Namespace, condition: str, texts: str, scores: str) -> Node:
    private = condition == PRIVATE.name
    return place.node(
        task.trainer(private),
        {**task.inputs, "texts": texts},
        scores,
        name=f"{task.verb}_{condition}",
        tags=Tag.CONTROL if private else None,
    )

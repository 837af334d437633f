"""Entities beside next-token accuracy: the same conditions, each as lessons for a model that looks for them."""

from collections.abc import Callable, Mapping
from typing import Any

from kedro.pipeline import Node

from fedtext.pipelines.evaluation.form import TEXTS
from fedtext.pipelines.evaluation.nodes import tagging as nodes
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm
from fedtext.wiring.unrolling import Namespace

EVALUATION = Namespace("evaluation")
HELD_OUT, TAGGER = "private_test_sample", "tagger"


def controls(*, private: bool) -> list[Node]:
    """What every algorithm is compared with; without lessons nothing is found, so there is no epsilon = 0."""
    learned = [_learned(EVALUATION, name, texts, _control(name)) for name, texts in TEXTS.items()]
    ceiling = _learned(
        EVALUATION,
        "private",
        "private_train",
        _control("private"),
        function=nodes.tag_after_private_text,
        tags=Tag.CONTROL,
    )
    return [*learned, *([ceiling] if private else [])]


def of_texts(algorithm: Algorithm, judged: Mapping[str, str], *, private: bool) -> list[Node]:
    """An algorithm's own conditions, and the node through which aggregates of all of them leave."""
    place, made = Namespace(EVALUATION(algorithm.name)), algorithm.outputs
    learned = [_learned(place, name, texts, made.tagged(name)) for name, texts in judged.items()]
    counts = {name: _control(name) for name in (*TEXTS, *(["private"] if private else []))}
    counts |= {name: made.tagged(name) for name in judged}
    compared = place.node(
        nodes.compare_entity_scores,
        {HELD_OUT: HELD_OUT, "tagger": TAGGER, "partition": "params:partition", **counts},
        made.entities,
        name="compare_entity_scores",
        tags=Tag.HELD_OUT,
    )
    return [*learned, compared]


def _learned(
    place: Namespace,
    condition: str,
    texts: str,
    counts: str,
    *,
    function: Callable[..., Any] = nodes.tag_after_texts,
    tags: Tag | None = None,
) -> Node:
    inputs = [HELD_OUT, TAGGER, "params:evaluation", texts]
    return place.node(function, inputs, counts, name=f"tag_{condition}", tags=tags)


def _control(condition: str) -> str:
    return f"private_tagged_{condition}"

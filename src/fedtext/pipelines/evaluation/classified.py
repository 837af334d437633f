"""Classification beside next-token accuracy: the same conditions, each as lessons for a classifier."""

from collections.abc import Callable, Mapping
from typing import Any

from kedro.pipeline import Node

from fedtext.pipelines.evaluation.form import TEXTS
from fedtext.pipelines.evaluation.nodes import classification as nodes
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm
from fedtext.wiring.unrolling import Namespace

EVALUATION = Namespace("evaluation")
HELD_OUT, TASK, CLASSIFICATION = "private_test_sample", "params:task", "params:classification"
CORPUS, PARTITION = "params:corpus", "params:partition"


def controls(*, private: bool) -> list[Node]:
    """What every algorithm is compared with."""
    by_name = EVALUATION.node(
        nodes.classify_by_names, [HELD_OUT, "classifier", TASK, CORPUS], _control("eps0"), name="classify_by_names"
    )
    learned = [_learned(EVALUATION, name, texts, _control(name)) for name, texts in TEXTS.items()]
    ceiling = _learned(
        EVALUATION,
        "private",
        "private_train",
        _control("private"),
        function=nodes.classify_after_private_text,
        tags=Tag.CONTROL,
    )
    return [by_name, *learned, *([ceiling] if private else [])]


def of_texts(algorithm: Algorithm, judged: Mapping[str, str]) -> list[Node]:
    """An algorithm's own conditions."""
    place, made = Namespace(EVALUATION(algorithm.name)), algorithm.outputs
    return [_learned(place, name, texts, made.classified(name)) for name, texts in judged.items()]


def all_codes(algorithm: Algorithm, judged: Mapping[str, str], *, private: bool) -> dict[str, str]:
    """The data set of each condition that an algorithm's texts are compared by, the controls' among them."""
    return control_codes(private=private) | {name: algorithm.outputs.classified(name) for name in judged}


def control_codes(*, private: bool) -> dict[str, str]:
    """The data set of each control, by condition."""
    return {name: _control(name) for name in ("eps0", *TEXTS, *(["private"] if private else []))}


def compared(place: Namespace, codes: Mapping[str, str], document: str) -> Node:
    """The node through which aggregates of all conditions leave."""
    return place.node(
        nodes.compare_classifications,
        {
            HELD_OUT: HELD_OUT,
            "task": TASK,
            "classification": CLASSIFICATION,
            "corpus": CORPUS,
            "partition": PARTITION,
            **codes,
        },
        document,
        name="compare_classifications",
        tags=Tag.HELD_OUT,
    )


def _learned(
    place: Namespace,
    condition: str,
    texts: str,
    codes: str,
    *,
    function: Callable[..., Any] = nodes.classify_after_texts,
    tags: Tag | None = None,
) -> Node:
    inputs = [HELD_OUT, "classifier", TASK, CLASSIFICATION, "params:evaluation", CORPUS, texts]
    return place.node(function, inputs, codes, name=f"classify_{condition}", tags=tags)


def _control(condition: str) -> str:
    return f"private_classified_{condition}"

"""Classification beside next-token accuracy: the same conditions, each as lessons for a classifier."""

from collections.abc import Mapping

from kedro.pipeline import Node

from fedtext.pipelines.evaluation.lessons import EVALUATION, HELD_OUT, Lessons
from fedtext.pipelines.evaluation.nodes import classification as nodes
from fedtext.wiring.algorithm import Algorithm
from fedtext.wiring.outputs import Judged

TASK, CLASSIFICATION, CORPUS = "params:task", "params:classification", "params:corpus"
BY_NAMES = "eps0"
LESSONS = Lessons(
    verb="classify",
    judged=Judged.CLASSIFIED,
    given=[HELD_OUT, "classifier", TASK, CLASSIFICATION, "params:evaluation", CORPUS],
    after_texts=nodes.classify_after_texts,
    after_private_text=nodes.classify_after_private_text,
    compare=nodes.compare_classifications,
    told={"task": TASK, "classification": CLASSIFICATION, "corpus": CORPUS},
)


def controls(*, private: bool) -> list[Node]:
    """What every algorithm is compared with; where nothing is learned, the nearest name of a class is taken."""
    given, made = [HELD_OUT, "classifier", TASK, CORPUS], Judged.CLASSIFIED.of_control(BY_NAMES)
    by_names = EVALUATION.node(nodes.classify_by_names, given, made, name="classify_by_names")
    return [by_names, *LESSONS.controls(private=private)]


def all_codes(algorithm: Algorithm, texts: Mapping[str, str], *, private: bool) -> dict[str, str]:
    """The data set of each condition that an algorithm's texts are compared by, the controls' among them."""
    return _by_names() | LESSONS.of_all(algorithm, texts, private=private)


def control_codes(*, private: bool) -> dict[str, str]:
    """The data set of each control, by condition."""
    return _by_names() | LESSONS.of_controls(private=private)


def _by_names() -> dict[str, str]:
    return {BY_NAMES: Judged.CLASSIFIED.of_control(BY_NAMES)}

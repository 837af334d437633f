"""Downstream tasks beside next-token accuracy: train on each condition's texts, test on held-out text.

Classification, entity recognition and extractive question answering have each a model of their own kind. The last two
have no epsilon = 0: an untrained model finds and answers nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kedro.pipeline import Node

from fedtext.pipelines.evaluation.nodes import downstream as nodes
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, HeldOutOutcome
from fedtext.wiring.pipeline_settings import EvaluationVariant
from fedtext.wiring.unrolling import Namespace

EVALUATION = Namespace("evaluation")
HELD_OUT = "private_test_sample"


@dataclass(frozen=True)
class DownstreamTask:
    """One downstream task: training and testing for each condition, each in a node of its own.

    Attributes:
        verb: Names the nodes: `classify` in `classify_public_control`.
        judged: The outcome for each held-out text; names the data sets.
        given: Inputs of a node before the texts.
        after_texts: Trains on a condition's texts, and tests.
        after_private_text: Trains on the private text itself, and tests.
        compare: Aggregates the outcomes of all conditions.
        compare_inputs: Further inputs of `compare`, by its arguments.
    """

    verb: str
    judged: HeldOutOutcome
    given: Sequence[str]
    after_texts: Callable[..., Any]
    after_private_text: Callable[..., Any]
    compare: Callable[..., Any]
    compare_inputs: Mapping[str, str]

    def controls(self, variant: EvaluationVariant) -> list[Node]:
        """Create the conditions that all algorithms share."""
        judged = self.of_controls(variant)
        learned = [
            self._learned(EVALUATION, name, texts, judged[name]) for name, texts in variant.public_controls.items()
        ]
        if not variant.private_control:
            return learned
        made = judged["private"]
        ceiling = self._learned(
            EVALUATION, "private", "private_train", made, function=self.after_private_text, tags=Tag.CONTROL
        )
        return [*learned, ceiling]

    def of_texts(self, algorithm: Algorithm, texts: Mapping[str, str]) -> list[Node]:
        """Create the conditions of an algorithm, by the data sets of their texts."""
        place = Namespace(EVALUATION(algorithm.name))
        return [
            self._learned(place, name, own, self.judged.of_texts(algorithm.name, name)) for name, own in texts.items()
        ]

    def of_controls(self, variant: EvaluationVariant) -> dict[str, str]:
        """Return the data set of each shared condition, by condition."""
        return {name: self.judged.of_control(name) for name in variant.controls}

    def of_all(self, algorithm: Algorithm, texts: Mapping[str, str], variant: EvaluationVariant) -> dict[str, str]:
        """Return the data set of each condition that an algorithm's texts are compared by."""
        own = {name: self.judged.of_texts(algorithm.name, name) for name in texts}
        return self.of_controls(variant) | own

    def compared(self, place: Namespace, judged: Mapping[str, str], document: str) -> Node:
        """Create the node that releases aggregates of all conditions; `judged` are their data sets, by condition."""
        given = {HELD_OUT: HELD_OUT, "partition": "params:partition", **self.compare_inputs, **judged}
        return place.node(self.compare, given, document, name=self.compare.__name__, tags=Tag.HELD_OUT)

    def _learned(
        self,
        place: Namespace,
        condition: str,
        texts: str,
        judged: str,
        *,
        function: Callable[..., Any] | None = None,
        tags: Tag | None = None,
    ) -> Node:
        name = f"{self.verb}_{condition}"
        return place.node(function or self.after_texts, [*self.given, texts], judged, name=name, tags=tags)


QUESTION_LESSONS = DownstreamTask(
    verb="ask",
    judged=HeldOutOutcome.ASKED,
    given=[HELD_OUT, "classifier", "params:evaluation"],
    after_texts=nodes.ask_after_texts,
    after_private_text=nodes.ask_after_private_text,
    compare=nodes.compare_answers,
    compare_inputs={},
)


TASK, CLASSIFICATION, CORPUS = "params:task", "params:classification", "params:corpus"
BY_NAMES = "eps0"
CLASSIFICATION_LESSONS = DownstreamTask(
    verb="classify",
    judged=HeldOutOutcome.CLASSIFIED,
    given=[HELD_OUT, "classifier", TASK, CLASSIFICATION, "params:evaluation", CORPUS],
    after_texts=nodes.classify_after_texts,
    after_private_text=nodes.classify_after_private_text,
    compare=nodes.compare_classifications,
    compare_inputs={"task": TASK, "classification": CLASSIFICATION, "corpus": CORPUS},
)


def controls(variant: EvaluationVariant) -> list[Node]:
    """Create the conditions that all algorithms share; the untrained one takes the class whose name is nearest."""
    given, made = [HELD_OUT, "classifier", TASK, CORPUS], HeldOutOutcome.CLASSIFIED.of_control(BY_NAMES)
    by_names = EVALUATION.node(nodes.classify_by_names, given, made, name="classify_by_names")
    return [by_names, *CLASSIFICATION_LESSONS.controls(variant)]


def all_codes(algorithm: Algorithm, texts: Mapping[str, str], variant: EvaluationVariant) -> dict[str, str]:
    """Return the data set of each condition that an algorithm's texts are compared by, the shared ones among them."""
    return _by_names() | CLASSIFICATION_LESSONS.of_all(algorithm, texts, variant)


def control_codes(variant: EvaluationVariant) -> dict[str, str]:
    """Return the data set of each shared condition, by condition."""
    return _by_names() | CLASSIFICATION_LESSONS.of_controls(variant)


def _by_names() -> dict[str, str]:
    return {BY_NAMES: HeldOutOutcome.CLASSIFIED.of_control(BY_NAMES)}


ENTITY_LESSONS = DownstreamTask(
    verb="tag",
    judged=HeldOutOutcome.TAGGED,
    given=[HELD_OUT, "tagger", "params:evaluation"],
    after_texts=nodes.tag_after_texts,
    after_private_text=nodes.tag_after_private_text,
    compare=nodes.compare_entity_scores,
    compare_inputs={"tagger": "tagger"},
)

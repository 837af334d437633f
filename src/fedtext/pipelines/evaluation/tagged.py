"""Entities beside next-token accuracy: the same conditions, each as lessons for a model that looks for them.

Without lessons nothing is found, so there is no epsilon = 0.
"""

from collections.abc import Mapping

from kedro.pipeline import Node

from fedtext.pipelines.evaluation.lessons import Lessons
from fedtext.pipelines.evaluation.nodes import tagging as nodes
from fedtext.privacy.tags import Tag
from fedtext.wiring.outputs import Judged
from fedtext.wiring.unrolling import Namespace

HELD_OUT, TAGGER = "private_test_sample", "tagger"
LESSONS = Lessons(
    verb="tag",
    judged=Judged.TAGGED,
    given=[HELD_OUT, TAGGER, "params:evaluation"],
    after_texts=nodes.tag_after_texts,
    after_private_text=nodes.tag_after_private_text,
)


def compared(place: Namespace, judged: Mapping[str, str], document: str) -> Node:
    """The node through which aggregates of all conditions leave."""
    given = {HELD_OUT: HELD_OUT, "tagger": TAGGER, "partition": "params:partition", **judged}
    name = "compare_entity_scores"
    return place.node(nodes.compare_entity_scores, given, document, name=name, tags=Tag.HELD_OUT)

"""Questions beside next-token accuracy: the same conditions, each as lessons for a reader.

Without lessons nothing is answered, so there is no epsilon = 0.
"""

from collections.abc import Mapping

from kedro.pipeline import Node

from fedtext.pipelines.evaluation.lessons import Lessons
from fedtext.pipelines.evaluation.nodes import asking as nodes
from fedtext.privacy.tags import Tag
from fedtext.wiring.outputs import Judged
from fedtext.wiring.unrolling import Namespace

HELD_OUT = "private_test_sample"
LESSONS = Lessons(
    verb="ask",
    judged=Judged.ASKED,
    given=[HELD_OUT, "classifier", "params:evaluation"],
    after_texts=nodes.ask_after_texts,
    after_private_text=nodes.ask_after_private_text,
)


def compared(place: Namespace, judged: Mapping[str, str], document: str) -> Node:
    """The node through which aggregates of all conditions leave."""
    given = {HELD_OUT: HELD_OUT, "partition": "params:partition", **judged}
    return place.node(nodes.compare_answers, given, document, name="compare_answers", tags=Tag.HELD_OUT)

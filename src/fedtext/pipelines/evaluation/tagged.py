"""Entities beside next-token accuracy: the same conditions, each as lessons for a model that looks for them.

Without lessons nothing is found, so there is no epsilon = 0.
"""

from fedtext.pipelines.evaluation.lessons import HELD_OUT, Lessons
from fedtext.pipelines.evaluation.nodes import tagging as nodes
from fedtext.wiring.outputs import Judged

LESSONS = Lessons(
    verb="tag",
    judged=Judged.TAGGED,
    given=[HELD_OUT, "tagger", "params:evaluation"],
    after_texts=nodes.tag_after_texts,
    after_private_text=nodes.tag_after_private_text,
    compare=nodes.compare_entity_scores,
    told={"tagger": "tagger"},
)

"""Questions beside next-token accuracy: the same conditions, each as lessons for a reader.

Without lessons nothing is answered, so there is no epsilon = 0.
"""

from fedtext.pipelines.evaluation.lessons import HELD_OUT, Lessons
from fedtext.pipelines.evaluation.nodes import asking as nodes
from fedtext.wiring.outputs import Judged

LESSONS = Lessons(
    verb="ask",
    judged=Judged.ASKED,
    given=[HELD_OUT, "classifier", "params:evaluation"],
    after_texts=nodes.ask_after_texts,
    after_private_text=nodes.ask_after_private_text,
    compare=nodes.compare_answers,
    told={},
)

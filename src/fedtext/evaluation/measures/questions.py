"""F1 and exact match of answers to held-out questions, from what `evaluation.questions` counted in each text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from fedtext.evaluation.measures.measure import SHARE, Counts, Direction, PerText, Scored

ASKED, F1, EXACT = "asked", "answer_f1", "answer_exact"  # of each held-out text: whether it asks, and how right it got


@dataclass(frozen=True, kw_only=True)
class OfAnswers(PerText):
    """A mean over held-out questions."""

    HOME = ("questions", "conditions")


def _over_asked(name: str, scored: Scored) -> Counts:
    return Counts(scored[name], scored[ASKED])


ANSWER_F1, ANSWER_EXACT = (
    OfAnswers(
        name=name,
        title=title,
        column=column,
        direction=Direction.HIGHER,
        unit=SHARE,
        decimals=1,
        counts=partial(_over_asked, name),
        counted="questions",
    )
    for name, title, column in (
        (F1, "F1 of answers", "F1 of answers"),
        (EXACT, "answers that match exactly", "exact match"),
    )
)
QUESTIONS = (ANSWER_F1, ANSWER_EXACT)

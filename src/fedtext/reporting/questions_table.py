"""What a reader is worth that answers questions, by what it learned from: the report's table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from fedtext.evaluation.measures.questions import ANSWER_EXACT, ANSWER_F1
from fedtext.params.conditions import CONDITIONS
from fedtext.reporting.tables import table
from fedtext.reporting.wording import count, interval


def questions_table(found: Mapping[str, Any] | None) -> Markup:
    """F1 with its interval and exact match of every condition; empty where nothing was asked."""
    if found is None:
        return Markup()
    asked = next(iter(found["conditions"].values()))[ANSWER_F1.counted]
    rows = [
        [
            CONDITIONS[name].title,
            count(own["texts"]),
            f"{ANSWER_F1.shown(own[ANSWER_F1.name])} ({interval(ANSWER_F1, own)})",
            ANSWER_EXACT.shown(own[ANSWER_EXACT.name]),
        ]
        for name, own in found["conditions"].items()
    ]
    return table(
        f"The same texts as lessons for a reader, asked {count(asked)} held-out questions (95% intervals)",
        ["learned from", "exercises", ANSWER_F1.column, ANSWER_EXACT.column],
        rows,
        strong=[i for i, name in enumerate(found["conditions"]) if name == found["judged"]],
    )

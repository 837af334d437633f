"""What a model that looks for entities is worth, by what it learned from: the report's table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from fedtext.evaluation.measures.entities import ENTITY_F1
from fedtext.params.conditions import CONDITIONS
from fedtext.reporting.tables import table
from fedtext.reporting.wording import count, interval


def entities_table(found: Mapping[str, Any] | None) -> Markup:
    """Macro-F1 of entities of every condition with its interval; empty where none were looked for."""
    if found is None:
        return Markup()
    rows = [
        [
            CONDITIONS[name].title,
            count(own["texts"]),
            f"{ENTITY_F1.shown(own[ENTITY_F1.name])} ({interval(ENTITY_F1, own)})",
        ]
        for name, own in found["conditions"].items()
    ]
    return table(
        f"The same texts as lessons for a model that looks for entities: {', '.join(found['kinds'])} (95% intervals)",
        ["learned from", "texts", ENTITY_F1.column],
        rows,
        strong=[i for i, name in enumerate(found["conditions"]) if name == found["judged"]],
    )

"""Tables of downstream tasks: results of models trained on each kind of text and evaluated on held-out text.

The tasks are classification, whose table comes with its limits, entity recognition, and question answering.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from fedtext.evaluation.measures.downstream import (
    ANSWER_EXACT,
    ANSWER_F1,
    CLASS_ACCURACY,
    ENTITY_F1,
    MACRO_F1,
    class_accuracy,
    macro_f1,
    weighted_f1,
)
from fedtext.evaluation.measures.measure import ABSENT, OnHeldOut
from fedtext.params.conditions import CONDITIONS, EPS0
from fedtext.reporting.tables import table
from fedtext.reporting.wording import change, count, interval, share

LEARNERS = {
    "tfidf": "a logistic regression on words",
    "embeddings": "a logistic regression on sentence embeddings",
    "fine_tuned": "a fine-tuned encoder",
}


def classification_table(found: Mapping[str, Any] | None) -> Markup:
    """Return the table of accuracy and macro-F1 of every condition with intervals; empty without classification."""
    if found is None:
        return Markup()
    against = EPS0.label.replace(" = ", "\u00a0=\u00a0")
    whole = table(
        f"Training texts of {LEARNERS[found['kind']]}: {len(found['labels'])} classes of held-out text (95% intervals)",
        ["learned from", "texts", CLASS_ACCURACY.column, MACRO_F1.column, f"points against {against}", "gap closed"],
        [_row(name, found) for name in found["conditions"]],
        strong=_strong(found),
    )
    return whole + Markup().join(
        _part_table(part, len(values), found) for part, values in found.get("parts", {}).items()
    )


def _part_table(part: str, values: int, found: Mapping[str, Any]) -> Markup:
    """Return the table of one part of the control codes, with macro-F1 beside the weighted F1 that papers print."""
    measures = [class_accuracy(part), weighted_f1(part), macro_f1(part)]
    return table(
        f"By {part} alone: {values} values (95% intervals)",
        ["learned from", "accuracy", "weighted F1", "macro-F1"],
        [[_learned_from(name), *(_with_interval(each, own) for each in measures)] for name, own in _conditions(found)],
        strong=_strong(found),
    )


def _conditions(found: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return list(found["conditions"].items())


def _strong(found: Mapping[str, Any]) -> list[int]:
    return [i for i, name in enumerate(found["conditions"]) if name == found["judged"]]


def _with_interval(measure: OnHeldOut, own: Mapping[str, Any]) -> str:
    if measure.name not in own:
        return ABSENT
    ends = {end: own[f"{measure.name}_{end}"] for end in ("low", "high")}
    return f"{measure.shown(own[measure.name])} ({interval(measure, ends)})"


def _learned_from(name: str) -> str:
    return CONDITIONS[name].title if name != EPS0.name else "names of the classes alone (ε = 0)"


def _row(name: str, found: Mapping[str, Any]) -> list[str]:
    own, gain = found["conditions"][name], found["gains"].get(name, {}).get(EPS0.name)
    return [
        _learned_from(name),
        ABSENT if own["texts"] is None else count(own["texts"]),
        f"{CLASS_ACCURACY.shown(own[CLASS_ACCURACY.name])} ({interval(CLASS_ACCURACY, own)})",
        _with_interval(MACRO_F1, own),
        change(CLASS_ACCURACY, gain) if gain else ABSENT,
        share(found["gap_closed"].get(name)),
    ]


def classification_limits(found: Mapping[str, Any] | None) -> list[str]:
    """Return sentences on the table's limits: texts labelled by class names, classes without training texts."""
    if found is None:
        return []
    named = [CONDITIONS[name].label for name, own in found["classes"].items() if own["named"]]
    said = [
        f"{', '.join(named)}: these texts came without classes; each has the class whose name is nearest to it."
        for _ in named[:1]
    ]
    for name, own in found["classes"].items():
        if none := [label for label, texts in zip(found["labels"], own["by_class"], strict=True) if not texts]:
            listed = f"{', '.join(none[:5])}{', ...' if len(none) > 5 else ''}"
            said.append(
                f"{CONDITIONS[name].label}: {len(none)} of {len(found['labels'])} classes have no text to learn from, "
                f"so none is ever found ({listed})."
            )
    return said


def entities_table(found: Mapping[str, Any] | None) -> Markup:
    """Return the table of every condition's macro-F1 of entities with its interval; empty where there is none."""
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
        f"Training texts of a model that finds entities: {', '.join(found['kinds'])} (95% intervals)",
        ["learned from", "texts", ENTITY_F1.column],
        rows,
        strong=[i for i, name in enumerate(found["conditions"]) if name == found["judged"]],
    )


def questions_table(found: Mapping[str, Any] | None) -> Markup:
    """Return the table of every condition's F1 with its interval and exact match; empty without questions."""
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
        f"Training texts of a question answering model, on {count(asked)} held-out questions (95% intervals)",
        ["learned from", "exercises", ANSWER_F1.column, ANSWER_EXACT.column],
        rows,
        strong=[i for i, name in enumerate(found["conditions"]) if name == found["judged"]],
    )

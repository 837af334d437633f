"""The list of all measures by name. A new measure has its own file in this folder, and a line here.

Measures of downstream tasks come with their task (`fedtext.evaluation.tasks`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from fedtext.evaluation.measures import downstream, next_token_accuracy
from fedtext.evaluation.measures.distances import DISTANCES
from fedtext.evaluation.measures.manifolds import PRECISION, RECALL
from fedtext.evaluation.measures.mauve import MAUVE
from fedtext.evaluation.measures.measure import Measure, OnHeldOut, PerText, TextProperty
from fedtext.evaluation.measures.next_token_accuracy import ACCURACY, CROSS_ENTROPY
from fedtext.evaluation.measures.preferences import PAIRWISE_ACCURACY, PAIRWISE_DRAWN, PEOPLE_WIN_RATE, WIN_RATE
from fedtext.evaluation.measures.texts import DISTINCT_2, ILLEGIBLE_TEXTS, REPEATED_TEXTS
from fedtext.evaluation.paired import ordered_conditions
from fedtext.evaluation.scoring import evenly_spaced
from fedtext.evaluation.tasks.known import TASKS
from fedtext.params.evaluation import Evaluation
from fedtext.system.errors import InputError

MEASURES: tuple[Measure, ...] = (
    ACCURACY,
    CROSS_ENTROPY,
    *DISTANCES,
    MAUVE,
    PRECISION,
    RECALL,
    REPEATED_TEXTS,
    DISTINCT_2,
    ILLEGIBLE_TEXTS,
    *(each for task in TASKS for each in task.measures),
    PAIRWISE_ACCURACY,
    PAIRWISE_DRAWN,
    WIN_RATE,
    PEOPLE_WIN_RATE,
)
Kind = TypeVar("Kind", bound=Measure)
_BY_NAME = {one.name: one for one in MEASURES}


def measure(name: str) -> Measure:
    """Return the measure of that name; `top_k` exists for every rank, `macro_f1_of_stars` for every part.

    Raises:
        ValueError: there is no such measure.
    """
    found = _BY_NAME.get(name) or next_token_accuracy.named(name) or downstream.named(name)
    if found is None:
        raise InputError(
            f"no measure is called {name!r}: choose among {', '.join(_BY_NAME)}, or top_k for a rank k",
            code="unknown-measure",
            parameter="evaluation.measures",
            value=name,
        )
    return found


def measures_of_kind(kind: type[Kind], names: Sequence[str]) -> tuple[Kind, ...]:
    """Return those of the named measures that are of one kind, in the order of the names.

    Raises:
        ValueError: a name is no measure's.
    """
    return tuple(one for one in map(measure, names) if isinstance(one, kind))


def set_measures(names: Sequence[str]) -> tuple[Measure, ...]:
    """Return the named measures of sets of texts, as `evaluation.measures` lists them.

    Raises:
        ValueError: a name is no measure's, is a measure on held-out texts, which no list names, or is one whose
            optional package is not installed.
    """
    found = measures_of_kind(Measure, names)
    for one in found:
        if one.needs is not None:
            one.needs.validate_installed(one.name)
    if always := [one.name for one in found if isinstance(one, OnHeldOut)]:
        raise InputError(
            f"{', '.join(always)}: taken on held-out texts, so not named here; name distances and properties of sets "
            "of texts",
            code="measure-on-held-out-texts",
            parameter="evaluation.measures",
            value=always,
        )
    return found


def measures_in_document(document: Mapping[str, Any]) -> tuple[PerText, ...]:
    """Return the measures that an accuracy document of `evaluation.paired` names, the main one first."""
    return measures_of_kind(PerText, document["measures"])


def measured_sets(evaluation: Evaluation, sets: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Compute the measures of texts alone, as the document that a report reads.

    Args:
        evaluation: Which `measures`, and the number of `texts` to use of each set.
        sets: Released or public texts, by the condition that trains on them.

    Returns:
        `measures` (names) and `sets` (condition -> values and number of `texts`).
    """
    measures = measures_of_kind(TextProperty, evaluation.measures)
    taken = {name: evenly_spaced(sets[name], evaluation.texts) for name in ordered_conditions(sets)}
    return {
        "measures": [each.name for each in measures],
        "sets": {
            name: {**{each.name: each.value(texts) for each in measures}, "texts": len(texts)}
            for name, texts in taken.items()
        },
    }

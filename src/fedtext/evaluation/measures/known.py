"""Every measure there is, by name. A new one has a file of its own beside this one, and its line here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from fedtext.evaluation.measures import downstream, next_token_accuracy
from fedtext.evaluation.measures.distances import DISTANCES
from fedtext.evaluation.measures.downstream import CLASSIFICATION, ENTITY_F1, QUESTIONS
from fedtext.evaluation.measures.mauve import MAUVE
from fedtext.evaluation.measures.measure import Measure, OfTexts, OnHeldOut, PerText
from fedtext.evaluation.measures.next_token_accuracy import ACCURACY, CROSS_ENTROPY
from fedtext.evaluation.measures.preferences import PAIRWISE_ACCURACY, PAIRWISE_DRAWN, WIN_RATE
from fedtext.evaluation.measures.texts import DISTINCT_2, ILLEGIBLE_TEXTS, REPEATED_TEXTS
from fedtext.evaluation.paired import in_order
from fedtext.evaluation.scoring import evenly_spaced
from fedtext.params.evaluation import Evaluation
from fedtext.system.errors import InputError

MEASURES: tuple[Measure, ...] = (
    ACCURACY,
    CROSS_ENTROPY,
    *DISTANCES,
    MAUVE,
    REPEATED_TEXTS,
    DISTINCT_2,
    ILLEGIBLE_TEXTS,
    ENTITY_F1,
    *CLASSIFICATION,
    *QUESTIONS,
    PAIRWISE_ACCURACY,
    PAIRWISE_DRAWN,
    WIN_RATE,
)
Kind = TypeVar("Kind", bound=Measure)
_BY_NAME = {one.name: one for one in MEASURES}


def measure(name: str) -> Measure:
    """The measure of that name; `top_k` is one for every rank k, `macro_f1_of_stars` one for every part of the classes.

    Raises:
        ValueError: there is none.
    """
    found = _BY_NAME.get(name) or next_token_accuracy.named(name) or downstream.named(name)
    if found is None:
        raise InputError(f"no measure is called {name!r}: choose among {', '.join(_BY_NAME)}, or top_k for a rank k")
    return found


def of_kind(kind: type[Kind], names: Sequence[str]) -> tuple[Kind, ...]:
    """The named measures of one kind, in the order of the names; measures of other kinds are left out.

    Raises:
        ValueError: a name is nobody's.
    """
    return tuple(one for one in map(measure, names) if isinstance(one, kind))


def of_sets(names: Sequence[str]) -> tuple[Measure, ...]:
    """The named measures of sets of texts, which `evaluation.measures` lists.

    Raises:
        ValueError: a name is nobody's, or is of what is measured on held-out texts and named by no list, or of what
            needs a package that is not installed.
    """
    found = of_kind(Measure, names)
    for one in found:
        if one.needs is not None:
            one.needs.refuse_absent(one.name)
    if always := [one.name for one in found if isinstance(one, OnHeldOut)]:
        raise InputError(
            f"{', '.join(always)}: taken on held-out texts, so not named here; name distances and properties of sets "
            "of texts"
        )
    return found


def in_document(document: Mapping[str, Any]) -> tuple[PerText, ...]:
    """The measures of an accuracy document, the leading one first: `evaluation.paired` names them in it."""
    return of_kind(PerText, document["measures"])


def measured_sets(evaluation: Evaluation, sets: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The document that a report reads of texts alone.

    Args:
        evaluation: Which `measures`, and of how many `texts`.
        sets: Released or public texts, by the name of the condition that trains on them.

    Returns:
        `measures` (names) and `sets` (condition -> values and number of `texts`).
    """
    measures = of_kind(OfTexts, evaluation.measures)
    taken = {name: evenly_spaced(sets[name], evaluation.texts) for name in in_order(sets)}
    return {
        "measures": [each.name for each in measures],
        "sets": {
            name: {**{each.name: each.value(texts) for each in measures}, "texts": len(texts)}
            for name, texts in taken.items()
        },
    }

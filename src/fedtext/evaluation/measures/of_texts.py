"""Properties of sets of texts by themselves, each taken of as many texts of a set as a model is trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fedtext.evaluation.measures.known import of_kind
from fedtext.evaluation.measures.measure import OfTexts
from fedtext.evaluation.paired import in_order
from fedtext.evaluation.scoring import evenly_spaced
from fedtext.params.evaluation import Evaluation


def of_sets(evaluation: Evaluation, sets: Mapping[str, Sequence[str]]) -> dict[str, Any]:
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

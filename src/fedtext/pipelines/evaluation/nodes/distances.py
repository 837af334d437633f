"""What is measured of sets of texts: distances to held-out text, by declared evaluations, and the texts alone."""

from typing import Any

import numpy as np
import pandas as pd

from fedtext.evaluation.distribution import HeldOut, median_distance_to_medoid
from fedtext.evaluation.measures.distances import compared, floors
from fedtext.evaluation.measures.known import of_kind
from fedtext.evaluation.measures.measure import Distance
from fedtext.evaluation.measures.of_texts import of_sets
from fedtext.params.conditions import PUBLIC_CONTROL, SYNTHETIC
from fedtext.params.evaluation import Evaluation


def measure_distances(
    private_test_embeddings: np.ndarray,
    synthetic_embeddings: np.ndarray,
    public_embeddings: np.ndarray,
    evaluation: Evaluation,
    round_embeddings: dict[str, np.ndarray] | None = None,
    rounds: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Distances of every round's candidates, the synthetic and the public texts to held-out text, at one size.

    An algorithm without rounds gives neither their embeddings nor their record.
    """
    round_embeddings, scores = round_embeddings or {}, rounds["released_scores"] if rounds else []
    sets = {SYNTHETIC.name: synthetic_embeddings, PUBLIC_CONTROL.name: public_embeddings}
    smallest = min(len(rows) for rows in (*round_embeddings.values(), *sets.values()))
    held_out = HeldOut.of(private_test_embeddings, smallest_set=smallest, seed=evaluation.seed)
    measures = of_kind(Distance, evaluation.measures)
    candidates = {int(name.removeprefix("round_")) - 1: rows for name, rows in round_embeddings.items()}
    return {
        "rounds": [
            {"adapter": t, "released_score": scores[t], **compared(held_out, rows, measures)}
            for t, rows in candidates.items()
        ],
        "sets": {name: compared(held_out, rows, measures) for name, rows in sets.items()},
        "bias": held_out.floor()._asdict(),
        "floors": {name: floor._asdict() for name, floor in floors(held_out, measures).items()},
        "held_out_texts": len(private_test_embeddings),
        "held_out_distance": median_distance_to_medoid(private_test_embeddings),
    }


def measure_texts(evaluation: Evaluation, **sets: pd.DataFrame) -> dict[str, Any]:
    """What the synthetic texts and the controls' are like by themselves; all of them are released or public."""
    return of_sets(evaluation, {name: texts["text"].tolist() for name, texts in sets.items()})

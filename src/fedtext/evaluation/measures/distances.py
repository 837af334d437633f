"""Distances of a set of texts to held-out text in embedding space (definitions in `evaluation.distribution`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from fedtext.evaluation.distribution import Bias, HeldOut, median_distance_to_medoid, mmd_squared, unbiased_mean_gap
from fedtext.evaluation.measures.measure import Direction, Distance
from fedtext.evaluation.rounds import Candidates
from fedtext.params.conditions import PUBLIC_CONTROL, SYNTHETIC

Row = dict[str, float | int | None]

FID = Distance(
    name="fid",
    title="FID",
    direction=Direction.LOWER,
    value=HeldOut.frechet,
    curve="FID to held-out text",
    rough=True,
)
MEAN_GAP = Distance(
    name="mean_gap",
    title="squared mean gap",
    direction=Direction.LOWER,
    value=lambda held_out, texts: unbiased_mean_gap(texts, held_out.embeddings),
    curve="squared mean gap to held-out text",
    rough=True,
)
MMD = Distance(
    name="mmd_squared",
    title="squared MMD",
    direction=Direction.LOWER,
    decimals=4,
    value=lambda held_out, texts: mmd_squared(texts, held_out.embeddings),
)
FRECHET_MAIN_AXES = Distance(
    name="frechet_main_axes",
    title="Frechet distance on main axes",
    column="Frechet on main axes",
    direction=Direction.LOWER,
    curve="Frechet distance on main axes",
)
MEDIAN_DISTANCE = Distance(
    name="median_distance",
    title="median distance to the medoid",
    column="median distance to medoid",
    direction=Direction.HIGHER,  # small where texts cluster
    decimals=2,
    value=lambda held_out, texts: median_distance_to_medoid(texts),
    curve="median distance to the medoid",
)
DISTANCES = (FID, MEAN_GAP, MMD, FRECHET_MAIN_AXES, MEDIAN_DISTANCE)  # in the order of a table's columns


def compared(held_out: HeldOut, texts: Float[np.ndarray, "text dim"], measures: Sequence[Distance]) -> Row:
    """Return one table row: the distances that exact embeddings allow, by name, and the number of `texts`."""
    taken = {each.name: each.value(held_out, texts) for each in measures if each.value is not None}
    return {**taken, "texts": len(texts)}


def distance_document(
    compare: Callable[[Float[np.ndarray, "text dim"]], Row],
    *,
    synthetic: Float[np.ndarray, "synthetic dim"],
    public: Float[np.ndarray, "public dim"],
    candidates: Iterable[Candidates] = (),
) -> dict[str, Any]:
    """Return `rounds`, a row for each round's candidates, and `sets`, one for the synthetic and the public texts.

    Args:
        compare: Returns a set's row.
        synthetic: Embeddings of the synthetic texts.
        public: Embeddings of the public texts.
        candidates: Those of each adapter that wrote any; an algorithm without rounds has none.
    """
    return {
        "rounds": [
            {"adapter": adapter, "released_score": score, **compare(rows)} for adapter, score, rows in candidates
        ],
        "sets": {SYNTHETIC.name: compare(synthetic), PUBLIC_CONTROL.name: compare(public)},
    }


def floors(held_out: HeldOut, measures: Sequence[Distance]) -> dict[str, Bias]:
    """Return the self-distance of held-out text, for each distance that needs one."""
    taken = {each.name: each.floor(held_out) for each in measures if each.floor is not None}
    return {name: floor for name, floor in taken.items() if floor is not None}


def stddev_of(measure: Distance) -> str:
    """Return the key of the standard deviation that noise adds to a distance in a DP evaluation."""
    return f"{measure.name}_stddev"

"""Distances of a set of texts to held-out text in embedding space (definitions in `evaluation.distribution`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
# Of the pairs that a round trained on, at a size of their own: they compare with one another, and with no other FID.
FID_CHOSEN = Distance(name="fid_chosen", title="FID of chosen texts", direction=Direction.LOWER)
FID_REJECTED = Distance(name="fid_rejected", title="FID of rejected texts", direction=Direction.LOWER)
DISTANCES = (FID, MEAN_GAP, MMD, FRECHET_MAIN_AXES, MEDIAN_DISTANCE)  # in the order of a table's columns


def compared(held_out: HeldOut, texts: Float[np.ndarray, "text dim"], measures: Sequence[Distance]) -> Row:
    """Return one table row: the distances that exact embeddings allow, by name, and the number of `texts`."""
    taken = {each.name: each.value(held_out, texts) for each in measures if each.value is not None}
    return {**taken, "texts": len(texts)}


def pair_distances(
    held_out: Float[np.ndarray, "text dim"], candidates: Sequence[Candidates], *, seed: int
) -> list[Row]:
    """Return for each set of candidates the FIDs of its chosen and its rejected texts (POPri's Figure 8).

    All are at one size. A set without pairs has none.
    """
    sides = [len(rows) for one in candidates for rows in (one.chosen, one.rejected) if len(rows)]
    if not sides or min(sides) < 2 or len(held_out) < 4:
        return [{} for _ in candidates]
    reference = HeldOut.of(held_out, smallest_set=min(sides), seed=seed)
    return [
        {
            FID_CHOSEN.name: reference.frechet(one.embeddings[list(one.chosen)]),
            FID_REJECTED.name: reference.frechet(one.embeddings[list(one.rejected)]),
        }
        if len(one.chosen)
        else {}
        for one in candidates
    ]


def distance_document(
    compare: Callable[[Float[np.ndarray, "text dim"]], Row],
    *,
    synthetic: Float[np.ndarray, "synthetic dim"],
    public: Float[np.ndarray, "public dim"],
    candidates: Sequence[Candidates] = (),
    of_pairs: Sequence[Row] = (),
) -> dict[str, Any]:
    """Return `rounds`, a row for each round's candidates, and `sets`, one for the synthetic and the public texts.

    Args:
        compare: Returns a set's row.
        synthetic: Embeddings of the synthetic texts.
        public: Embeddings of the public texts.
        candidates: Those of each adapter that wrote any; an algorithm without rounds has none.
        of_pairs: For each of them what is added to its row (`pair_distances`).
    """
    beside = of_pairs or [{} for _ in candidates]
    return {
        "rounds": [
            {"adapter": one.adapter, "released_score": one.released_score, **compare(one.embeddings), **added}
            for one, added in zip(candidates, beside, strict=True)
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

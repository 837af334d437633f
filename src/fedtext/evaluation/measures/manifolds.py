"""Precision and recall of a set of texts against held-out text (Kynkäänniemi et al., NeurIPS 2019).

Each set's manifold is estimated as the balls around its embeddings that reach to the k-th nearest neighbour in the same
set. Precision is the share of the texts that lie on the manifold of held-out text: what is written could be real.
Recall is the share of held-out texts that lie on the manifold of the texts: what is real could be written. FID and
MAUVE join the two in one number; here texts that repeat a few kinds show in the recall, and noise in the precision.

Both depend on the encoder and on the sample size, so they compare within one report alone, as FID does: they are means
over the samples that FID uses. Two samples of one distribution stay below 1, which the floors show. One far text has a
wide ball, so a set that is scattered around held-out text can have a high recall.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

from fedtext.evaluation.distribution import Bias, HeldOut, squared_distance_blocks
from fedtext.evaluation.measures.measure import SHARE, Direction, Distance

NEIGHBOURS = 3  # the paper's choice
FEWEST = 20  # texts a side


def on_manifold(
    points: Float[np.ndarray, "point dim"], of: Float[np.ndarray, "text dim"], neighbours: int = NEIGHBOURS
) -> Bool[np.ndarray, " point"]:
    """Mark the points within the ball of at least one text of a set, up to its `neighbours`-th nearest other text.

    Args:
        points: Any embeddings.
        of: The set, of more than `neighbours` embeddings.
        neighbours: k; Equation 1 has the ball around each text.
    """
    reference, asked = (np.asarray(x, dtype=np.float64) for x in (of, points))
    # the nearest of all is the text itself
    nearest = (np.partition(block, neighbours, axis=1) for block in squared_distance_blocks(reference, reference))
    reach = np.concatenate([block[:, neighbours] for block in nearest])
    blocks = squared_distance_blocks(asked, reference)
    return np.concatenate([(block <= reach).any(axis=1) for block in blocks])


def precision(texts: Float[np.ndarray, "text dim"], held_out: Float[np.ndarray, "other dim"]) -> float:
    """Compute the share of texts on the manifold of held-out text."""
    return float(on_manifold(texts, held_out).mean())


def recall(texts: Float[np.ndarray, "text dim"], held_out: Float[np.ndarray, "other dim"]) -> float:
    """Compute the share of held-out texts on the manifold of the texts."""
    return float(on_manifold(held_out, texts).mean())


def _of_set(name: str, value: Callable[[np.ndarray, np.ndarray], float]) -> Distance:
    """Return the measure of a set of texts, None where either side has too few of them."""

    def taken(held_out: HeldOut) -> bool:
        return held_out.size >= FEWEST

    def measured(held_out: HeldOut, texts: Float[np.ndarray, "text dim"]) -> float | None:
        return held_out.over_draws(value, texts) if taken(held_out) else None

    def floor(held_out: HeldOut) -> Bias | None:
        """Compute it of held-out text with itself, which a perfect set would reach: the two halves can be swapped."""
        return held_out.floor(precision) if taken(held_out) else None

    return Distance(
        name=name,
        title=f"{name} of the set",
        column=name,
        direction=Direction.HIGHER,
        unit=SHARE,
        decimals=1,
        value=measured,
        floor=floor,
        fewest=FEWEST,
        curve=f"{name} of the candidates",
    )


PRECISION, RECALL = _of_set("precision", precision), _of_set("recall", recall)

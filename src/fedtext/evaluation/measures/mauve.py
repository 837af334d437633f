"""MAUVE (Pillutla et al., NeurIPS 2021): area under the curve of divergence from what texts miss and what they add.

It is computed by its authors' package, an optional extra (`mauve-text`, GPLv3), on the sentence embeddings of
`models.encoder`; the paper uses features of GPT-2. The value depends on the features and on the sample size, so it
compares within one encoder and `HeldOut.size`, and not with values in papers.

MAUVE is estimated from clusters of texts, so few texts give an unreliable value: a set compared with itself has 0.75 in
some samples of 64 texts, and 1 in all samples of 100. Two samples of one distribution stay below 1 at any size, so
`mauve_floor` is reported beside it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fedtext.evaluation.distribution import Bias, HeldOut
from fedtext.evaluation.measures.measure import Direction, Distance, Extra

PACKAGE = Extra(module="mauve", package="mauve-text")


FEWEST = 100  # texts a side


def mauve_of(held_out: HeldOut, texts: Float[np.ndarray, "text dim"]) -> float | None:
    """Compute MAUVE in (0, 1] of `texts` and held-out text, the mean over the samples that FID uses.

    Returns:
        None where a sample has fewer than `FEWEST` texts.

    Raises:
        ValueError: the package is not installed, or there are fewer texts than `held_out.size`.
    """
    PACKAGE.validate_installed("mauve")
    return held_out.over_draws(_mauve, texts) if held_out.size >= FEWEST else None


def mauve_floor(held_out: HeldOut) -> Bias | None:
    """Compute MAUVE of held-out text with itself, which a perfect set would reach; None for too few texts."""
    return held_out.floor(_mauve) if held_out.size >= FEWEST else None


def _mauve(ours: Float[np.ndarray, "text dim"], theirs: Float[np.ndarray, "other dim"]) -> float:
    from mauve import compute_mauve

    return float(compute_mauve(p_features=theirs, q_features=ours, seed=0, verbose=False).mauve)


MAUVE = Distance(
    name="mauve",
    title="MAUVE",
    direction=Direction.HIGHER,
    value=mauve_of,
    floor=mauve_floor,
    fewest=FEWEST,
    needs=PACKAGE,
)

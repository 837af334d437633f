"""MAUVE (Pillutla et al., NeurIPS 2021): the area under the trade-off between what texts miss and what they make up.

Taken by its authors' package, which is an optional extra (`mauve-text`, GPLv3), on the sentence embeddings of
`models.encoder`: the features of a public model, as the papers' GPT-2 is one. It depends on the features and on the
size, so values compare within one run's encoder and `HeldOut.size`, and with no paper's.

It is an estimate from clusters of some texts each. Of few texts it says next to nothing: a set against itself is 0.75
in some draws of 64 texts, and 1 in all draws of 100. Two samples of one distribution stay below 1 at any size, so
`mauve_floor` stands beside it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fedtext.evaluation.distribution import Bias, HeldOut
from fedtext.evaluation.measures.measure import Direction, Distance, Extra

PACKAGE = Extra(module="mauve", package="mauve-text")


FEWEST = 100  # texts a side


def mauve_of(held_out: HeldOut, texts: Float[np.ndarray, "text dim"]) -> float | None:
    """MAUVE of `texts` against held-out text, the mean over the draws that FID is taken on: in (0, 1].

    None where a draw has fewer than `FEWEST` texts.

    Raises:
        ValueError: the package is not installed, or there are fewer texts than `held_out.size`.
    """
    PACKAGE.refuse_absent("mauve")
    return held_out.over_draws(_mauve, texts) if held_out.size >= FEWEST else None


def mauve_floor(held_out: HeldOut) -> Bias | None:
    """MAUVE of held-out text against itself, which a perfect set would have; None of too few texts."""
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

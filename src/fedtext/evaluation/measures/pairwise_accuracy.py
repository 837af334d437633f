"""Share of held-out private pairs that a scorer orders as their annotators did (evaluation.pairwise)."""

from __future__ import annotations

from fedtext.evaluation.measures.measure import SHARE, Counts, Direction, PerText, Scored

PAIRS = "pairs"


def _mixed(scored: Scored) -> Counts:
    return Counts(scored["right"], scored[PAIRS])


def _drawn(scored: Scored) -> Counts:
    return Counts(scored["right_drawn"], scored[PAIRS])


PAIRWISE_ACCURACY = PerText(
    name="pairwise_accuracy",
    title="pairs ordered rightly",
    noun="accuracy",
    direction=Direction.HIGHER,
    unit=SHARE,
    decimals=1,
    counts=_mixed,
    counted=PAIRS,
)
PAIRWISE_DRAWN = PerText(
    name="pairwise_drawn",
    title="pairs ordered rightly by a head that is drawn",
    column="by a drawn head",
    direction=Direction.HIGHER,
    unit=SHARE,
    decimals=1,
    counts=_drawn,
    counted=PAIRS,
)

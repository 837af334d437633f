"""Next-token accuracy of the on-device model, and its cross-entropy, from the counts of `evaluation.next_token`."""

from __future__ import annotations

import re
from functools import cache, partial

from fedtext.evaluation.measures.measure import NATS, SHARE, Counts, Direction, PerText, Scored

NAME = re.compile(r"top_([1-9]\d*)")
TOKENS = "tokens"


@cache
def top(rank: int) -> PerText:
    """Return the measure of tokens among the model's first `rank` guesses."""
    first = rank == 1
    return PerText(
        name=f"top_{rank}",
        title="next-token accuracy" if first else f"top-{rank} next-token accuracy",
        noun="accuracy" if first else f"top-{rank} accuracy",
        column=f"top {rank}",
        direction=Direction.HIGHER,
        unit=SHARE,
        decimals=1,
        counts=partial(_correct, rank=rank),
        counted=TOKENS,
    )


def ranks_of(scored: Scored) -> tuple[PerText, ...]:
    """Return the accuracies that a condition's counts hold, the main one first."""
    return tuple(top(rank) for rank in scored["top"].tolist())


def named(name: str) -> PerText | None:
    """Return the measure named like `top_3`; None for any other name."""
    found = NAME.fullmatch(name)
    return top(int(found[1])) if found else None


def _correct(scored: Scored, rank: int) -> Counts:
    place = scored["top"].tolist().index(rank)
    return Counts(scored["correct"][:, place], scored[TOKENS])


def _nats(scored: Scored) -> Counts:
    return Counts(scored["nats"], scored[TOKENS])


ACCURACY = top(1)  # the main measure of reports
CROSS_ENTROPY = PerText(
    name="cross_entropy",
    title="cross-entropy of the next token",
    noun="cross-entropy",
    column="cross-entropy",
    direction=Direction.LOWER,
    unit=NATS,
    counts=_nats,
    counted=TOKENS,
)

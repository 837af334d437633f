"""Measures of preferences: pairwise accuracy of a scorer, and win rates of a policy.

- Pairwise accuracy: share of held-out private pairs that a scorer orders as their annotators did (evaluation.pairwise).
- Win rate: how often answers to held-out prompts win against those of the untuned model (evaluation.win_rate).
- People's win rate: how often answers to test pairs' prompts win against those that people chose (DPPrefSyn's tables).
"""

from __future__ import annotations

from dataclasses import dataclass

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


DOCUMENT = "win_rates"
WON, PROMPTS = "won", "prompts"


@dataclass(frozen=True, kw_only=True)
class WinRate(PerText):
    """Mean win probability over prompts, ties count one half."""

    HOME = (DOCUMENT, "conditions")


def _won(scored: Scored) -> Counts:
    return Counts(scored[WON], scored[PROMPTS])


WIN_RATE = WinRate(
    name="win_rate",
    title="wins against the model as it was",
    noun="win rate",
    direction=Direction.HIGHER,
    unit=SHARE,
    decimals=1,
    counts=_won,
    counted=PROMPTS,
)


PEOPLE = "people"


@dataclass(frozen=True, kw_only=True)
class PeopleWinRate(PerText):
    """Mean win probability over prompts of test pairs, ties count one half."""

    HOME = (PEOPLE, "conditions")


PEOPLE_WIN_RATE = PeopleWinRate(
    name="people_win_rate",
    title="wins against the answers that people chose",
    noun="win rate",
    direction=Direction.HIGHER,
    unit=SHARE,
    decimals=1,
    counts=_won,
    counted=PROMPTS,
)

"""The rounds of an algorithm that makes texts in rounds, as it hands them to evaluation and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, NotRequired, TypedDict

import numpy as np
from jaxtyping import Float

from fedtext.system.errors import InputError


class Rounds(TypedDict):
    """What an algorithm reports of its rounds.

    - `released_scores`: one for each set of candidates, the untuned generator's first; None where nothing was released
      that says how good the set is.
    - `stopped`: whether the run ended before its last round.
    - `chosen`: the adapter that wrote the final texts, from 0 (untuned).
    - `pairs`, of an algorithm that trains on pairs: for each set of candidates the rows of the chosen and of the
      rejected ones among those that are not empty; a set that nothing was trained on has none.
    """

    released_scores: list[float | None]
    stopped: bool
    chosen: int
    pairs: NotRequired[list[tuple[list[int], list[int]]]]


class Candidates(NamedTuple):
    """One adapter's candidates: their released score, their embeddings, and the rows of pairs among them, if any."""

    adapter: int
    released_score: float | None
    embeddings: Float[np.ndarray, "candidate dim"]
    chosen: Sequence[int] = ()
    rejected: Sequence[int] = ()


def candidates_of(
    rounds: Rounds | None, embeddings: Mapping[str, Float[np.ndarray, "_ dim"]] | None
) -> list[Candidates]:
    """Return the candidates of each adapter that wrote any; an algorithm without rounds gives neither argument.

    Args:
        rounds: What the algorithm reports.
        embeddings: By `round_01`, ...: the candidates of adapter 0, 1, ... without those of empty sets.

    Raises:
        InputError: A set of candidates has no place among the scores.
    """
    if rounds is None or embeddings is None:
        return []
    scores = rounds["released_scores"]
    by_adapter = {int(name.removeprefix("round_")) - 1: rows for name, rows in embeddings.items()}
    if (last := max(by_adapter, default=-1)) >= len(scores):
        raise InputError(
            f"the rounds report {len(scores)} scores, but adapter {last} has candidates too: report one score, or "
            "null, for each set of candidates",
            code="scores-do-not-fit-rounds",
            value=len(scores),
        )
    pairs = dict(enumerate(rounds.get("pairs", ())))
    return [
        Candidates(adapter, scores[adapter], rows, *pairs.get(adapter, ((), ())))
        for adapter, rows in by_adapter.items()
    ]

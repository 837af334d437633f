"""What one round hands to the next, early stopping, and which adapter makes the final set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fedtext.algorithms.popri.labels import label_index
from fedtext.algorithms.popri.scoring.by_name import scoring_of
from fedtext.algorithms.popri.scoring.single_release import SingleRelease
from fedtext.embedding.blanks import written
from fedtext.params.popri import Popri
from fedtext.system.missing import nullable


def next_state(
    state: dict[str, Any],
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    scores: np.ndarray,
    released: np.ndarray | None,
    pairs: pd.DataFrame,
    popri: Popri,
) -> dict[str, Any]:
    """State after a round: its number, the released scores so far, and figures of the released candidates.

    A round without candidates is one that was skipped because the run had stopped early: it has no score.
    """
    full = written(candidate_embeddings)
    texts = candidates["text"].to_numpy()[full]
    label = label_index(nullable(candidates["label"]), popri)
    score = released_score(candidates["text"].tolist(), candidate_embeddings, label, scores, released, popri)
    history = [*state["released_scores"], score]
    return {
        "round": state["round"] + 1,
        "stopped": candidates.empty or stopped_early([s for s in history if s is not None], popri),
        "released_scores": history,
        "released_score": score,
        "pairs": len(pairs),
        "candidates": len(texts),
        "distinct_candidates": len(set(texts)),
        "score_gap": float((pairs["chosen_score"] - pairs["rejected_score"]).mean()) if len(pairs) else 0.0,
    }


def released_score(
    texts: Sequence[str],
    candidate_embeddings: Float[np.ndarray, "candidate dim"],
    candidate_label: Int[np.ndarray, " candidate"],
    scores: Float[np.ndarray, " candidate"],
    released: Float[np.ndarray, "class feature"] | None,
    popri: Popri,
) -> float | None:
    """How good this round's candidates are by released values alone; larger is better.

    None without any text, and with ballots, which rank within a round only (scoring.every_round).
    """
    scoring, full = scoring_of(popri), written(candidate_embeddings)
    if not full.any() or not isinstance(scoring, SingleRelease) or released is None:
        return None
    seen = scoring.seen(texts, candidate_embeddings, popri)
    return scoring.of_round(seen[full], candidate_label[full], scores[full], released, popri)


def stopped_early(history: Sequence[float], popri: Popri) -> bool:
    """Whether the released score has not improved for `popri.patience` rounds."""
    if popri.patience is None or len(history) <= popri.patience:
        return False
    return max(history[-popri.patience :]) <= max(history[: -popri.patience])


def chosen_adapter(scored: Sequence[float | None], popri: Popri) -> int:
    """Which adapter makes the final set, from the released score of each adapter's candidates (adapter 0 is untrained).

    An unscored last adapter is taken if the last scored one is the best: scores were still rising.
    """
    last = len(scored) - 1
    if popri.checkpoint == "last":
        return last
    known = {a: s for a, s in enumerate(scored) if s is not None and np.isfinite(s)}
    if not known:
        return last
    best = max(known, key=lambda a: (known[a], a))
    return last if scored[last] is None and best == max(known) else best

"""Good and bad texts of every class (Algorithm 3, SampleSelection): the highest of the near and of the far votes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fedtext.algorithms.wasp.votes import FAR, NEAR
from fedtext.params.wasp import Wasp

GOOD, BAD = "good", "bad"
COLUMNS = ("kind", "label", "model", "text")


def chosen_examples(candidates: pd.DataFrame, scores: Float[np.ndarray, "part candidate"], wasp: Wasp) -> pd.DataFrame:
    """`wasp.shown` good and as many bad texts of each class, the best and the worst first, whoever wrote them.

    A good text is never also bad, and nothing empty is either. A class with few texts gives all of its first half as
    good ones. Without far votes none is bad.

    Returns:
        Columns `kind`, `label`, `model`, `text`.
    """
    written = (candidates["text"] != "").to_numpy()
    found = []
    for label in wasp.classes:
        own = np.flatnonzero(written & of_class(candidates, label))
        chosen = {GOOD: _highest(scores[NEAR], own, min(wasp.shown, (len(own) + 1) // 2))}
        if wasp.contrast:
            chosen[BAD] = _highest(scores[FAR], np.setdiff1d(own, chosen[GOOD]), wasp.shown)
        for kind, rows in chosen.items():
            found.append(candidates.iloc[rows].assign(kind=kind)[list(COLUMNS)])
    return pd.concat(found, ignore_index=True)


def of_class(table: pd.DataFrame, label: str | None) -> np.ndarray:
    """Which rows are of a class; all, where there is no class."""
    return np.ones(len(table), dtype=bool) if label is None else (table["label"] == label).to_numpy()


def _highest(scores: Float[np.ndarray, " text"], among: Int[np.ndarray, " row"], count: int) -> np.ndarray:
    """Rows of the highest scores, highest first, of equals the first row first."""
    return np.asarray(among[np.argsort(-scores[among], kind="stable")[:count]])

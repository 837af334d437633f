"""What texts are worth in private samples: a curve of models trained on fewer and fewer private samples.

The largest size is drawn several times, since draws differ by more than most algorithms do; the median draw is the
condition `private`. A set of texts is worth as many private samples as reach its level on the curve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fedtext.corpora.records import spread_samples
from fedtext.evaluation.measures.measure import PerText, Scored
from fedtext.params.conditions import EPS0, PRIVATE
from fedtext.params.evaluation import Evaluation


class PrivateDraw(NamedTuple):
    """One draw of private samples."""

    size: int
    number: int
    texts: list[str]

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"{self.size} private texts, draw {self.number + 1}"


def draw_private_samples(private_train: pd.DataFrame, evaluation: Evaluation) -> list[PrivateDraw]:
    """Return `evaluation.private_draws` draws of the largest size, then one of each smaller size of the curve.

    Where all samples are taken there is one draw.
    """
    most = min(evaluation.private_texts or len(private_train), len(private_train))
    largest = evaluation.private_draws if most < len(private_train) else 1
    sizes = [(most, number) for number in range(largest)]
    sizes += [(size, 0) for size in sorted(set(evaluation.private_curve)) if size < most]
    return [
        PrivateDraw(size, number, spread_samples(private_train, size, number)["text"].tolist())
        for size, number in sizes
    ]


def median_draw(measure: PerText, draws: Sequence[Scored]) -> int:
    """Return the position of the median draw by a measure, of an even number the lower one."""
    order = np.argsort([measure.ratio(one).estimate for one in draws], kind="stable")
    return int(order[(len(order) - 1) // 2])


def stacked(sets: Sequence[Scored]) -> dict[str, np.ndarray]:
    """Return the counts of several trainings as one set of arrays, one row a training."""
    shared = set.intersection(*(set(one) for one in sets))
    return {name: np.stack([one[name] for one in sets]) for name in sorted(shared)}


def sample_curve(stack: Scored, measures: Sequence[PerText]) -> list[dict[str, float]]:
    """Return one row a size, in ascending order: `texts`, `draws`, and each measure's median over the draws.

    `low` and `high` are the lowest and highest draw by the first measure.
    """
    lead, *_ = measures
    sets = [{name: rows[i] for name, rows in stack.items()} for i in range(len(stack["texts"]))]
    rows = []
    for size in sorted({int(one["texts"]) for one in sets}):
        own = [one for one in sets if int(one["texts"]) == size]
        middle = own[median_draw(lead, own)]
        levels = [lead.ratio(one).estimate for one in own]
        rows.append(
            {
                "texts": size,
                "draws": len(own),
                **{each.name: each.ratio(middle).estimate for each in measures},
                "low": min(levels),
                "high": max(levels),
            }
        )
    return rows


def worth(measure: PerText, curve: Sequence[Mapping[str, float]], levels: Mapping[str, float]) -> dict[str, Any]:
    """Return how many private samples each condition is worth, by a measure.

    Between the measured sizes the curve is a straight line; where more samples did worse it stays at its best.

    Args:
        measure: The measure whose levels are compared.
        curve: What `sample_curve` returned.
        levels: The level of each condition; that of the public model is the level of no samples.

    Returns:
        `samples`: by condition, None for more than the curve's largest size; `most`: that size. Empty where private
        samples brought nothing above the public model.
    """
    sizes = [0, *(int(row["texts"]) for row in curve)]
    reached = [measure.improvement(level) for level in (levels[EPS0.name], *(row[measure.name] for row in curve))]
    best = np.maximum.accumulate(reached)
    if best[-1] <= best[0]:
        return {}
    samples: dict[str, int | None] = {}
    for name, level in levels.items():
        if name in (EPS0.name, PRIVATE.name):
            continue
        own = measure.improvement(level)
        samples[name] = None if own > best[-1] else round(float(_size_of(own, best, sizes)))
    return {"samples": samples, "most": sizes[-1]}


def _size_of(level: float, reached: np.ndarray, sizes: Sequence[int]) -> float:
    """Return the smallest size at which the curve reaches a level."""
    at = int(np.searchsorted(reached, level))
    if at == 0:
        return 0.0
    low, high = float(reached[at - 1]), float(reached[at])
    return sizes[at - 1] + (sizes[at] - sizes[at - 1]) * (level - low) / (high - low)

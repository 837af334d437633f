"""Conditions: train the on-device model on a condition's texts, count what it gets right in each held-out text.

All conditions are scored on the same held-out texts, so their differences are paired by client (evaluation.paired).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from fedtext.evaluation.fine_tuning import CHOSEN, fine_tune_and_count
from fedtext.evaluation.published_metric import fine_tune_and_score_as_published
from fedtext.params.evaluation import Evaluation
from fedtext.seeding import stream

if TYPE_CHECKING:
    from fedtext.models.language_model import LanguageModel


def held_out_sample(count: int, params: Evaluation) -> Int[np.ndarray, " sample"]:
    """Sorted positions of the held-out samples to evaluate on: all, or `params.max_eval_samples` drawn once a run."""
    if count <= params.max_eval_samples:
        return np.arange(count)
    drawn = stream(params.seed, "held-out samples").choice(count, params.max_eval_samples, replace=False)
    return np.sort(drawn)


def evenly_spaced(texts: Sequence[str], most: int) -> list[str]:
    """At most `most` of the texts: every condition trains on as many."""
    rows = np.linspace(0, len(texts) - 1, min(most, len(texts))).astype(np.int64)
    return [texts[row] for row in rows]


def score_conditions(
    on_device: LanguageModel,
    conditions: Mapping[str, Sequence[str]],
    held_out: Sequence[str],
    evaluation: Evaluation,
    *,
    length: int,
) -> dict[str, dict[str, np.ndarray]]:
    """Train the on-device model on each condition's texts (none: leave it) and count what it gets right.

    Returns:
        By condition, arrays of `NextTokenCounts` over the held-out texts, `texts` (given to train on), what was chosen
        on them (`learning_rate`, `epochs` and, if texts were held out, `held_out_loss`), and with
        `evaluation.published_metric` the released code's figures, each under its own name.
    """
    recipe: dict[str, Any] = {"length": length, "seed": evaluation.seed}
    scored = {}
    for name, (counts, facts) in fine_tune_and_count(on_device, conditions, held_out, evaluation, **recipe).items():
        published = {}
        if evaluation.published_metric:
            texts = conditions[name]
            published = fine_tune_and_score_as_published(on_device, texts, held_out, evaluation, label=name, **recipe)
        chosen = {fact: facts[fact] for fact in CHOSEN if facts.get(fact) is not None}
        scalars = {"texts": facts["texts"], **chosen, **published}
        scored[name] = counts.arrays() | {fact: np.asarray(value) for fact, value in scalars.items()}
    return scored

"""The table of conditions: what the on-device model reaches after each kind of training text, and what that is worth.

A private method earns its privacy only if it beats both controls that spend none: as many public texts, and as many
texts of the untuned generator. A generator is worth having only if it beats, at the same epsilon, the public texts that
match the release. All conditions are scored on the same held-out texts, so differences are paired by client; their
intervals cover the draw of the held-out clients, not the randomness of training (use seeds for that).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from fedtext.evaluation.next_token import NextTokenCounts, fine_tune_and_count
from fedtext.evaluation.published_metric import fine_tune_and_score_as_published, published_figures
from fedtext.evaluation.ratios import Ratio, clustered_ratio
from fedtext.params.evaluation import Evaluation
from fedtext.seeding import stream

if TYPE_CHECKING:
    from fedtext.models.language_model import LanguageModel

PUBLIC, PRIVATE, MATCHED, SYNTHETIC = "eps0", "private", "matched_control", "synthetic"
JUDGED = (SYNTHETIC, "trained_model")  # what an algorithm made: text to train on, or the model itself
CONTROLS = ("public_control", "untuned_control", MATCHED)
CONDITIONS = {
    "eps0": "public model, no fine-tuning (ε = 0)",
    "public_control": "the same number of public texts",
    "untuned_control": "samples of the untuned generator",
    "matched_control": "public texts that match the release (same ε)",
    "synthetic": "the private synthetic texts",
    "trained_model": "the private text, under differential privacy",
    "private": "the private text itself (ε = ∞)",
}


def held_out_sample(count: int, params: Evaluation) -> Int[np.ndarray, " sample"]:
    """Sorted positions of the held-out samples to evaluate on: all, or `params.max_eval_samples` drawn once a run."""
    if count <= params.max_eval_samples:
        return np.arange(count)
    drawn = stream(params.seed, "held-out samples").choice(count, params.max_eval_samples, replace=False)
    return np.sort(drawn)


def score_condition(
    on_device: LanguageModel,
    texts: Sequence[str],
    held_out: Sequence[str],
    evaluation: Evaluation,
    *,
    length: int,
    label: str,
) -> dict[str, np.ndarray]:
    """Train the on-device model on `texts` (none: leave it) and count what it gets right in each held-out text.

    Returns:
        Arrays of `NextTokenCounts`, `texts` (trained on), and with `evaluation.published_metric` the released code's
        figures, each under its own name.
    """
    recipe: dict[str, Any] = {"length": length, "seed": evaluation.seed, "label": label}
    counts, facts = fine_tune_and_count(on_device, texts, held_out, evaluation, **recipe)
    published = {}
    if evaluation.published_metric:
        published = fine_tune_and_score_as_published(on_device, texts, held_out, evaluation, **recipe)
    scalars = {"top": counts.top, "texts": facts["texts"], **published}
    found = {name: np.asarray(value) for name, value in scalars.items()}
    return {"correct": counts.correct, "tokens": counts.tokens, "nats": counts.nats, **found}


def compare_scored(
    scored: Mapping[str, Mapping[str, np.ndarray]], clients: Int[np.ndarray, " text"] | None = None
) -> dict[str, Any]:
    """What `score_condition` gave for each condition as `conditions` (name -> figures) and `compare_conditions`."""
    counts = {
        name: NextTokenCounts(tuple(c["top"].tolist()), c["correct"], c["tokens"], c["nats"])
        for name, c in scored.items()
    }
    table = {
        name: {**counts[name].summary(clients), "texts": int(c["texts"]), **published_figures(c)}
        for name, c in scored.items()
    }
    return {"conditions": table, **compare_conditions(counts, clients)}


def compare_conditions(
    counts: Mapping[str, NextTokenCounts], clients: Int[np.ndarray, " text"] | None = None
) -> dict[str, Any]:
    """Paired differences in the first accuracy, and the share of the gap each condition closes.

    Returns:
        `judged`: which condition is the algorithm's own. `gains`: name -> reference -> `{estimate, low, high,
        measurable}`, against eps0 and the controls where scored; measurable means that the 95% interval excludes 0.
        `gap_closed`: name -> `{share, low, high, reason}`.
    """
    references = [name for name in (PUBLIC, *CONTROLS) if name in counts]
    gains = {
        name: {
            reference: _described(_difference(counts[name], counts[reference], clients))
            for reference in references
            if reference != name
        }
        for name in counts
        if name != PUBLIC
    }
    closed = {}
    if PUBLIC in counts and PRIVATE in counts:
        closed = {
            name: gap_closed(counts[name], counts[PUBLIC], counts[PRIVATE], clients)
            for name in counts
            if name not in (PUBLIC, PRIVATE)
        }
    judged = next((name for name in JUDGED if name in counts), None)
    return {"judged": judged, "gains": gains, "gap_closed": closed}


def gap_closed(
    counts: NextTokenCounts,
    public: NextTokenCounts,
    private: NextTokenCounts,
    clients: Int[np.ndarray, " text"] | None = None,
) -> dict[str, Any]:
    """Share (acc - acc_0) / (acc_inf - acc_0) of the gap, with its 95% interval; None, and why, if there is no gap."""
    gap = _difference(private, public, clients)
    if gap.low <= 0:
        reason = (
            f"no gap to close: training on the private text itself changes accuracy by {100 * gap.estimate:+.1f} "
            f"points (95% interval {100 * gap.low:+.1f} to {100 * gap.high:+.1f}), which is within noise or a loss"
        )
        return {"share": None, "low": None, "high": None, "reason": reason}
    gained = counts.correct[:, 0] - public.correct[:, 0]
    share = clustered_ratio(gained, private.correct[:, 0] - public.correct[:, 0], clients)
    return {"share": share.estimate, "low": share.low, "high": share.high, "reason": None}


def _difference(a: NextTokenCounts, b: NextTokenCounts, clients: Int[np.ndarray, " text"] | None) -> Ratio:
    if not np.array_equal(a.tokens, b.tokens) or a.top[0] != b.top[0]:
        raise ValueError("two conditions were scored on different held-out texts or ranks; score them on the same")
    return clustered_ratio(a.correct[:, 0] - b.correct[:, 0], a.tokens, clients)


def _described(ratio: Ratio) -> dict[str, Any]:
    measurable = ratio.low > 0 or ratio.high < 0
    return {"estimate": ratio.estimate, "low": ratio.low, "high": ratio.high, "measurable": measurable}

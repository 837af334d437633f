"""Compare conditions by a ratio of sums over held-out texts: values, paired differences, share of the gap closed.

All conditions are scored on the same held-out texts, so differences are paired by client. Their intervals cover the
sampling of held-out clients, not the randomness of training (use seeds for that).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from fedtext.evaluation.measures.measure import Counts, OnHeldOut, PerText, Scored
from fedtext.evaluation.ratios import Ratio, clustered_ratio
from fedtext.evaluation.scoring import published_figures
from fedtext.params.conditions import CONDITIONS, CONTROLS, EPS0, JUDGED, PRIVATE
from fedtext.system.errors import InputError

Clusters = Int[np.ndarray, " text"]


def compare_scored(
    scored: Mapping[str, Scored],
    measures: Sequence[PerText],
    clients: Clusters | None = None,
    *,
    beside: Sequence[OnHeldOut] = (),
) -> dict[str, Any]:
    """Return the document that a report reads of conditions scored on the same held-out texts.

    Args:
        scored: Counts of each condition.
        measures: Measures to show; conditions are compared by the first.
        clients: The client of each text; by default each text is its own.
        beside: Measures that are kept and not shown.

    Returns:
        `measures` (names), `conditions` (name -> values, `low` and `high` of the first measure, number of training
        `texts`) and what `compare_conditions` returns, with the remaining gap by the measures of `beside` too.
    """
    lead, *_ = measures
    table = {}
    for name, one in scored.items():
        ratios = {each.name: each.ratio(one, clients) for each in (*measures, *beside)}
        table[name] = {
            **{key: ratio.estimate for key, ratio in ratios.items()},
            lead.counted: int(lead.counts(one).denominator.sum()),
            "low": ratios[lead.name].low,
            "high": ratios[lead.name].high,
            "texts": int(one["texts"]),
            **published_figures(one),
        }
    compared = compare_conditions(lead, {name: lead.counts(one) for name, one in scored.items()}, clients)
    for each in beside:
        if isinstance(each, PerText) and compared["remaining_gap"]:
            counts = {name: each.counts(one) for name, one in scored.items()}
            compared["remaining_gap"][each.name] = remaining_gap(each, counts, clients)
    return {"measures": [each.name for each in measures], "conditions": table, **compared}


def compare_conditions(
    measure: PerText, counts: Mapping[str, Counts], clients: Clusters | None = None
) -> dict[str, Any]:
    """Compute paired differences in a measure, and the share of the gap that each condition closes.

    Returns:
        `judged`: the condition that an algorithm made. `gains`: name -> reference -> `{estimate, low, high,
        measurable}`, against the public model and the baselines where scored; measurable means that the 95% interval
        excludes 0. `gap_closed`: name -> `{share, low, high, reason}`. `remaining_gap`: the measure's name -> what
        `remaining_gap` returns; empty where a baseline or the private text was not scored.
    """
    gains = {
        name: {other: as_document(_difference(counts[name], counts[other], clients)) for other in others}
        for name, others in pairs(counts).items()
    }
    closed = {}
    if EPS0.name in counts and PRIVATE.name in counts:
        ends = counts[EPS0.name], counts[PRIVATE.name]
        closed = {name: gap_closed(measure, counts[name], *ends, clients) for name in gap_conditions(counts)}
    remaining = remaining_gap(measure, counts, clients)
    return {
        "judged": evaluated_condition(counts),
        "gains": gains,
        "gap_closed": closed,
        "remaining_gap": {measure.name: remaining} if remaining else {},
    }


def remaining_gap(
    measure: PerText, counts: Mapping[str, Counts], clients: Clusters | None = None
) -> dict[str, Any] | None:
    """Compute the share of what is left above the best baseline that the judged condition closes.

    It is (m - m_control) / (m_inf - m_control) for the baseline with the best value. All baselines are free of privacy
    cost, or free once the release is there: what the judged texts add to the best one is what the private text added.

    Returns:
        `{control, share, low, high, reason}`; None where the judged condition, a baseline or the private text was not
        scored.
    """
    judged, control = evaluated_condition(counts), best_control(measure, {n: _level(c) for n, c in counts.items()})
    if judged is None or control is None or PRIVATE.name not in counts:
        return None
    closed = gap_closed(measure, counts[judged], counts[control], counts[PRIVATE.name], clients)
    return {"control": control, **closed}


def best_control(measure: PerText, levels: Mapping[str, float]) -> str | None:
    """Return the baseline with the best value of a measure; None if none was scored."""
    scored = [one.name for one in CONTROLS if one.name in levels]
    return max(scored, key=lambda name: measure.improvement(levels[name]), default=None)


def _level(counts: Counts) -> float:
    return float(counts.numerator.sum() / counts.denominator.sum())


def evaluated_condition(names: Mapping[str, Any] | Sequence[str]) -> str | None:
    """Return the condition that an algorithm made; None if there is none."""
    return next((one.name for one in JUDGED if one.name in names), None)


def ordered_conditions(names: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """Return the names that are conditions, in the order of reports."""
    return [name for name in CONDITIONS if name in names]


def pairs(names: Mapping[str, Any] | Sequence[str]) -> dict[str, list[str]]:
    """Return for every condition but the public model its references: the public model and the baselines."""
    references = [one.name for one in (EPS0, *CONTROLS) if one.name in names]
    return {name: [one for one in references if one != name] for name in names if name != EPS0.name}


def gap_conditions(names: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """Return the conditions that can close a part of the gap from the public model to the private text."""
    return [name for name in names if name not in (EPS0.name, PRIVATE.name)]


def gap_closed(
    measure: PerText, counts: Counts, public: Counts, private: Counts, clients: Clusters | None = None
) -> dict[str, Any]:
    """Compute the share (m - m_0) / (m_inf - m_0) of the gap, with its 95% interval.

    If there is no gap to close, the share is None and a reason is given.
    """
    gap = _difference(private, public, clients)
    if min(measure.improvement(gap.low), measure.improvement(gap.high)) <= 0:
        reason = (
            f"no gap to close: training on the private text itself changes {measure.noun} by "
            f"{measure.change(gap.estimate)} {measure.unit.step} (95% interval {measure.change(gap.low)} to "
            f"{measure.change(gap.high)}), which is within noise or a loss"
        )
        return {"share": None, "low": None, "high": None, "reason": reason}
    whole = private.numerator - public.numerator
    share = clustered_ratio(counts.numerator - public.numerator, whole, clients)
    return {"share": share.estimate, "low": share.low, "high": share.high, "reason": None}


def as_document(found: Ratio) -> dict[str, Any]:
    """Return a difference as a JSON document for a report."""
    measurable = found.low > 0 or found.high < 0
    return {"estimate": found.estimate, "low": found.low, "high": found.high, "measurable": measurable}


def _difference(a: Counts, b: Counts, clients: Clusters | None) -> Ratio:
    if not np.array_equal(a.denominator, b.denominator):
        raise InputError(
            "two conditions were scored on different held-out texts; score them on the same",
            code="held-out-texts-differ",
        )
    return clustered_ratio(a.numerator - b.numerator, a.denominator, clients)

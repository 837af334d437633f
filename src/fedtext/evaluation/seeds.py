"""Several runs that differ in their seeds only, as one table: means with 95% t intervals, differences paired by run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fedtext.evaluation.conditions import CONDITIONS, CONTROLS, PUBLIC
from fedtext.evaluation.intervals import Interval, mean_interval, paired_difference

FLOOR = "held-out text against itself"


class Row(NamedTuple):
    """One quantity over all runs; `scale` and `decimals` say how to print it."""

    quantity: str
    interval: Interval
    scale: float = 1.0
    decimals: int = 3


def across_seeds(cards: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Accuracy of each condition, gains of the synthetic texts, and FIDs, over the scorecards of several runs."""
    if not cards:
        raise ValueError("no scorecards: run with at least one seed")
    tables = [card["accuracy"]["conditions"] for card in cards]
    judged = cards[0]["accuracy"]["judged"]
    names = [name for name in CONDITIONS if all(name in table for table in tables)]
    top = {name: [table[name]["top_1"] for table in tables] for name in names}
    rows = [Row(f"top-1 accuracy, {CONDITIONS[name]}, %", mean_interval(top[name]), 100, 1) for name in names]
    rows += [
        Row(f"{CONDITIONS[judged]} minus {CONDITIONS[name]}, points", paired_difference(top[judged], top[name]), 100, 1)
        for name in (PUBLIC, *CONTROLS)
        if name in top
    ]
    return [*rows, *_distances([card["distribution"] for card in cards if card["distribution"]])]


def _distances(found: Sequence[Mapping[str, Any]]) -> list[Row]:
    if not found:
        return []
    names = [name for name in found[0]["sets"] if all(name in each["sets"] for each in found)]
    fid = {name: [each["sets"][name]["fid"] for each in found] for name in names}
    rows = [Row(f"FID, {CONDITIONS.get(name, name)}", mean_interval(fid[name])) for name in names]
    rows.append(Row(f"FID, {FLOOR}", mean_interval([each["bias"]["mean"] for each in found])))
    if {"synthetic", "untuned_control"} <= fid.keys():
        rows.append(
            Row("FID, synthetic minus untuned generator", paired_difference(fid["synthetic"], fid["untuned_control"]))
        )
    return rows


def render_markdown(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table: mean, 95% interval, number of runs."""
    lines = ["| quantity | mean | 95% interval | runs |", "|---|---:|---:|---:|"]
    for row in rows:
        mean, *ends = (
            "–" if value is None else f"{row.scale * value:.{row.decimals}f}"
            for value in (row.interval.mean, row.interval.low, row.interval.high)
        )
        lines.append(f"| {row.quantity} | {mean} | {' to '.join(ends)} | {row.interval.runs} |")
    return "\n".join(lines) + "\n"

"""A downstream task as a value: what the graph, the scorecard and the report need to know of it.

A task trains a model on each condition's texts and tests it on held-out text. A module of this package defines one, and
`known.TASKS` lists it. Next-token prediction is no such task: it is always measured, and leads every report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fedtext.evaluation.measures.measure import OnHeldOut, Scored
from fedtext.evaluation.paired import ordered_conditions
from fedtext.params.evaluation import TaskParameters

HELD_OUT = "private_test_sample"
Scores = dict[str, np.ndarray]
Document = Mapping[str, Any]


class Table(NamedTuple):
    """A table of the report; `strong` are the numbers of the rows to stress."""

    caption: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    strong: Sequence[int] = ()


class TaskNode(NamedTuple):
    """A function and its inputs: data sets and parameters by argument."""

    function: Callable[..., Any]
    inputs: Mapping[str, str]


class PrivateRelease(NamedTuple):
    """A task under DP evaluation: the noisy release, and the comparison that is computed from it alone.

    Attributes:
        release: Takes also `ledger` and the scores of each condition; returns the noisy sums and the charged ledger.
        compare: Takes also `sums`, `ledger` and the texts of each condition.
    """

    release: TaskNode
    compare: TaskNode


def no_limits(document: Document) -> list[str]:
    """Return no sentence, for a task whose table needs none."""
    return []


@dataclass(frozen=True, kw_only=True, eq=False)
class DownstreamTask:
    """One downstream task.

    Attributes:
        name: Key in scorecards, and part of the names of data sets and files.
        verb: Names the nodes: `classify` in `classify_public_control`.
        group: Dotted name of its parameters, and `parameters` their model.
        measures: Its measures, which comparisons know by name.
        inputs: Inputs of a training, by argument; the condition's texts are the last argument, `texts`.
        trainer: Creates the function that trains on a condition's texts and returns scores for each held-out text;
            `private`: for the private text itself, the non-private bound.
        compare: Aggregates the scores of all conditions; takes also `private_test_sample` and `partition`.
        untrained: The model before any training, epsilon = 0, if it can do the task.
        private: Its release under DP evaluation; None: it is measured without DP evaluation only.
        tables: Returns the report's tables of the document that `compare` returns.
        limits: Returns sentences on the limits of these tables.
    """

    name: str
    verb: str
    group: str
    parameters: type[TaskParameters]
    measures: tuple[OnHeldOut, ...]
    inputs: Mapping[str, str]
    trainer: Callable[[bool], Callable[..., Scores]]
    compare: TaskNode
    tables: Callable[[Document], Sequence[Table]]
    limits: Callable[[Document], list[str]] = field(default=no_limits)
    untrained: TaskNode | None = None
    private: PrivateRelease | None = None


def in_report_order(conditions: Mapping[str, Scored]) -> dict[str, Scored]:
    """Return the scores of the conditions in the order of reports."""
    return {name: conditions[name] for name in ordered_conditions(conditions)}


def stressed(document: Document) -> list[int]:
    """Return the number of the row of the evaluated condition, if it is there."""
    return [i for i, name in enumerate(document["conditions"]) if name == document["judged"]]

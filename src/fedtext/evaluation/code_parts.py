"""Control codes by their parts: a classifier learns and is judged by each part alone, as category or stars of reviews.

What learns, from how much and on which texts it is judged, is as for the classes themselves; a text whose code is not
declared has no part either. A part that has one value in all declared codes has nothing to tell apart and is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from fedtext.evaluation.measures.classification import GIVEN, TRUE, key_of
from fedtext.params.task import Task, parts_of
from fedtext.system.missing import nullable

View = Callable[[pd.DataFrame], pd.DataFrame]  # a table of labelled texts, with the labels that are judged by
Judge = Callable[[Task, View], dict[str, np.ndarray]]  # one condition, judged by the classes of a task


class Part(NamedTuple):
    """A part of control codes by its name; the classes of `task` are its values."""

    name: str
    task: Task
    value: dict[str, str]  # of each declared code

    def view(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table with the part's value for a label, None where the code is not declared."""
        values = [self.value.get(label) for label in nullable(table["label"])]
        return table.assign(label=pd.Series(values, index=table.index, dtype=object))


def code_parts(task: Task, names: Sequence[str]) -> tuple[Part, ...]:
    """The parts of the task's codes, `names` in their order; none where classes have but one part."""
    if len(names) < 2:
        return ()
    found = []
    for place, name in enumerate(names):
        value = {label: parts_of(label)[place] for label in task.labels}
        values = tuple(dict.fromkeys(value.values()))
        if len(values) > 1:
            found.append(Part(name, task.model_copy(update={"labels": values}), value))
    return tuple(found)


def judged_with_parts(judge: Judge, task: Task, names: Sequence[str]) -> dict[str, np.ndarray]:
    """What `judge` finds by the classes, and beside it the true and the given value of every part."""
    scored = judge(task, lambda table: table)
    for part in code_parts(task, names):
        found = judge(part.task, part.view)
        scored |= {key_of(name, part.name): found[name] for name in (TRUE, GIVEN)}
    return scored

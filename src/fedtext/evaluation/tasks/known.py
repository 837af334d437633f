"""The list of all downstream tasks, in the order of reports. A new task has its own file, and a line here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fedtext.evaluation.tasks.classification import CLASSIFICATION
from fedtext.evaluation.tasks.entities import ENTITIES
from fedtext.evaluation.tasks.questions import QUESTIONS
from fedtext.evaluation.tasks.task import DownstreamTask

TASKS: tuple[DownstreamTask, ...] = (
    CLASSIFICATION,
    ENTITIES,
    QUESTIONS,
)


def measured_tasks(documents: Mapping[str, Any]) -> Iterator[tuple[DownstreamTask, Mapping[str, Any]]]:
    """Yield each task that was measured, with its document: `documents` has them by the tasks' names, or None."""
    return ((task, documents[task.name]) for task in TASKS if documents.get(task.name) is not None)

"""The report's tables of entities and of questions: a row a condition, our own stressed, nothing where nothing was asked."""

from __future__ import annotations

from typing import Any

from fedtext.evaluation.tasks.known import TASKS
from fedtext.reporting.tables import task_tables


def found(**values: float) -> dict[str, Any]:
    own = {"texts": 40, "low": 0.1, "high": 0.312, **values}
    return {
        "judged": "synthetic",
        "kinds": ["place"],
        "head": "logistic",
        "conditions": {"public_control": own, "synthetic": own},
    }


def test_questions_stand_with_their_interval_and_how_many_were_asked() -> None:
    page = task_tables({"questions": found(answer_f1=0.2345, answer_exact=0.1, questions=1200)})
    assert "on 1,200 held-out questions" in page
    assert page.count("23.4% (10.0 to 31.2)") == page.count("10.0%</td>") == 2
    assert page.count("<tr class=strong>") == 1


def test_entities_stand_with_their_kinds() -> None:
    page = task_tables({"entities": found(entity_f1=0.5)})
    assert "a logistic regression on words and their neighbours that finds entities: place" in page
    assert page.count("50.0% (10.0 to 31.2)") == 2


def test_without_a_document_there_is_no_table() -> None:
    assert task_tables({}) == task_tables({task.name: None for task in TASKS}) == ""

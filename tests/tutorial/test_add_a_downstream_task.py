"""docs/tutorial_add_a_downstream_task.md: its files, in a copy of the project, are a task that a job measures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tutorial.pages import files, run

PAGE = "tutorial_add_a_downstream_task.md"
SMALL = (
    "vocabulary.measured=true,corpus.max_clients=90,corpus.public_texts=60,zero_shot.texts=20,"
    "task.labels=asyncio email,classification.measured=false,"
    "evaluation.texts=20,evaluation.private_texts=20,evaluation.max_eval_samples=30"
)


def test_it_touches_three_files_at_most() -> None:
    assert len(files(PAGE)) <= 3


def test_the_files_read_as_the_project_s_own(project: Path) -> None:
    written = [one.path for one in files(PAGE) if one.path.endswith(".py")]
    run(project, "ruff", "check", *written)
    run(project, "ruff", "format", "--check", *written)


@pytest.mark.slow
def test_the_tests_of_all_tasks_pass_with_it(project: Path) -> None:
    said = run(project, "pytest", "-q", "-p", "no:cacheprovider", "tests/evaluation/tasks/test_known.py")
    assert "vocabulary" in run(project, "pytest", "--collect-only", "-q", "tests/evaluation/tasks/test_known.py")
    assert " passed" in said


GRAPH = """
from tests.pipelines.conftest import configure

from fedtext.pipeline_registry import register_pipelines
from fedtext.system.refusal import RunRefusedError


def graph(**parameters):
    configure(**parameters)
    return register_pipelines()["pe"]


job = graph(vocabulary={"measured": True})
assert {"pe_downstream_vocabulary", "private_downstream_vocabulary_private"} <= job.all_outputs()
assert "evaluation.pe.learn_words_synthetic" in {node.name for node in job.nodes}
assert "pe_downstream_vocabulary" not in graph().all_outputs()
for parameters, wanted in (
    ({"vocabulary": {"measured": True}, "corpus": {"declared_public": False}}, "words have no such release"),
    ({"vocabulary": {"measured": "perhaps"}}, "vocabulary.measured"),
):
    try:
        graph(**parameters)
    except RunRefusedError as error:
        assert wanted in str(error), error
    else:
        raise AssertionError(parameters)
print("as the page says")
"""


def test_the_graph_has_it_where_it_is_measured_and_refuses_it_where_it_cannot_be(project: Path) -> None:
    (project / "graph.py").write_text(GRAPH)
    assert "as the page says" in run(project, "graph")


@pytest.mark.slow  # the project's own tiny jobs run at every commit
def test_the_job_measures_and_reports_it(project: Path) -> None:
    run(project, "kedro", "run", "--pipelines", "zero_shot", "--env", "tiny", "--params", SMALL)
    reporting = project / "data" / "tiny" / "08_reporting" / "zero_shot"
    card = json.loads((reporting / "scorecard.json").read_text())
    found = card["vocabulary"]["conditions"]
    assert card["vocabulary"] == json.loads((reporting / "vocabulary.json").read_text())
    assert all(0 < found[name]["known_words"] < 1 for name in ("synthetic", "public_control", "private"))
    assert "Words of held-out text" in (reporting / "report.html").read_text()

"""docs/tutorial_add_a_measure.md: its files, in a copy of the project, do what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tutorial.pages import copy_of_the_project, files, patched, run, write

PAGE = "tutorial_add_a_measure.md"


@pytest.mark.slow
def test_a_measure_touches_four_files_and_passes_its_test(tmp_path: Path) -> None:
    shown = files(PAGE)
    assert len(shown) <= 4
    project = copy_of_the_project(tmp_path)
    write(shown, project)
    run(project, "pytest", "-q", "-p", "no:cacheprovider", "tests/evaluation/measures/test_finished_texts.py")
    taken = (
        "from fedtext.evaluation.measures.known import set_measures\n"
        "from fedtext.evaluation.measures.measure import TextProperty\n"
        "import yaml, pathlib\n"
        "given = yaml.safe_load(pathlib.Path('conf/base/parameters/evaluation.yml').read_text())['evaluation']['measures']\n"
        "print([one.name for one in set_measures(given.split()) if isinstance(one, TextProperty)])"
    )
    (project / "taken.py").write_text(taken)
    assert "finished_texts" in run(project, "taken")


def test_a_diff_must_name_one_place() -> None:
    assert patched("a\nb\nc\n", "@@\n a\n-b\n+B\n@@\n+d\n c\n") == "a\nB\nd\nc\n"
    for diff in ("-x\n+y\n", " a\n+b\n"):
        with pytest.raises(ValueError, match="must name one place"):
            patched("a\na\n", diff)

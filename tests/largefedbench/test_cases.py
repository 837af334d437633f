"""The inputs on which the builder once failed give what docs/experiments/largefedbench_cases.md says."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from benchmarks.largefedbench_cases import table
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base

PAGE = Path(__file__).parents[2] / "docs" / "experiments" / "largefedbench_cases.md"


@pytest.mark.shared
def test_the_page_says_what_each_case_gives(shared: Path) -> None:
    made = table(shared.parent / "cases/largefedbench", partial(conf_base, LargeFedBench))
    assert made.count("\n") > 30
    assert made in PAGE.read_text("utf-8")

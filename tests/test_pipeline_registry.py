"""Algorithms are found where they are defined, and those that they depend on exist."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fedtext import pipelines
from fedtext.pipeline_registry import algorithms
from fedtext.wiring.algorithm import OutputType
from tests.refusals import refuses

DEFINITION = """
from kedro.pipeline import Pipeline

from fedtext.wiring.algorithm import Algorithm, OutputType

ALGORITHM = Algorithm("{name}", "Found", "nobody, never", OutputType.TEXTS, lambda: Pipeline([]), depends_on={depends_on!r})
"""


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder whose packages count as pipelines of fedtext."""
    monkeypatch.setattr(pipelines, "__path__", [*pipelines.__path__, str(tmp_path)])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("fedtext.pipelines."):
            del sys.modules[name]


def define(folder: Path, package: str, name: str, depends_on: str | None = None) -> None:
    (folder / package).mkdir()
    (folder / package / "__init__.py").touch()
    (folder / package / "pipeline.py").write_text(DEFINITION.format(name=name, depends_on=depends_on))


def test_the_papers_are_found_in_order_and_say_what_they_make() -> None:
    found = algorithms()
    assert list(found) == sorted(found)
    assert {name: one.makes for name, one in found.items()} == {
        "ctcl": OutputType.TEXTS,
        "dp_fedavg": OutputType.MODEL,
        "dp_ft": OutputType.POLICY,
        "dp_ftrl": OutputType.MODEL,
        "dp_prediction": OutputType.TEXTS,
        "dp_rft": OutputType.TEXTS,
        "dp_sgd_generation": OutputType.TEXTS,
        "dpprefsyn": OutputType.PREFERENCES,
        "flexible": OutputType.TEXTS,
        "fusegen": OutputType.TEXTS,
        "pe": OutputType.TEXTS,
        "pe_sft": OutputType.TEXTS,
        "popri": OutputType.TEXTS,
        "wasp": OutputType.TEXTS,
        "zero_shot": OutputType.TEXTS,
    }
    assert len({one.title for one in found.values()}) == len(found)
    assert found["pe_sft"].depends_on == "pe"


def test_no_pipeline_looks_its_settings_up() -> None:
    """They are passed (`fedtext.wiring.pipeline_settings`): a graph depends on nothing else."""
    sources = {path: path.read_text(encoding="utf-8") for path in Path(*pipelines.__path__).rglob("*.py")}
    assert [path for path, text in sources.items() if re.search(r"\bactive_|loader_for|\.active\b", text)] == []
    assert sum("settings: Settings" in text for text in sources.values()) > 15


def test_an_algorithm_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        algorithms()["popri"].title = "another"  # type: ignore[misc]


def test_a_new_algorithm_needs_no_list(beside: Path) -> None:
    define(beside, "newcomer", "newcomer", depends_on="popri")
    assert algorithms()["newcomer"].outputs.synthetic == "newcomer_synthetic"


def test_algorithms_may_share_a_pipeline_and_no_name(beside: Path) -> None:
    define(beside, "family", "older")
    module = beside / "family" / "pipeline.py"
    shared = "ALGORITHMS = (ALGORITHM, replace(ALGORITHM, name='younger'))\ndel ALGORITHM\n"
    module.write_text("from dataclasses import replace\n" + module.read_text() + shared)
    assert {"older", "younger"} < algorithms().keys()
    define(beside, "younger", "younger")
    with refuses("algorithm-defined-twice", value="younger"):
        algorithms()


def test_a_name_that_is_not_its_folder_s_is_refused(beside: Path) -> None:
    define(beside, "newcomer", "other")
    with refuses("algorithm-of-other-name", value="other"):
        algorithms()


def test_nothing_stands_on_what_is_not_there(beside: Path) -> None:
    define(beside, "newcomer", "newcomer", depends_on="nowhere")
    with refuses("unknown-dependency", value="nowhere"):
        algorithms()

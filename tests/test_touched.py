"""Which tests a change asks for."""

from __future__ import annotations

from pathlib import Path

import grimp
import pytest

from tests.touched import ROOT, module_of, touched_by


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("fedtext")


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("src/fedtext/privacy/noise.py", "fedtext.privacy.noise"),
        ("src/fedtext/params/__init__.py", "fedtext.params"),
        ("tests/privacy/test_noise.py", ""),
        ("src/fedtext/reporting/templates/page.html", ""),
    ],
)
def test_a_source_file_has_a_module(file: str, module: str) -> None:
    assert module_of(file) == module


def test_a_module_s_own_tests_come_before_those_of_its_importers(graph: grimp.ImportGraph) -> None:
    asked = touched_by(["src/fedtext/privacy/noise.py"], graph, ROOT)
    assert asked[0] == "tests/privacy/test_noise.py"
    assert any(one.startswith("tests/federation") for one in asked)
    assert not any(one.startswith("tests/largefedbench") for one in asked)
    assert all((ROOT / one).exists() for one in asked)


def test_configuration_and_pages_have_their_contracts(graph: grimp.ImportGraph) -> None:
    assert touched_by(["conf/base/globals.yml"], graph, ROOT) == ["tests/contracts"]
    assert touched_by(["docs/privacy.md"], graph, ROOT) == ["tests/contracts/test_docs.py"]


def test_what_is_gone_and_what_has_no_test_asks_for_nothing(graph: grimp.ImportGraph, tmp_path: Path) -> None:
    assert touched_by(["tests/privacy/test_gone.py", "LICENSE"], graph, tmp_path) == []


def test_a_module_may_have_several_files_of_tests(graph: grimp.ImportGraph) -> None:
    asked = touched_by(["src/fedtext/training/dpo.py"], graph, ROOT)
    assert asked[:2] == ["tests/training/test_dpo.py", "tests/training/test_dpo_shared_prompt.py"]

"""What resuming takes a result to depend on, for every registered pipeline."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from kedro.pipeline.node import Node

import fedtext
from fedtext.privacy.tags import Tag
from fedtext.resuming import source_digest
from fedtext.resuming.decision import function_name
from fedtext.resuming.source_digest import SourceTree, source_tree, statements
from tests.contracts.test_pipelines import every_node, jobs

SOURCE = Path(str(fedtext.__file__)).parent
TELLS_OF_IT = re.compile(r"fedtext\.(reporting\b.*|.*\b(cost|wording|figures\w*|tables|report|html|card)\b.*)")


def strangers(node: Node) -> set[str]:
    """Modules that a node's code stands on and that only tell of a result."""
    return {module for module in source_tree("fedtext").closure([function_name(node)]) if TELLS_OF_IT.fullmatch(module)}


def test_no_result_depends_on_how_it_is_told() -> None:
    """Editing a cost row, a table or a figure makes nothing again that the algorithms made."""
    for name, job in jobs().items():
        results = {f"{name}_{made}" for made in ("synthetic", "model", "pairs", "policy")} & job.all_outputs()
        assert results, name
        for node in job.to_outputs(*results).nodes:
            assert not strangers(node), f"{node.name} depends on {strangers(node)}"


def test_no_release_depends_on_how_it_is_told() -> None:
    releases = [node for node in every_node() if Tag.RELEASE in node.tags]
    assert len(releases) >= 5
    for node in releases:
        assert not strangers(node), f"{node.name} depends on {strangers(node)}"


def edited(package: Path, file: str) -> set[str]:
    """Nodes whose code is another after a line of `file` was added to a copy of the package."""
    nodes = {node.name: function_name(node) for node in every_node()}
    before = _digests(nodes)
    (package / file).write_text((package / file).read_text("utf-8") + "\nADDED = 1\n", "utf-8")
    statements.cache_clear()
    after = _digests(nodes)
    return {name for name in nodes if before[name] != after[name]}


def _digests(nodes: Mapping[str, str]) -> dict[str, str]:
    tree = SourceTree("fedtext")
    return {name: tree.digest([function]) for name, function in nodes.items()}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    copy = tmp_path / "fedtext"
    for path in SOURCE.rglob("*.py"):
        (copy / path.relative_to(SOURCE)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy / path.relative_to(SOURCE))
    spec = ModuleSpec("fedtext", None)
    spec.submodule_search_locations = [str(copy)]
    monkeypatch.setattr(source_digest, "find_spec", lambda _: spec)
    yield copy
    statements.cache_clear()


@pytest.mark.slow
def test_another_cost_row_makes_nothing_again_but_itself(package: Path) -> None:
    assert edited(package, "algorithms/popri/cost.py") == {"popri.count_communication"}


@pytest.mark.slow
def test_another_form_of_a_cost_row_trains_nothing_again(package: Path) -> None:
    counts = edited(package, "federation/communication.py")
    assert {"dp_fedavg.count_communication", "dp_ftrl.count_communication"} <= counts
    assert not {name for name in counts if "release" in name or "train" in name or "generate" in name}


@pytest.mark.slow
def test_another_figure_makes_no_samples_again(package: Path) -> None:
    assert edited(package, "reporting/figures_partition.py") == {"draw_partition"}


@pytest.mark.parametrize("name", ["popri.count_communication", "draw_partition"])
def test_a_node_that_tells_of_it_is_seen_to_do_so(name: str) -> None:
    (node,) = [node for node in every_node() if node.name == name]
    assert strangers(node)

"""What resuming takes a result to depend on, for every registered pipeline."""

from __future__ import annotations

import re

import pytest
from kedro.pipeline.node import Node

from fedtext.privacy.tags import Tag
from fedtext.resuming.decision import function_name
from fedtext.resuming.source_digest import source_tree
from tests.contracts.test_pipelines import every_node, jobs

TELLS_OF_IT = re.compile(r"fedtext\.(reporting\b.*|.*\b(cost|wording|figures\w*|tables|report|html|card)\b.*)")


def strangers(node: Node) -> set[str]:
    """Modules that a node's code stands on and that only tell of a result."""
    return {module for module in source_tree("fedtext").closure([function_name(node)]) if TELLS_OF_IT.fullmatch(module)}


def test_no_result_depends_on_how_it_is_told() -> None:
    """Editing a cost row, a table or a figure makes nothing again that the algorithms made."""
    for name, job in jobs().items():
        results = {f"{name}_synthetic", f"{name}_model"} & job.all_outputs()
        assert results, name
        for node in job.to_outputs(*results).nodes:
            assert not strangers(node), f"{node.name} depends on {strangers(node)}"


def test_no_release_depends_on_how_it_is_told() -> None:
    releases = [node for node in every_node() if Tag.RELEASE in node.tags]
    assert len(releases) >= 5
    for node in releases:
        assert not strangers(node), f"{node.name} depends on {strangers(node)}"


@pytest.mark.parametrize("name", ["popri.count_communication", "draw_partition"])
def test_a_node_that_tells_of_it_is_seen_to_do_so(name: str) -> None:
    (node,) = [node for node in every_node() if node.name == name]
    assert strangers(node)

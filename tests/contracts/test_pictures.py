"""The pictures of the algorithms are those of the registered graphs, and show who releases what."""

from __future__ import annotations

import re

import pytest
from kedro.pipeline import Node, Pipeline

from docs_site.pictures import FOLDER, ROOT, boxes, drawn, pictures, ranks
from tests.contracts.test_pipelines import registered


def test_the_pictures_are_those_of_the_graphs() -> None:
    registered()
    made = pictures()
    assert {path.stem: path.read_text("utf-8") for path in FOLDER.glob("*.svg")} == made, (
        "an algorithm's graph has changed: run python -m docs_site.pictures"
    )
    page = (ROOT / "docs" / "pictures.md").read_text("utf-8")
    assert set(re.findall(r"algorithms/(\w+)\.svg", page)) == set(made)


def node(inputs: str, output: str, *, tags: str = "") -> Node:
    return Node(lambda *_: 1, inputs.split(), output, name=output, tags=tags or None)


GRAPH = Pipeline(
    [
        node("private_x", "private_y"),
        node("private_y", "sum", tags="release"),
        node("sum", "a.round_01.text"),
        node("a.round_01.text", "a.round_02.text"),
        node("a.round_02.text sum", "last"),
    ]
)


def test_rounds_are_one_and_a_step_that_releases_is_marked() -> None:
    found, edges = boxes(GRAPH)
    assert {name: (box.kind, box.in_round) for name, box in found.items()} == {
        "private_y": ("private", False),
        "sum": ("release", False),
        "a.round.text": ("public", True),
        "last": ("public", False),
    }
    assert edges == {("private_y", "sum"), ("sum", "a.round.text"), ("a.round.text", "last")}
    assert [*ranks(found, edges).values()] == sorted(ranks(found, edges).values())


@pytest.mark.parametrize("title", ["a & b", "<script>"])
def test_a_title_is_text(title: str) -> None:
    assert title not in drawn(title, GRAPH)

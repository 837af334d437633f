"""Which public text a graph begins with, and that a described one reads nothing private."""

from __future__ import annotations

import pytest
from kedro.pipeline import Pipeline

from fedtext.pipelines.sources.pipeline import described_text_pipeline, public_text_pipeline
from tests.pipelines.conftest import configure

KIND = "questions that customers ask their bank"


def job(**corpus: str) -> Pipeline:
    from fedtext.pipeline_registry import register_pipelines

    configure(corpus=corpus)
    return register_pipelines()["popri"]


@pytest.mark.parametrize(
    ("corpus", "nodes"),
    [
        ({}, {"read_public_records"}),
        ({"description": KIND}, {"propose_topics", "write_described_texts"}),
        ({"description": KIND, "public_path": "mine.csv"}, {"read_public_records"}),  # the user's own text comes first
    ],
)
def test_public_text_is_the_user_s_else_as_described_else_docstrings(corpus: dict[str, str], nodes: set[str]) -> None:
    configure(corpus=corpus)
    assert {node.name for node in public_text_pipeline().nodes} == nodes
    found = {node.name for node in job(**corpus).nodes}
    assert found & {"read_public_records", "propose_topics", "write_described_texts"} == nodes


def test_the_flow_check_finds_nothing_and_nothing_private_is_read() -> None:
    from fedtext.pipeline_registry import register_pipelines
    from fedtext.wiring.config import ProjectConfigLoader, privacy_class
    from fedtext.wiring.hooks import check_registered_pipelines

    configure(corpus={"description": KIND})
    assert check_registered_pipelines(register_pipelines()) == []
    loader = ProjectConfigLoader.active
    assert loader is not None
    names = {name for name in described_text_pipeline().datasets() if not name.startswith("params:")}
    assert names == {"generator", "encoder", "public_topics", "public_records"}
    assert {privacy_class(name, loader["catalog"][name]) for name in names} == {"public"}

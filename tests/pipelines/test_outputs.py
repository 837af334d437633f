"""The outputs that algorithms have in common."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.wiring.config import loader_for
from tests.pipelines.conftest import ROOT


def nodes(**given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the nodes of each job by name."""
    from kedro.framework.startup import bootstrap_project

    from fedtext.pipeline_registry import register_pipelines

    bootstrap_project(ROOT)
    loader_for(None, given, None)
    return {name: {node.name: node for node in graph.nodes} for name, graph in register_pipelines().items()}


@pytest.mark.parametrize(
    ("corpus", "written"),
    [
        ({}, True),  # docstrings are described by conf/base
        ({"description": None}, False),
        ({"source": "table", "path": "mine.csv", "description": "letters"}, True),
        ({"source": "table", "path": "mine.csv", "description": "letters", "public_path": "public.csv"}, False),
    ],
)
def test_texts_of_a_described_kind_are_sorted_for_reading(corpus: dict[str, Any], written: bool) -> None:
    found = nodes(corpus=corpus)
    assert ("popri.choose_for_reading" in found["popri"]) == written
    assert ("pe.choose_for_reading" in found["pe"]) == written
    assert not [name for name in found["dp_fedavg"] if "for_reading" in name], "it makes a model"


def test_popri_writes_what_is_read_apart_and_others_choose_among_their_synthetic_texts() -> None:
    found = nodes()
    read = {name: found[name][f"{name}.choose_for_reading"].inputs[0] for name in ("popri", "pe")}
    assert read == {"popri": "popri_reading_pool", "pe": "pe_synthetic"}
    assert found["popri"]["popri.write_for_reading"].outputs == ["popri_reading_pool"]


def test_nothing_is_written_for_reading_if_no_texts_are_asked_for() -> None:
    found = nodes(for_reading={"texts": 0})
    assert not [name for names in found.values() for name in names if name.endswith("for_reading")]

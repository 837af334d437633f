"""Kedro-Viz shows layers only where their order is acyclic; one cycle anywhere hides all of them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro_viz.services.layers import sort_layers

from fedtext.wiring.config import ProjectConfigLoader
from fedtext.wiring.guard.catalog import entry
from tests.contracts.test_pipelines import registered


@dataclass
class Drawn:
    """What Kedro-Viz's sorting looks at in a node of the graph."""

    layer: str | None = None


def layers(pipeline: Pipeline) -> list[str]:
    """The layers of a pipeline as Kedro-Viz orders them; none where they are circular."""
    assert ProjectConfigLoader.active is not None
    resolver = DataCatalog.from_config(ProjectConfigLoader.active["catalog"]).config_resolver
    said = {
        name: (entry(name, resolver).get("metadata") or {}).get("kedro-viz", {}).get("layer")
        for name in pipeline.datasets()
        if not name.startswith("params:")
    }
    drawn = {name: Drawn(layer) for name, layer in said.items()} | {node.name: Drawn() for node in pipeline.nodes}
    below: dict[str, set[str]] = {name: set() for name in drawn}
    for node in pipeline.nodes:
        below[node.name] |= set(node.outputs)
        for name in node.inputs:
            if name in below:
                below[name].add(node.name)
    return sort_layers(drawn, below)


@pytest.mark.parametrize("popri", [{}, {"scoring": "mean_cosine", "checkpoint": "fid_on_private_validation"}])
def test_every_pipeline_s_layers_have_an_order(popri: dict[str, str]) -> None:
    found = {name: layers(pipeline) for name, pipeline in registered(**popri).items()}
    assert [name for name, ordered in found.items() if not ordered] == []
    assert found["dp_ftrl"] == found["dp_fedavg"] == found["popri"]

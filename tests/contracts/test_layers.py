"""Kedro-Viz shows layers only where their order is acyclic; one cycle anywhere hides all of them.

It draws every namespace as a box, and an arrow through a box counts as much as one between two data sets. So the order
is asked of Kedro-Viz itself, as its page asks for it.
"""

from __future__ import annotations

import pytest
from kedro.io import DataCatalog
from kedro_viz.data_access.managers import DataAccessManager

from fedtext.wiring.config import ProjectConfigLoader
from tests.contracts.test_pipelines import registered

ORDER = ["public", "private", "released", "held-out evaluation", "report"]
ALGORITHMS = {"ctcl", "dp_rft", "popri", "pe", "pe_sft", "dp_fedavg", "dp_ftrl", "dp_prediction", "dp_sgd_generation"}


def layers(**popri: str) -> dict[str, list[str]]:
    """The layers of every pipeline as Kedro-Viz orders them; none where they are circular."""
    pipelines = registered(**popri)
    assert ProjectConfigLoader.active is not None
    shown = DataAccessManager()
    shown.add_catalog(DataCatalog.from_config(ProjectConfigLoader.active["catalog"]), pipelines)
    shown.add_pipelines(pipelines)
    found = {}
    for name in pipelines:
        shown.create_modular_pipelines_tree_for_registered_pipeline(name)
        found[name] = shown.get_sorted_layers_for_registered_pipeline(name)
    return found


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("popri", [{}, {"scoring": "mean_cosine", "checkpoint": "fid_on_private_validation"}])
def test_every_pipeline_s_layers_have_an_order(popri: dict[str, str]) -> None:
    found = layers(**popri)
    assert [name for name, ordered in found.items() if not ordered] == []
    assert {name: found[name] for name in ALGORITHMS} == dict.fromkeys(ALGORITHMS, ORDER)

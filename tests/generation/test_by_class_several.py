"""Generators side by side, out of the catalog that a run has: two temperatures of one model, and a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from kedro.framework.startup import bootstrap_project
from kedro.io import DataCatalog

from fedtext.generation.by_class import texts_side_by_side
from fedtext.generation.generators.endpoint import EndpointGenerator
from fedtext.generation.generators.local import LocalGenerator
from fedtext.generation.prompt_forms import SampleList
from fedtext.models.endpoint import _described
from fedtext.models.generator import Generator
from fedtext.params.generation import Sampler
from fedtext.wiring.config import ProjectConfigLoader, loader_for
from fedtext.wiring.generators import generator_inputs
from fedtext.wiring.pipeline_settings import Settings
from tests.openai_server import Served, serving
from tests.parameters import conf_base
from tests.refusals import refuses

ROOT = Path(__file__).parents[2]
WARM = {
    "warm": {"source": "bundled:generator", "temperature": 1.2},
    "cold": {"source": "bundled:generator", "temperature": 0.01},
}


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    _described.cache_clear()
    yield
    ProjectConfigLoader.active = None


def catalog(plms: Any) -> DataCatalog:
    bootstrap_project(ROOT)
    return DataCatalog.from_config(loader_for(None, {"models": {"plms": plms}})["catalog"])


def generators(plms: Any) -> dict[str, Generator]:
    entries = catalog(plms)
    return {name: entries.load(entry) for name, entry in generator_inputs(sorted(plms)).items()}


def side_by_side(given: dict[str, Generator]) -> pd.DataFrame:
    # What follows is told apart by more than bfloat16 rounds by: nearly equal tokens would be drawn by lot when cold.
    request = SampleList().request(["Close the file.", "Open the file.", "Read the file."])
    prompts = pd.DataFrame({"prompt_id": [0, 1], "prompt": [request, request], "label": [None, None]})
    return texts_side_by_side(
        given,
        dict.fromkeys(given, prompts),
        responses=2,
        sampler=conf_base(Sampler, max_new_tokens=8),
        length=6,
        seed=0,
        label="texts",
    )


def test_two_temperatures_and_a_server_write_side_by_side() -> None:
    with serving(Served()) as served:
        given = generators({**WARM, "far": {"base_url": served.url, "model": "tiny"}})
        assert list(given) == ["cold", "far", "warm"]
        assert [type(one) for one in given.values()] == [LocalGenerator, EndpointGenerator, LocalGenerator]
        table = side_by_side(given)
    assert table.groupby("generator").size().to_dict() == {"cold": 4, "far": 4, "warm": 4}
    written = {name: rows["text"].tolist() for name, rows in table.groupby("generator")}
    assert len(set(written["cold"])) == 1
    assert len(set(written["warm"])) > 1
    alone = side_by_side({"warm": given["warm"]})
    assert alone["text"].tolist() == written["warm"]


def test_a_name_that_is_not_there_is_told_with_those_that_are() -> None:
    with refuses("unknown-generator", parameter="models.plms", value="hot"):
        catalog(WARM).get("plm_hot")


def test_names_that_cannot_be_arguments_are_refused() -> None:
    bootstrap_project(ROOT)
    settings = Settings(loader_for(None, {"models": {"plms": {"a-b": "bundled:generator"}}}))
    with refuses("unusable-generator-names", parameter="models.plms"):
        assert settings.generators

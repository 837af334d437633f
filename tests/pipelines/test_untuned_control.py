"""When the untuned generator writes a control of its own: not where the public texts are such texts already."""

from __future__ import annotations

from typing import Any

import pytest
from kedro.framework.startup import bootstrap_project

from fedtext.wiring.config import loader_for
from fedtext.wiring.pipeline_settings import Settings
from tests.pipelines.conftest import ROOT

BOTH, ONE = ["public_control", "untuned_control"], ["public_control"]
QUESTIONS = {"source": "table", "path": "mine.csv", "description": "questions that customers ask their bank"}
PAGE = {"prompt": "My question about {topic}: {text}\\n"}
COOLER = {"texts": {"sampler": {"temperature": 0.8}}}


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("env", "given", "controls"),
    [
        (None, {}, ONE),
        (None, {"corpus": QUESTIONS, "generation": PAGE}, ONE),
        (None, {"corpus": QUESTIONS, "generation": {"prompt": "chat"}}, ONE),  # neither shows examples
        # Drawn otherwise, written by another model, a user's own, asked for beside examples: texts of another kind.
        (None, {"described": COOLER}, BOTH),
        (None, {"models": {"describer": "bundled:generator"}}, BOTH),
        (None, {"models": {"describer": "smollm2"}}, ONE),
        (None, {"corpus": {"public_path": "theirs.csv"}}, BOTH),
        (None, {"generation": {"prompt": "list"}}, BOTH),
        ("tiny", {}, BOTH),
        # Side by side or not, texts are the same.
        (None, {"described": {"texts": {"sampler": {"batch_size": 8}}}}, ONE),
        # Whoever says so is heard.
        (None, {"evaluation": {"untuned": {"written": True}}}, BOTH),
        ("tiny", {"evaluation": {"untuned": {"written": False}}}, ONE),
    ],
)
def test_public_texts_of_the_generators_own_hand_are_its_control(
    env: str | None, given: dict[str, Any], controls: list[str]
) -> None:
    from fedtext.pipeline_registry import register_pipelines

    bootstrap_project(ROOT)
    settings = Settings(loader_for(env, given))
    assert list(settings.evaluation.public_controls) == controls
    graph = register_pipelines()["popri"]
    counts = {f"private_counts_{name}" for name in BOTH} & graph.datasets()
    assert counts == {f"private_counts_{name}" for name in controls}
    assert ("untuned_texts" in graph.datasets()) == (controls == BOTH)
    compared = next(node for node in graph.nodes if counts & set(node.inputs))
    assert counts <= set(compared.inputs), "all controls are judged together"

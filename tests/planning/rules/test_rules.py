"""Every node that is given a model has a rule, every rule has a node, and rules count as the algorithms do."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.evaluation.measures.measure import Extra
from fedtext.federation.units import Population
from fedtext.params.dp_sgd_generation import DpSgdGeneration
from fedtext.params.popri import Popri
from fedtext.planning.rules import RULES, Given, rule_of
from fedtext.planning.rules.given import nothing
from fedtext.wiring.config import active_parameters
from tests.contracts.graphs import registered
from tests.parameters import conf_base, parameters

MODELS = {
    *("generator", "downstream", "describer", "on_device", "encoder", "judge", "classifier", "masked", "tagger"),
    "features",
}
POPULATION = Population(enrolled=1000, training=800, test=150, source="declared")
LABELS = {"task": {"labels": "a b"}}
VARIANTS: list[dict[str, Any]] = [
    {},
    {
        **LABELS,
        "popri": {
            "scoring": "mean_cosine",
            "prompt_pool": "random",
            "oversample": 1.0,
            "checkpoint": "fid_on_private_validation",
        },
        "pe": {"form": "aug_pe", "lookahead": 4, "final": "accumulated"},
        "evaluation": {
            "questions": {"measured": True},
            "entities": {"measured": True, "head": "fine_tuned"},
            "untuned": {"written": True},
            "measures": "fid mauve",
        },
        "models": {"features": "bundled:on_device"},
        "policies": {
            "judge": "reward",
            "membership": {"measured": True},
            "neural_reward": {"measured": True},
            "against_people": True,
        },
        "dp_ft": {"form": "unprotected"},
        "dpprefsyn": {"alignment": "sft_rloo", "form": "clustered", "heads": 2, "heads_by": "difference"},
    },
    {"evaluation": {"dp": True}, "policies": {"judge": "model"}, "dpprefsyn": {"alignment": "sft_dpo"}},
]


def is_model(name: str) -> bool:
    return name in MODELS or name.startswith("plm_")


@pytest.fixture(scope="module")
def nodes() -> dict[str, Given]:
    """What the rule of each node that is given a model is given, by its name, in all pipelines and some variants."""
    found = {}
    for variant in VARIANTS:
        with pytest.MonkeyPatch.context() as patch:  # no package is needed for a graph
            patch.setattr(Extra, "validate_installed", lambda *_: None)
            pipelines = registered(None, **variant)
        for pipeline in pipelines.values():
            for node in pipeline.nodes:
                if models := tuple(name for name in node.inputs if is_model(name)):
                    found[node.name] = Given(active_parameters(), POPULATION, 3, models, len(node.inputs))
    return found


def test_every_node_that_is_given_a_model_has_a_rule_and_every_rule_a_node(nodes: dict[str, Given]) -> None:
    assert len(nodes) > 100
    rules = {name: rule_of(name) for name in nodes}
    assert [name for name, rule in rules.items() if rule is None] == []
    used = {id(rule) for rule in rules.values()}
    assert [name for name, rule in RULES.items() if rule is not nothing and id(rule) not in used] == []


def test_every_rule_gives_work_of_models_that_its_node_has(nodes: dict[str, Given]) -> None:
    for name, given in nodes.items():
        for work in rule_of(name)(given):  # type: ignore[misc] - the test above says that there is one
            assert work.tokens > 0, name
            assert work.at_once >= 1, name
            assert not work.model or work.model in given.models, name


def test_popri_writes_as_many_texts_as_it_says() -> None:
    given, popri = Given(parameters(), POPULATION), conf_base(Popri)
    written = [rule_of(f"popri.{name}")(given)[0].texts for name in ("generate_candidates", "generate_final_texts")]  # type: ignore[misc]
    assert (popri.rounds + 1) * written[0] + written[1] == popri.written_texts
    assert rule_of("popri.write_for_reading")(given)[0].texts == 440, "eight of each of the 55 final prompts"  # type: ignore[misc]


def test_private_training_passes_over_the_units_as_often_as_declared() -> None:
    given = Given(parameters(), POPULATION)
    (work,) = rule_of("dp_sgd_generation.train_privately")(given)  # type: ignore[misc]
    epochs = conf_base(DpSgdGeneration).training.epochs
    assert work.tokens == pytest.approx(given.samples * given.tokens * epochs)


@pytest.mark.parametrize("name", ["popri.round_03.generate_candidates", "popri.closing.generate_candidates"])
def test_a_node_of_a_round_has_the_rule_of_all_rounds(name: str) -> None:
    assert rule_of(name) is rule_of("popri.generate_candidates")
    assert rule_of("evaluation.popri.score_texts") is rule_of("evaluation.score_texts")
    assert rule_of("a.node.of.somebody_else") is None

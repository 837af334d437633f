"""A plan opens the ledger that the run opens, reads nothing private, and needs no model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from fedtext.algorithms.pe.plan import planned_ledger as pe_ledger
from fedtext.algorithms.popri.plan import planned_ledger
from fedtext.federation.units import Population
from fedtext.models.architecture import architecture_of
from fedtext.params.pe import Pe
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.planning.pace import Paces
from fedtext.planning.plan import Plan
from fedtext.planning.sizes import sizes_of
from fedtext.planning.wording import plan_line, plan_page
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.tags import Tag
from fedtext.wiring.config import active_loader
from fedtext.wiring.planning import line_of_run, plan_of
from tests.contracts.graphs import registered
from tests.parameters import conf_base
from tests.refusals import refuses

PRIVATE = {"corpus": {"source": "table", "path": "/nowhere/notes.csv", "description": "notes"}}
DECLARED = {**PRIVATE, "privacy": {"population": 4000}}
TRAINING = Population.declared(4000, validation_share=0.1, test_share=0.15).training


def planned(job: str, env: str | None = None, **groups: Any) -> Plan:
    """The plan of a job, on a machine that was not measured."""
    graph = registered(env, **groups)[job]
    loader = active_loader()
    return plan_of(job, graph, loader, {}, Paces(conf_base(Privacy), Path("/nowhere/paces.json"), measures=False))


def test_the_plan_has_the_ledger_of_the_run() -> None:
    declared = conf_base(Privacy, population=4000)
    (popri, _) = planned("popri", **DECLARED).ledgers
    assert popri == planned_ledger(TRAINING, conf_base(Popri), declared, embedding_dim=384)
    (pe, _) = planned("pe", **DECLARED).ledgers
    assert pe == pe_ledger(TRAINING, conf_base(Pe), declared)


def test_models_without_files_are_planned_and_what_does_not_fit_names_a_parameter() -> None:
    plan = planned("popri", env="paper", **DECLARED)
    assert plan.texts > 2_000_000
    assert plan.tabled["generator"] == "meta-llama/Meta-Llama-3-8B"
    assert len(plan.ledgers[0].planned or ()) == 20
    assert any("popri." in one or "models.generator" in one for one in plan.misfits) or plan.device.memory > 2**38
    page = plan_page(plan)
    assert "popri.train_policy (20 times)" in page
    assert "\u03b5 = " in page


def test_a_trained_model_is_as_large_as_it_is() -> None:
    plan = planned("dp_fedavg", **DECLARED)
    assert plan.ledgers[0].signals[0].numbers == sizes_of(architecture_of("bundled:on_device")).weights


def test_texts_that_servers_write_take_nothing_here_and_training_does() -> None:
    """No server is asked, and the weights that are trained are planned as if they wrote here."""
    here, there = (
        {step.node: step for step in planned("popri", models={"generator": source}, **DECLARED).steps}
        for source in ("smollm2", "served:smollm2@http://127.0.0.1:9/v1")
    )
    for name, step in there.items():
        if step.texts and "generate" in name:
            assert (step.served, step.memory, step.seconds) == (step.texts, 0, 0.0)
            assert here[name].served == 0
            assert here[name].memory > 0
    trained = "popri.train_policy"
    assert there[trained].memory == here[trained].memory > 0
    assert math.isnan(there[trained].seconds), "it is trained here, where nothing was measured"


@pytest.mark.parametrize("job", ["wasp", "zero_shot", "pe_sft", "ctcl", "dp_rft", "dp_sgd_generation", "dpprefsyn"])
def test_every_kind_of_job_is_planned(job: str) -> None:
    corpus = {"corpus": {"source": "hh", "path": "/nowhere/hh.jsonl"}} if job == "dpprefsyn" else PRIVATE
    plan = planned(job, **{**DECLARED, **corpus, "task": {"labels": "a b"}})
    assert plan.steps
    assert plan.memory > 0


def test_a_population_that_is_not_declared_is_refused_before_anything_is_read() -> None:
    with refuses("population-not-set"):
        planned("popri", **PRIVATE)


SILOS = {
    "corpus": {"source": "silos", "description": "notes"},
    "federation": {"engine": "flower", "silos": 3, "superlink": "127.0.0.1:8000"},
    "flexible": {"labels": ("a", "b")},
}


@pytest.mark.parametrize("job", ["popri", "flexible"])
def test_a_plan_asks_no_silo_and_a_run_says_its_plan_when_silos_have_said_how_many_they_hold(job: str) -> None:
    with refuses("plan-would-ask-silos"):
        planned(job, **SILOS)
    graph, population = registered(None, **SILOS)[job], Population(enrolled=30, training=30, test=0, source="declared")
    assert line_of_run(graph, active_loader(), {}) is None
    opened = Ledger(declaration=conf_base(Privacy).of_a_run(), population=30, planned=())
    ledgers = {name: opened for node in graph.nodes if Tag.BUDGET in node.tags for name in node.outputs}
    assert line_of_run(graph, active_loader(), {"population": population, **ledgers}) is not None


def test_a_run_says_its_plan_in_one_line() -> None:
    graph = registered(None, **DECLARED)["popri"]
    population = Population.declared(4000, validation_share=0.1, test_share=0.15)
    line = line_of_run(graph, active_loader(), {"population": population})
    assert line is not None
    assert "1 release at \u03b5 = 1, 2 releases of test clients' text at \u03b5 = 1, " in line
    assert plan_line(planned("popri", **DECLARED)).split(",")[0] in line
    assert line_of_run(registered()["docstrings"], active_loader(), {}) is None

"""A run whose private text lies with silos: a graph without a private data set, and nodes that ask and open ledgers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedtext.federation.federation import Simulated
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import unit_codes
from fedtext.params.federation import FederationParameters
from fedtext.params.pe import Pe
from fedtext.params.privacy import Privacy
from fedtext.pipelines.silos import nodes
from fedtext.privacy.flow.check import is_private
from fedtext.privacy.ledger import BudgetExceeded
from fedtext.privacy.tags import Tag
from fedtext.wiring.config import active_loader
from fedtext.wiring.guard.catalog import catalog_resolver, dataset_classes
from fedtext.wiring.hooks.privacy_flow import IN_MEMORY
from tests.contracts.graphs import check_registered_pipelines, registered
from tests.parameters import conf_base
from tests.refusals import refuses
from tests.silo.examples import NAMES, InProcess, popri, silo, unit_rows

FLOWER = {"engine": "flower", "silos": 3, "superlink": "127.0.0.1:8000"}
ASKING = ("popri", "pe")


def pipelines(**groups: dict[str, Any]) -> dict[str, Any]:
    return registered(corpus={"source": "silos", "description": "notes"}, federation=FLOWER, **groups)


@pytest.mark.parametrize("scoring", ["witness_rff", "mean_cosine"])
def test_the_graph_has_no_private_data_set_and_keeps_the_flow_rules(scoring: str) -> None:
    single = scoring == "witness_rff"
    chosen = {
        "scoring": scoring,
        "prompt_pool": "matched" if single else "random",
        "oversample": 1.5 if single else 1.0,
    }
    found = pipelines(popri=chosen)
    assert set(ASKING) <= set(found)
    assert "wasp" not in found
    for name in ASKING:
        resolver = catalog_resolver(active_loader()["catalog"], IN_MEMORY)
        classes = dataset_classes(found[name].datasets(), resolver)
        assert not [one for one in found[name].datasets() if is_private(one, classes)]
        free = {one for one in found[name].inputs() if not one.startswith("params:")}
        assert free <= {"encoder", "generator", "describer", "chunk_tokenizer", "release_history"}
        releases = [node for node in found[name].nodes if Tag.RELEASE in node.tags]
        assert {node.name.rpartition(".")[2] for node in releases} <= {"ask_mean_features", "ask_scores", "ask_votes"}
        assert releases
    assert not check_registered_pipelines(found)


@pytest.mark.parametrize(
    "groups",
    [
        {"corpus": {"source": "silos"}},
        {"federation": FLOWER},
    ],
)
def test_source_and_engine_are_declared_together(groups: dict[str, Any]) -> None:
    with refuses("silos-half-declared", parameter="federation.engine"):
        registered(**groups)


def test_a_fault_in_the_group_is_told_before_a_graph_is_made() -> None:
    with refuses("federation-half-declared", parameter="federation.silos"):
        registered(corpus={"source": "silos"}, federation={"engine": "flower", "superlink": "127.0.0.1:8000"})


class Encoder:
    """An encoder's name and width."""

    name, dim = "offline", 384


@pytest.fixture
def silos(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> InProcess:
    """Desks without tables, for what needs no answer."""
    from fedtext.silo.desk import Desk

    wire = InProcess(*(Desk(silo(name, protection={"epsilon": 2.0}), tmp_path) for name in NAMES))
    monkeypatch.setattr(nodes, "way_to", lambda _: wire)
    return wire


def federation(**changes: Any) -> FederationParameters:
    return conf_base(FederationParameters, {**FLOWER, **changes})


def local(**changes: Any) -> Privacy:
    return conf_base(Privacy, {"epsilon": 1.0, "delta": 1e-5, "aggregation": "local", **changes})


def test_silos_say_who_they_are_and_the_ledger_knows_them_as_parties(silos: InProcess) -> None:
    cards, population = nodes.meet_silos(federation(), local(), Encoder())  # type: ignore[arg-type]
    assert [card["name"] for card in cards] == sorted(NAMES)
    assert (population.training, population.test, population.source) == (30, 0, "declared")
    ledger = nodes.open_popri_ledger(population, cards, Encoder(), popri("witness_rff"), local())  # type: ignore[arg-type]
    assert [(party.name, party.population, party.epsilon) for party in ledger.parties] == [
        (name, 10, 1.0) for name in sorted(NAMES)
    ]
    voted = nodes.open_evolution_ledger(population, cards, conf_base(Pe, rounds=3), local())
    assert len(voted.planned or ()) == 3


def test_noise_that_silos_do_not_add_is_refused_before_anybody_is_asked(silos: InProcess) -> None:
    with refuses("silos-add-their-own-noise", parameter="privacy.aggregation"):
        nodes.meet_silos(federation(), local(aggregation="secure"), Encoder())  # type: ignore[arg-type]
    assert silos.asked == 0


def test_a_plan_beyond_a_silo_s_budget_ends_the_run_before_a_question(silos: InProcess) -> None:
    cards, population = nodes.meet_silos(federation(), local(), Encoder())  # type: ignore[arg-type]
    with pytest.raises(BudgetExceeded):
        nodes.open_popri_ledger(population, cards, Encoder(), popri("witness_rff"), local(epsilon=3.0))  # type: ignore[arg-type]
    assert silos.asked == 1, "it asked who is there, and nothing else"


def test_rounds_ask_what_the_simulated_nodes_ask(monkeypatch: pytest.MonkeyPatch, silos: InProcess) -> None:
    """The same query, candidates and classes reach whoever answers."""
    seen: list[tuple[Any, Any]] = []

    class Recorded(Simulated):
        def summed(self, query: Any, question: Any, ledger: Any) -> Any:
            seen.append((query, question))
            return super().summed(query, question, ledger)

    cards, population = nodes.meet_silos(federation(), local(), Encoder())  # type: ignore[arg-type]
    from fedtext.privacy.noise import NoiseKey, new_noise_key

    key = NoiseKey(secret=new_noise_key(2).secret, source="operating system")
    unit, holder = unit_codes(["one", "two"]), unit_codes(["north", "south"])
    held = PrivateSamples(unit_rows(1, 2), unit, np.array([0, 1]), unit, holder)
    monkeypatch.setattr(nodes, "Silos", lambda _: Recorded(held, key))
    texts = pd.DataFrame({"text": list("abcdefghijkl"), "label": ["a", "b"] * 6, "prompt_id": np.repeat(range(4), 3)})
    state, embeddings = {"round": 1}, unit_rows(4, 12)

    asking, evolving = popri("mean_cosine"), conf_base(Pe, rounds=3, labels=("a", "b"), population=12)
    opened = nodes.open_popri_ledger(population, cards, Encoder(), asking, local())  # type: ignore[arg-type]
    scores, charged = nodes.ask_scores(federation(), opened, texts, embeddings, state, asking)
    assert (len(scores), charged.releases[-1].round) == (12, 2)
    opened = nodes.open_evolution_ledger(population, cards, evolving, local())
    votes, charged = nodes.ask_votes(federation(), opened, texts, embeddings, state, evolving)
    assert (len(votes), charged.releases[-1].round) == (12, 2)
    for query, question in seen:
        assert query.round == 2
        assert question.label.tolist() == [0, 1] * 6
        assert question.embeddings is embeddings
    nobody = texts.iloc[:0]
    assert nodes.ask_scores(federation(), opened, nobody, embeddings[:0], state, asking)[1] is opened

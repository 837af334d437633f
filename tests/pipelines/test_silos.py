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
from fedtext.params.flexible import Flexible
from fedtext.params.pe import Pe
from fedtext.params.privacy import Privacy
from fedtext.params.silos import Silos
from fedtext.params.wasp import Wasp
from fedtext.pipelines.silos import nodes
from fedtext.pipelines.silos.pipeline import ASKING
from fedtext.privacy.assumptions import assumptions, who_saw
from fedtext.privacy.flow.check import is_private
from fedtext.privacy.ledger import BudgetExceeded, Ledger
from fedtext.privacy.tags import Tag
from fedtext.wiring.config import active_loader
from fedtext.wiring.guard.catalog import catalog_resolver, dataset_classes
from fedtext.wiring.hooks.privacy_flow import IN_MEMORY
from tests.contracts.graphs import check_registered_pipelines, registered
from tests.parameters import conf_base
from tests.refusals import refuses
from tests.silo.examples import NAMES, InProcess, popri, silo, unit_rows

FLOWER = {"engine": "flower", "silos": 3, "superlink": "127.0.0.1:8000"}


def pipelines(**groups: dict[str, Any]) -> dict[str, Any]:
    return registered(corpus={"source": "silos", "description": "notes"}, federation=FLOWER, **groups)


BALLOTS = {"scoring": "mean_cosine", "prompt_pool": "random", "oversample": 1.0}
OF_VARIANT = {
    "one release": {"wasp": {"votes": "single_release"}, "flexible": {"selection": "herd"}},
    "votes": {"popri": BALLOTS, "wasp": {"votes": "top_q", "model_sums": True}, "flexible": {"selection": "votes"}},
}


@pytest.mark.parametrize("groups", OF_VARIANT.values(), ids=OF_VARIANT)
def test_the_graph_has_no_private_data_set_and_keeps_the_flow_rules(groups: dict[str, Any]) -> None:
    found = pipelines(**groups)
    assert set(ASKING) <= set(found)
    assert "dp_fedavg" not in found
    for name in ASKING:
        resolver = catalog_resolver(active_loader()["catalog"], IN_MEMORY)
        classes = dataset_classes(found[name].datasets(), resolver)
        assert not [one for one in found[name].datasets() if is_private(one, classes)]
        free = {one for one in found[name].inputs() if not one.startswith(("params:", "plm_"))}
        assert free <= {"encoder", "generator", "describer", "chunk_tokenizer", "release_history"}
        releases = [node for node in found[name].nodes if Tag.RELEASE in node.tags]
        assert {node.func.__module__ for node in releases} == {nodes.__name__}
    assert not check_registered_pipelines(found)


def test_what_silos_do_not_answer_is_refused_when_the_graph_is_made() -> None:
    with refuses("not-answered-by-silos"):
        pipelines(popri={"checkpoint": "fid_on_private_validation"})


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
    """Handlers without tables, for what needs no answer."""
    from fedtext.silo.handler import MessageHandler

    wire = InProcess(*(MessageHandler(silo(name, protection={"epsilon": 2.0}), tmp_path) for name in NAMES))
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
    ledger = nodes.open_popri_ledger(cards, population, Encoder(), popri("witness_rff"), local())  # type: ignore[arg-type]
    assert [(party.name, party.population, party.epsilon) for party in ledger.parties] == [
        (name, 10, 1.0) for name in sorted(NAMES)
    ]
    assert "stayed with 3 silos" in who_saw(ledger)
    voted = nodes.open_evolution_ledger(cards, population, conf_base(Pe, rounds=3), local())
    assert len(voted.planned or ()) == 3
    secure = ledger.model_copy(update={"declaration": local(aggregation="secure")})
    assert "saw the noised sums of all silos together and no text" in who_saw(secure)
    said = " ".join(assumptions(secure))
    assert "masks that cancel" in said
    assert "simulated" not in said
    with refuses("secure-sum-not-agreed"):  # nobody has told them each other's keys
        nodes.open_evolution_ledger(cards, population, conf_base(Pe, rounds=3), local(aggregation="secure"))


def test_noise_that_silos_do_not_add_is_refused_before_anybody_is_asked(silos: InProcess) -> None:
    with refuses("silos-add-their-own-noise", parameter="privacy.aggregation"):
        nodes.meet_silos(federation(), local(aggregation="trusted"), Encoder())  # type: ignore[arg-type]
    assert silos.asked == 0


def test_a_plan_beyond_a_silo_s_budget_ends_the_run_before_a_question(silos: InProcess) -> None:
    cards, population = nodes.meet_silos(federation(), local(), Encoder())  # type: ignore[arg-type]
    with pytest.raises(BudgetExceeded):
        nodes.open_popri_ledger(cards, population, Encoder(), popri("witness_rff"), local(epsilon=3.0))  # type: ignore[arg-type]
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
    monkeypatch.setattr(nodes, "_asked", lambda _: Recorded(held, key))
    texts = pd.DataFrame({"text": list("abcdefghijkl"), "label": ["a", "b"] * 6, "prompt_id": np.repeat(range(4), 3)})
    state, embeddings = {"round": 1}, unit_rows(4, 12)

    asking, evolving = popri("mean_cosine"), conf_base(Pe, rounds=3, labels=("a", "b"), population=12)
    opened = nodes.open_popri_ledger(cards, population, Encoder(), asking, local())  # type: ignore[arg-type]
    scores, charged = nodes.ask_scores(federation(), opened, texts, embeddings, state, asking)
    assert (len(scores), charged.releases[-1].round) == (12, 2)
    opened = nodes.open_evolution_ledger(cards, population, evolving, local())
    votes, charged = nodes.ask_votes(federation(), opened, texts, embeddings, state, evolving)
    assert (len(votes), charged.releases[-1].round) == (12, 2)
    judged = conf_base(Wasp, rounds=3, labels=("a", "b"), texts=36)
    weighed = state | {"weights": {"x": 0.5, "y": 0.5}}
    opened = nodes.open_wasp_ledger(cards, population, weighed, Encoder(), judged, local())  # type: ignore[arg-type]
    scores, charged = nodes.ask_top_q(federation(), opened, texts, embeddings, weighed, judged)
    assert (scores.shape[1], charged.releases[-1].round) == (12, 2)
    for query, question in seen:
        assert query.round == 2
        assert question.label.tolist() == [0, 1] * 6
        assert question.embeddings is embeddings
    nobody = texts.iloc[:0]
    assert nodes.ask_scores(federation(), opened, nobody, embeddings[:0], state, asking)[1] is opened


def test_silos_of_flexible_participation_count_and_vote(monkeypatch: pytest.MonkeyPatch, silos: InProcess) -> None:
    from fedtext.privacy.noise import NoiseKey, new_noise_key

    cards, _ = nodes.meet_silos(federation(), local(), Encoder())  # type: ignore[arg-type]
    key = NoiseKey(secret=new_noise_key(2).secret, source="operating system")
    unit, holder = unit_codes(["one", "two"]), unit_codes(["north", "south"])
    held = PrivateSamples(unit_rows(1, 2), unit, np.array([0, 1]), unit, holder)
    monkeypatch.setattr(nodes, "_asked", lambda _: Simulated(held, key))
    texts = pd.DataFrame({"text": list("abcdefghijkl"), "label": ["a", "b"] * 6})
    chosen = conf_base(Flexible, labels=("a", "b"), texts=12)
    opened = opened_flexible(cards, chosen, strong=0)
    weights, opened = nodes.ask_to_train(federation(), opened, None, np.zeros(3), chosen)  # type: ignore[arg-type]
    assert not len(weights)
    counted, opened = nodes.ask_profile(federation(), opened, chosen)
    votes, charged = nodes.ask_nearest_votes(federation(), opened, texts, unit_rows(4, 12), chosen)
    assert (len(counted), len(votes)) == (2, 12)
    assert [release.name for release in charged.releases] == ["flexible.profile", "flexible.votes"]
    assert charged.spent() == pytest.approx(1.0, rel=1e-3)


def opened_flexible(cards: nodes.Cards, chosen: Flexible, *, strong: float) -> Ledger:
    roles = conf_base(Silos, groups=None, strong=strong)
    units, start, encoder = nodes.units_of_silos(cards), np.zeros(3, dtype=np.float32), Encoder()
    return nodes.open_flexible_ledger(cards, units, start, encoder, chosen, roles, local(), None, None)  # type: ignore[arg-type]


def test_strong_silos_train_and_reads_without_noise_are_refused(silos: InProcess) -> None:
    cards, _ = nodes.meet_silos(federation(), local(), Encoder())  # type: ignore[arg-type]
    smaller = {"batch_size": 5}
    opened = opened_flexible(cards, conf_base(Flexible, labels=("a", "b"), training=smaller), strong=0.5)
    assert [(release.name, release.parties) for release in opened.planned or ()][:2] == [
        ("flexible.dp_sgd", ("north",)),
        ("flexible.dp_sgd", ("south",)),
    ]
    with refuses("silos-add-noise", parameter="flexible.noise"):
        opened_flexible(cards, conf_base(Flexible, labels=("a", "b"), noise=False), strong=0)

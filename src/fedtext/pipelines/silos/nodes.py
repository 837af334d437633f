"""Nodes of a run whose private text lies with silos: who they are, and what the algorithms ask them.

Nothing here reads private text. A silo answers with its own noise in every number.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.flexible import at_silos, profile, selection
from fedtext.algorithms.flexible import plan as flexible_plan
from fedtext.algorithms.pe import plan as pe_plan
from fedtext.algorithms.pe.histogram import noised_histogram
from fedtext.algorithms.popri import plan as popri_plan
from fedtext.algorithms.popri.release import release_private_mean, score_by_ballots
from fedtext.algorithms.wasp import judging
from fedtext.algorithms.wasp import plan as wasp_plan
from fedtext.federation.flower import FlowerTransport
from fedtext.federation.inquiry import Card
from fedtext.federation.private_samples import class_index, label_codes
from fedtext.federation.silos import parties_of as parties_by_role
from fedtext.federation.silos_asked import Silos as Asked
from fedtext.federation.silos_asked import (
    cards_of,
    parties_of,
    validate_aggregation,
    validate_cards,
    validate_planned_sums,
)
from fedtext.federation.units import Population
from fedtext.models.encoder import Encoder
from fedtext.models.generator import TrainableGenerator
from fedtext.params.corpus import Corpus, Partition
from fedtext.params.federation import FederationParameters
from fedtext.params.flexible import Flexible
from fedtext.params.pe import Pe
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.params.silos import Silos
from fedtext.params.wasp import Wasp
from fedtext.privacy.assumptions import OWN_PROCESSES
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.parties import Party
from fedtext.system.errors import InputError
from fedtext.system.missing import nullable
from fedtext.voting.class_means import noised_class_means

Cards = list[dict[str, Any]]
State = dict[str, Any]
Released = tuple[np.ndarray, Ledger]


def way_to(federation: FederationParameters) -> FlowerTransport:
    """Return the way to the silos; messages lie in the temporary folder of this run, which Flower's app is told."""
    certificate = None if federation.root_certificates is None else Path(federation.root_certificates)
    return FlowerTransport(
        superlink=federation.superlink or "",
        flwr=federation.flwr,
        root_certificates=certificate and certificate.expanduser().resolve(),
        folder=Path(tempfile.gettempdir()) / "flower",
        patience=federation.patience,
    )


def _asked(federation: FederationParameters) -> Asked:
    """Return the silos, to be asked."""
    return Asked(way_to(federation), federation.session)


def meet_silos(federation: FederationParameters, privacy: Privacy, encoder: Encoder) -> tuple[Cards, Population]:
    """Ask the silos who they are; return what they say of themselves, and how many units they declare together."""
    validate_aggregation(privacy)
    assert federation.silos is not None  # its engine is flower
    cards = cards_of(way_to(federation), federation.silos)
    validate_cards(cards, privacy, encoder.name)
    units = sum(card.population for card in cards)
    return [card.model_dump(mode="json") for card in cards], Population(
        enrolled=units, training=units, test=0, source="declared"
    )


def open_popri_ledger(
    silo_cards: Cards, population: Population, encoder: Encoder, popri: Popri, privacy: Privacy
) -> Ledger:
    """Open POPri's ledger with the silos as parties, after checking that the plan fits the budget of each."""
    parties, dim = _parties(silo_cards, privacy), encoder.dim
    opened = popri_plan.planned_ledger(population.training, popri, privacy, embedding_dim=dim, parties=parties)
    return _of_silos(opened, silo_cards)


def ask_mean_features(federation: FederationParameters, encoder: Encoder, ledger: Ledger, popri: Popri) -> Released:
    """Ask the silos for their mean features per class, the one release of `witness_*` and `mean_embedding` scoring."""
    query = popri_plan.planned_query(
        popri, ledger.declaration, ledger.population, embedding_dim=encoder.dim, round_number=0
    )
    return release_private_mean(query, _asked(federation), popri, ledger)


def ask_scores(
    federation: FederationParameters,
    ledger: Ledger,
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    state: State,
    popri: Popri,
) -> Released:
    """Ask the silos for their clipped ballots on the round's candidates."""
    if candidates.empty:
        return np.zeros(0), ledger
    width, t = candidate_embeddings.shape[1], state["round"] + 1
    query = popri_plan.planned_query(popri, ledger.declaration, ledger.population, embedding_dim=width, round_number=t)
    labels = class_index(label_codes(nullable(candidates["label"])), popri.labels)
    return score_by_ballots(query, _asked(federation), candidate_embeddings, labels, popri, ledger)


def open_evolution_ledger(silo_cards: Cards, population: Population, evolution: Pe, privacy: Privacy) -> Ledger:
    """Open Private Evolution's ledger with the silos as parties."""
    parties = _parties(silo_cards, privacy)
    return _of_silos(pe_plan.planned_ledger(population.training, evolution, privacy, parties=parties), silo_cards)


def ask_votes(
    federation: FederationParameters,
    ledger: Ledger,
    candidates: pd.DataFrame,
    voted_embeddings: np.ndarray,
    state: State,
    evolution: Pe,
) -> Released:
    """Ask the silos for their votes on the round's candidates."""
    query = pe_plan.planned_query(evolution, ledger.declaration, ledger.population, state["round"] + 1)
    labels = class_index(label_codes(nullable(candidates["label"])), evolution.labels)
    return noised_histogram(query, _asked(federation), voted_embeddings, labels, evolution, ledger)


def open_wasp_ledger(
    silo_cards: Cards, population: Population, state: State, encoder: Encoder, wasp: Wasp, privacy: Privacy
) -> Ledger:
    """Open WASP's ledger with the silos as parties."""
    parties, models = _parties(silo_cards, privacy), len(state["weights"])
    opened = wasp_plan.planned_ledger(
        population.training, wasp, privacy, models=models, embedding_dim=encoder.dim, parties=parties
    )
    return _of_silos(opened, silo_cards)


def ask_class_means(federation: FederationParameters, encoder: Encoder, ledger: Ledger, wasp: Wasp) -> Released:
    """Ask the silos for their class means, the one release of `votes: single_release`."""
    query = wasp_plan.class_means_query(wasp, ledger.declaration, ledger.population, encoder.dim)
    return noised_class_means(query, _asked(federation), wasp.labels, ledger)


def ask_top_q(
    federation: FederationParameters,
    ledger: Ledger,
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    state: State,
    wasp: Wasp,
) -> Released:
    """Ask the silos for their similar and dissimilar votes."""
    voted = judging.candidates_of(candidate_embeddings, judging.label_index(candidates, wasp))
    query = wasp_plan.votes_query(wasp, ledger.declaration, ledger.population, state["round"] + 1)
    return judging.noised_votes(query, _asked(federation), voted, wasp, ledger)


def ask_model_sums(
    federation: FederationParameters,
    ledger: Ledger,
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    state: State,
    wasp: Wasp,
) -> Released:
    """Ask the silos for each model's sum of similar votes."""
    voted = judging.candidates_of(candidate_embeddings, judging.label_index(candidates, wasp))
    names, number = sorted(state["weights"]), state["round"] + 1
    query = wasp_plan.model_sums_query(wasp, ledger.declaration, ledger.population, number, len(names))
    model = judging.model_index(candidates, names)
    return judging.noised_model_sums(query, _asked(federation), voted, model, wasp, ledger)


def units_of_silos(silo_cards: Cards, *_declared: Privacy | Silos) -> dict[str, int]:
    """Return how many units each silo declares."""
    return {card["name"]: card["population"] for card in silo_cards}


def open_flexible_ledger(
    silo_cards: Cards,
    units: dict[str, int],
    start: np.ndarray,
    encoder: Encoder,
    flexible: Flexible,
    silos: Silos,
    privacy: Privacy,
    _corpus: Corpus,
    _partition: Partition,
) -> Ledger:
    """Open the ledger of flexible participation, with silos that count and vote."""
    budgets = {party.name: party.epsilon for party in _parties(silo_cards, privacy)}
    parties = parties_by_role(units, silos.model_copy(update={"budgets": budgets}), privacy.epsilon)
    if not flexible.noise:
        raise InputError(
            "flexible.noise is false: silos in processes of their own count, vote and train with noise; set "
            "flexible.noise=true",
            code="silos-add-noise",
            parameter="flexible.noise",
            value=False,
        )
    opened = flexible_plan.planned_ledger(parties, flexible, privacy, dim=start.size, embedding_dim=encoder.dim)
    return _of_silos(opened, silo_cards)


def ask_to_train(
    federation: FederationParameters,
    ledger: Ledger,
    generator: TrainableGenerator,
    start: np.ndarray,
    flexible: Flexible,
) -> Released:
    """Have the strong silos train the common weights, each beside its own text; no weights if no silo is strong."""
    queries = flexible_plan.dp_sgd_queries(flexible, ledger.declaration, ledger.parties, dim=start.size)
    if not queries:
        return np.zeros(0, dtype=np.float32), ledger
    return at_silos.weights_of_silos(_asked(federation), queries, start, generator.source, flexible, ledger)


def ask_profile(federation: FederationParameters, ledger: Ledger, flexible: Flexible) -> Released:
    """Ask the silos for their counts of records of each code."""
    query = flexible_plan.profile_query(flexible, ledger.declaration)
    total, charged = profile.noised_profile(query, _asked(federation), flexible, ledger)
    return total, charged


def ask_nearest_votes(
    federation: FederationParameters,
    ledger: Ledger,
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    flexible: Flexible,
) -> Released:
    """Ask the silos for their votes for the texts."""
    query = flexible_plan.votes_query(flexible, ledger.declaration, ledger.parties)
    if query is None or candidates.empty:
        return np.zeros(0), ledger
    labels = class_index(label_codes(nullable(candidates["label"])), flexible.labels)
    voted = selection.candidates_of(candidate_embeddings, labels)
    return selection.noised_votes(query, _asked(federation), voted, flexible, ledger)


def ask_code_means(federation: FederationParameters, encoder: Encoder, ledger: Ledger, flexible: Flexible) -> Released:
    """Ask the silos for a sum of embeddings of each code (`selection: herd`)."""
    query = flexible_plan.means_query(flexible, ledger.declaration, ledger.parties, embedding_dim=encoder.dim)
    if query is None:
        return np.zeros(0), ledger
    return noised_class_means(query, _asked(federation), flexible.labels, ledger)


def _parties(silo_cards: Cards, privacy: Privacy) -> tuple[Party, ...]:
    return parties_of(_read(silo_cards), privacy.epsilon)


def _read(silo_cards: Cards) -> list[Card]:
    return [Card.model_validate(card) for card in silo_cards]


def _of_silos(ledger: Ledger, silo_cards: Cards) -> Ledger:
    """Return the ledger with the rule by which units are told apart: by whose process has them.

    Raises:
        ValueError: a silo takes no part in a planned secure sum.
    """
    validate_planned_sums(ledger, _read(silo_cards))
    return ledger.model_copy(update={"partition_rule": OWN_PROCESSES})

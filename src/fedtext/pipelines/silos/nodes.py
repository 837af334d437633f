"""Nodes of a run whose private text lies with silos: who they are, and what the algorithms ask them.

Nothing here reads private text. A silo answers with its own noise in every number.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.pe.histogram import noised_histogram
from fedtext.algorithms.pe.plan import planned_ledger as planned_evolution
from fedtext.algorithms.pe.plan import planned_query as planned_histogram
from fedtext.algorithms.popri.plan import planned_ledger, planned_query
from fedtext.algorithms.popri.release import release_private_mean, score_by_ballots
from fedtext.federation.flower import FlowerTransport
from fedtext.federation.inquiry import Card
from fedtext.federation.private_samples import class_index, label_codes
from fedtext.federation.silos_asked import (
    Silos,
    cards_of,
    parties_of,
    validate_aggregation,
    validate_cards,
)
from fedtext.federation.units import Population
from fedtext.models.encoder import Encoder
from fedtext.params.federation import FederationParameters
from fedtext.params.pe import Pe
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.parties import Party
from fedtext.system.missing import nullable

Cards = list[dict[str, Any]]
State = dict[str, Any]


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


def _parties(silo_cards: Cards, privacy: Privacy) -> tuple[Party, ...]:
    return parties_of([Card.model_validate(card) for card in silo_cards], privacy.epsilon)


def open_popri_ledger(
    population: Population, silo_cards: Cards, encoder: Encoder, popri: Popri, privacy: Privacy
) -> Ledger:
    """Open POPri's ledger with the silos as parties, after checking that the plan fits the budget of each."""
    parties = _parties(silo_cards, privacy)
    return planned_ledger(population.training, popri, privacy, embedding_dim=encoder.dim, parties=parties)


def ask_mean_features(
    federation: FederationParameters, ledger: Ledger, encoder: Encoder, popri: Popri
) -> tuple[np.ndarray, Ledger]:
    """Ask the silos for their mean features per class, the one release of `witness_*` and `mean_embedding` scoring."""
    query = planned_query(popri, ledger.declaration, ledger.population, embedding_dim=encoder.dim, round_number=0)
    return release_private_mean(query, Silos(way_to(federation)), popri, ledger)


def ask_scores(
    federation: FederationParameters,
    ledger: Ledger,
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    state: State,
    popri: Popri,
) -> tuple[np.ndarray, Ledger]:
    """Ask the silos for their clipped ballots on the round's candidates."""
    if candidates.empty:
        return np.zeros(0), ledger
    width, t = candidate_embeddings.shape[1], state["round"] + 1
    query = planned_query(popri, ledger.declaration, ledger.population, embedding_dim=width, round_number=t)
    labels = class_index(label_codes(nullable(candidates["label"])), popri.labels)
    return score_by_ballots(query, Silos(way_to(federation)), candidate_embeddings, labels, popri, ledger)


def open_evolution_ledger(population: Population, silo_cards: Cards, evolution: Pe, privacy: Privacy) -> Ledger:
    """Open Private Evolution's ledger with the silos as parties."""
    return planned_evolution(population.training, evolution, privacy, parties=_parties(silo_cards, privacy))


def ask_votes(
    federation: FederationParameters,
    ledger: Ledger,
    candidates: pd.DataFrame,
    voted_embeddings: np.ndarray,
    state: State,
    evolution: Pe,
) -> tuple[np.ndarray, Ledger]:
    """Ask the silos for their votes on the round's candidates."""
    query = planned_histogram(evolution, ledger.declaration, ledger.population, state["round"] + 1)
    labels = class_index(label_codes(nullable(candidates["label"])), evolution.labels)
    return noised_histogram(query, Silos(way_to(federation)), voted_embeddings, labels, evolution, ledger)

"""Before the rounds: the ledger, the first candidates and the first state."""

from typing import Any

import pandas as pd

from fedtext.algorithms.pe.budget import planned_ledger
from fedtext.algorithms.pe.start import public_texts, random_texts
from fedtext.federation.population import Population
from fedtext.models.generator import Generator
from fedtext.params.corpus import Chunking
from fedtext.params.pe import Pe
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger


def open_evolution_ledger(population: Population, evolution: Pe, privacy: Privacy) -> Ledger:
    """An empty ledger, after checking that one histogram a round fits the declared budget."""
    return planned_ledger(population.training, evolution, privacy)


def draw_public_texts(public_samples: pd.DataFrame, evolution: Pe) -> pd.DataFrame:
    """PrE-Text's first candidates: public texts."""
    return public_texts(public_samples, evolution)


def write_random_texts(
    generator: Generator, public_samples: pd.DataFrame, evolution: Pe, chunking: Chunking
) -> pd.DataFrame:
    """Aug-PE's first candidates: texts of the random API."""
    return random_texts(generator, public_samples, evolution, chunking)


def start_evolution() -> dict[str, Any]:
    """The state before the first round."""
    return {"round": 0, "stopped": False, "released_scores": []}

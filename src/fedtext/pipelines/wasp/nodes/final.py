"""After the rounds: the synthetic data set, and what the evaluation wants to know of the rounds."""

from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.wasp.cost import communication
from fedtext.corpora.records import SYNTHETIC_COLUMNS
from fedtext.embedding.blanks import written
from fedtext.federation.communication import Exchange
from fedtext.federation.population import Population
from fedtext.params.privacy import Privacy
from fedtext.params.wasp import Wasp

State = dict[str, Any]


def collect_texts(candidates: pd.DataFrame, candidate_embeddings: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    """The synthetic data set and its embeddings: all texts of all rounds, but the empty ones."""
    kept = written(candidate_embeddings)
    return candidates.loc[kept, list(SYNTHETIC_COLUMNS)].reset_index(drop=True), candidate_embeddings[kept]


def report_rounds(wasp: Wasp) -> dict[str, Any]:
    """What the report shows of the rounds: votes rank texts of a round and say nothing between rounds."""
    return {"released_scores": [None] * wasp.rounds, "stopped": False, "chosen": wasp.rounds - 1}


def count_exchanged(encoder_width: np.ndarray, population: Population, wasp: Wasp, privacy: Privacy) -> Exchange:
    """What one unit exchanges, for the row of Table 2."""
    return communication(wasp, privacy, population.training, embedding_dim=encoder_width.shape[1])

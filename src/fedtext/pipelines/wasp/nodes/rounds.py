"""One round: what every model writes, how it is judged, what is shown next, and who writes how much."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.wasp import judging
from fedtext.algorithms.wasp.examples import chosen_examples
from fedtext.algorithms.wasp.votes import random_scores
from fedtext.algorithms.wasp.writing import gathered, written_texts
from fedtext.embedding.blanks import encode_written
from fedtext.models.encoder import Encoder
from fedtext.models.generator import Generator
from fedtext.params.corpus import Chunking
from fedtext.params.wasp import Wasp
from fedtext.privacy.ledger import Ledger

State = dict[str, Any]
Writer = Callable[[Generator, State, pd.DataFrame, Wasp, Chunking], pd.DataFrame]


def writer(name: str) -> Writer:
    """The node of one model."""

    def write_texts(
        generator: Generator, state: State, examples: pd.DataFrame, wasp: Wasp, chunking: Chunking
    ) -> pd.DataFrame:
        """Its texts of this round: as many of each class as its weight says."""
        number = state["round"] + 1
        own = judging.round_counts(state, wasp)[name]
        return written_texts(generator, name, own, examples, number, wasp, chunking.length)

    return write_texts


def gather_texts(before: pd.DataFrame, *new: pd.DataFrame) -> pd.DataFrame:
    """All texts so far, those of this round last."""
    return gathered(before, new)


def embed_new_texts(candidates: pd.DataFrame, before: np.ndarray, encoder: Encoder) -> np.ndarray:
    """Unit embeddings of all texts so far, of which only the new ones are made; zeros for an empty text."""
    new = encode_written(encoder, candidates["text"].iloc[len(before) :].tolist(), label="new texts")
    return np.concatenate([before, new])


def score_by_means(
    class_means: np.ndarray, candidates: pd.DataFrame, candidate_embeddings: np.ndarray, wasp: Wasp
) -> np.ndarray:
    """Near and far scores by the one release: how like its class's direction each text is."""
    return judging.scores_by_means(class_means, candidates, candidate_embeddings, wasp)


def draw_scores(candidates: pd.DataFrame, state: State, wasp: Wasp) -> np.ndarray:
    """Near and far scores that say nothing, for the control `votes: random`."""
    return random_scores(len(candidates), state["round"] + 1, wasp)


def weigh_by_votes(candidates: pd.DataFrame, scores: np.ndarray, ledger: Ledger, state: State, wasp: Wasp) -> State:
    """The models' next weights from the votes of their texts."""
    return judging.weighed_by_votes(candidates, scores, ledger, state, wasp)


def weigh_by_sums(candidates: pd.DataFrame, model_sums: np.ndarray, ledger: Ledger, state: State, wasp: Wasp) -> State:
    """The models' next weights from sums that were released by themselves."""
    return judging.weighed_by_sums(candidates, model_sums, ledger, state, wasp)


def weigh_by_best(candidates: pd.DataFrame, scores: np.ndarray, state: State, wasp: Wasp) -> State:
    """The models' next weights from their share of each class's best texts."""
    return judging.weighed_by_best(candidates, scores, state, wasp)


def choose_examples(candidates: pd.DataFrame, scores: np.ndarray, wasp: Wasp) -> pd.DataFrame:
    """Good and bad texts of every class, for the next round's prompts."""
    return chosen_examples(candidates, scores, wasp)

"""One round: candidates, what is voted on, the noised histogram, the survivors and the state handed on."""

from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.pe import selection
from fedtext.algorithms.pe.budget import planned_query
from fedtext.algorithms.pe.histogram import noised_histogram
from fedtext.algorithms.pe.variation import lookahead_mean, next_population, variations
from fedtext.embedding.blanks import encode_written
from fedtext.federation.mechanism import summed_stddev
from fedtext.federation.private_samples import PrivateSamples, class_index, label_codes
from fedtext.models.encoder import Encoder
from fedtext.models.generator import Generator
from fedtext.models.masked_model import MaskedModel
from fedtext.params.corpus import Chunking
from fedtext.params.pe import Pe
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.system.missing import nullable

State = dict[str, Any]


def vary_survivors(
    model: Generator | MaskedModel,
    survivors: pd.DataFrame,
    state: State,
    evolution: Pe,
    chunking: Chunking,
) -> pd.DataFrame:
    """This round's candidates: variations of the survivors; in the first round the start itself."""
    if state["round"] == 0:
        return survivors[["text", "label"]]
    stage = f"round {state['round'] + 1}"
    varied = variations(model, survivors, evolution.variations, stage, evolution, chunking)
    return next_population(survivors, varied, evolution)


def embed_texts(texts: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """Unit embeddings; zeros for an empty text, which nothing may vote for."""
    return encode_written(encoder, texts["text"].tolist(), label="candidates")


def look_ahead(
    model: Generator | MaskedModel,
    candidates: pd.DataFrame,
    state: State,
    evolution: Pe,
    chunking: Chunking,
) -> pd.DataFrame:
    """What each candidate may become: `lookahead` variations of it, which are embedded and then thrown away."""
    stage = f"lookahead {state['round'] + 1}"
    return variations(model, candidates, evolution.lookahead, stage, evolution, chunking)


def embed_lookahead(candidate_embeddings: np.ndarray, lookahead: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """What is voted on: the mean direction of every candidate's variations."""
    varied = encode_written(encoder, lookahead["text"].tolist(), label="lookahead")
    return lookahead_mean(candidate_embeddings, varied, lookahead["parent"].to_numpy())


def count_votes(
    private_embeddings: dict[str, np.ndarray],
    private_enrolment: dict[str, np.ndarray],
    private_noise_key: NoiseKey,
    ledger: Ledger,
    candidates: pd.DataFrame,
    voted_embeddings: np.ndarray,
    state: State,
    evolution: Pe,
) -> tuple[np.ndarray, Ledger]:
    """The round's release: one noised sum of the units' clipped ballots, charged to the ledger."""
    samples = PrivateSamples.of(
        private_embeddings, evolution.labels, ledger.declaration.unit, private_enrolment["unit"]
    )
    query = planned_query(evolution, ledger.declaration, ledger.population, state["round"] + 1)
    labels = class_index(label_codes(nullable(candidates["label"])), evolution.labels)
    return noised_histogram(query, samples, voted_embeddings, labels, evolution, ledger, private_noise_key)


def select_survivors(
    candidates: pd.DataFrame, histogram: np.ndarray, ledger: Ledger, state: State, evolution: Pe
) -> pd.DataFrame:
    """Who survives, by the noised histogram alone."""
    noise_stddev = summed_stddev(ledger)
    return selection.select_survivors(candidates, histogram, noise_stddev, evolution, state["round"] + 1)


def close_evolution_round(
    state: State,
    candidates: pd.DataFrame,
    histogram: np.ndarray,
    ledger: Ledger,
    survivors: pd.DataFrame,
    evolution: Pe,
) -> State:
    """The state handed to the next round."""
    noise_stddev = summed_stddev(ledger)
    return selection.next_state(state, candidates, histogram, noise_stddev, survivors, evolution)

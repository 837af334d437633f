"""Private Evolution's nodes: before the rounds, in a round, and after the rounds.

- Before the rounds: the ledger, the first candidates and the first state.
- One round: candidates, the votes on them as a noisy histogram, the survivors and the next state.
- After the rounds: the synthetic data set, the rounds' figures for the evaluation, and the exchanged floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.pe import histogram as selection
from fedtext.algorithms.pe.candidates import lookahead_mean, next_population, public_texts, random_texts, variations
from fedtext.algorithms.pe.cost import communication
from fedtext.algorithms.pe.final_set import accumulated, seed_prompts
from fedtext.algorithms.pe.histogram import noised_histogram
from fedtext.algorithms.pe.plan import planned_ledger, planned_query
from fedtext.embedding.nonempty import encode_nonempty
from fedtext.evaluation.rounds import Rounds
from fedtext.federation.communication import Exchange
from fedtext.federation.federation import Simulated
from fedtext.federation.mechanism import summed_stddev
from fedtext.federation.private_samples import PrivateSamples, class_index, label_codes
from fedtext.federation.units import Population
from fedtext.generation.few_shot import sampled_texts
from fedtext.models.encoder import Encoder
from fedtext.models.generator import Generator
from fedtext.models.language_model import MaskedModel
from fedtext.params.corpus import Chunking
from fedtext.params.pe import Pe
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.seeding import derived_seed
from fedtext.system.missing import nullable


def open_evolution_ledger(population: Population, evolution: Pe, privacy: Privacy) -> Ledger:
    """Open an empty ledger, after checking that one histogram a round fits the declared budget."""
    return planned_ledger(population.training, evolution, privacy)


def draw_public_texts(public_samples: pd.DataFrame, evolution: Pe) -> pd.DataFrame:
    """Draw PrE-Text's first candidates: public texts."""
    return public_texts(public_samples, evolution)


def write_random_texts(
    generator: Generator, public_samples: pd.DataFrame, evolution: Pe, chunking: Chunking
) -> pd.DataFrame:
    """Write Aug-PE's first candidates: texts of the random API."""
    return random_texts(generator, public_samples, evolution, chunking)


def start_evolution() -> dict[str, Any]:
    """Return the state before the first round."""
    return {"round": 0, "stopped": False, "released_scores": []}


State = dict[str, Any]


def vary_survivors(
    model: Generator | MaskedModel,
    survivors: pd.DataFrame,
    state: State,
    evolution: Pe,
    chunking: Chunking,
) -> pd.DataFrame:
    """Write this round's candidates: variations of the survivors; in the first round the start itself."""
    if state["round"] == 0:
        return survivors[["text", "label"]]
    stage = f"round {state['round'] + 1}"
    varied = variations(model, survivors, evolution.variations, stage, evolution, chunking)
    return next_population(survivors, varied, evolution)


def embed_texts(texts: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """Embed texts as unit vectors; zeros for an empty text, which gets no vote."""
    return encode_nonempty(encoder, texts["text"].tolist(), label="candidates")


def look_ahead(
    model: Generator | MaskedModel,
    candidates: pd.DataFrame,
    state: State,
    evolution: Pe,
    chunking: Chunking,
) -> pd.DataFrame:
    """Write `lookahead` variations of each candidate, which are embedded and then thrown away."""
    stage = f"lookahead {state['round'] + 1}"
    return variations(model, candidates, evolution.lookahead, stage, evolution, chunking)


def embed_lookahead(candidate_embeddings: np.ndarray, lookahead: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """Compute the embeddings that are voted on: the mean direction of every candidate's variations."""
    varied = encode_nonempty(encoder, lookahead["text"].tolist(), label="lookahead")
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
    """Release the round's votes: one noisy sum of the units' clipped ballots, charged to the ledger."""
    samples = PrivateSamples.protected_by(ledger, private_embeddings, private_enrolment, evolution.labels)
    query = planned_query(evolution, ledger.declaration, ledger.population, state["round"] + 1)
    labels = class_index(label_codes(nullable(candidates["label"])), evolution.labels)
    federation = Simulated(samples, private_noise_key)
    return noised_histogram(query, federation, voted_embeddings, labels, evolution, ledger)


def select_survivors(
    candidates: pd.DataFrame, histogram: np.ndarray, ledger: Ledger, state: State, evolution: Pe
) -> pd.DataFrame:
    """Select the survivors by the noisy histogram alone."""
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
    """Return the state for the next round."""
    noise_stddev = summed_stddev(ledger)
    return selection.next_state(state, candidates, histogram, noise_stddev, survivors, evolution)


def draw_seed_prompts(public_samples: pd.DataFrame, evolution: Pe, *survivors: pd.DataFrame) -> pd.DataFrame:
    """Draw few-shot prompts of the expansion: three survivors each, of any round."""
    return seed_prompts(public_samples, survivors, evolution)


def expand_seeds(generator: Generator, prompts: pd.DataFrame, evolution: Pe, chunking: Chunking) -> pd.DataFrame:
    """Write the expansion: `final_responses` texts of the generator a prompt."""
    return sampled_texts(
        generator,
        prompts,
        responses=evolution.final_responses,
        sampler=evolution.sampler,
        length=chunking.length,
        seed=derived_seed(evolution.seed, "responses", "final"),
        label="expansion",
    ).assign(round=evolution.rounds)


def take_last_survivors(survivors: pd.DataFrame, evolution: Pe) -> pd.DataFrame:
    """Return the survivors of the last round themselves, each text once."""
    kept = survivors.drop_duplicates("text", ignore_index=True)
    return kept.assign(prompt_id=np.arange(len(kept)), round=evolution.rounds)


def collect_written(evolution: Pe, *candidates: pd.DataFrame) -> pd.DataFrame:
    """Collect the texts that the model wrote in all rounds and after the last vote, the newest first."""
    return accumulated(candidates, evolution)


def report_evolution(state: dict[str, Any]) -> Rounds:
    """Report figures of the rounds; the last one's candidates are the newest survivors."""
    scores, last = state["released_scores"], state["round"] - 1
    return Rounds(released_scores=scores, stopped=state["stopped"], chosen=last)


def collect_survivors(*survivors: pd.DataFrame) -> pd.DataFrame:
    """Collect the survivors of all rounds with their votes, on which other algorithms may depend."""
    return pd.concat(survivors, ignore_index=True)


def count_votes_exchanged(
    candidate_embeddings: np.ndarray, population: Population, evolution: Pe, privacy: Privacy
) -> Exchange:
    """Count what one client exchanges, for the row of Table 2."""
    width = candidate_embeddings.shape[1]
    return communication(evolution, privacy, population.training, embedding_dim=width)

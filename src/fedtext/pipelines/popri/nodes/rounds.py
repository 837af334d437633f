"""One round: prompts, candidates, scores, preference pairs, policy training and the state handed on."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.popri import steps
from fedtext.algorithms.popri.ballots import score_by_ballots
from fedtext.algorithms.popri.budget import planned_query
from fedtext.algorithms.popri.checkpoint import next_state
from fedtext.algorithms.popri.labels import label_index
from fedtext.federation.private_samples import PrivateSamples
from fedtext.generation.prompt_forms import prompt_form
from fedtext.models.generator import TrainableGenerator
from fedtext.params.corpus import Chunking
from fedtext.params.popri import Popri
from fedtext.pipelines.popri.nodes.sampling import sampled_texts
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.seeding import derived_seed
from fedtext.system.missing import nullable
from fedtext.training.adapters import saved_adapter
from fedtext.training.lora import TrainedAdapter
from fedtext.training.preference import train_preferences

State = dict[str, Any]


def draw_prompts(public_samples: pd.DataFrame, prompt_pool: np.ndarray, state: State, popri: Popri) -> pd.DataFrame:
    """Algorithm 1 line 10: this round's prompts; none once the run has stopped early."""
    count = 0 if state["stopped"] else popri.prompts
    return steps.draw_prompts(public_samples, prompt_pool, popri, f"round {state['round'] + 1}", count)


def generate_candidates(
    generator: TrainableGenerator, adapter: Path, prompts: pd.DataFrame, state: State, popri: Popri, chunking: Chunking
) -> pd.DataFrame:
    """Algorithm 1 line 11: J responses a prompt, cut at the next sample's heading and to the chunk length."""
    return sampled_texts(generator, adapter, prompts, f"round {state['round'] + 1}", popri.responses, popri, chunking)


def score_candidates(
    private_embeddings: dict[str, np.ndarray],
    private_enrolment: dict[str, np.ndarray],
    private_noise_key: NoiseKey,
    ledger: Ledger,
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    state: State,
    popri: Popri,
) -> tuple[np.ndarray, Ledger]:
    """Algorithm 1 lines 14-20: one noised sum of the clients' clipped ballots, charged to the ledger."""
    if candidates.empty:
        return np.zeros(0), ledger
    samples = PrivateSamples.of(private_embeddings, popri.labels, ledger.declaration.unit, private_enrolment["unit"])
    width, t = candidate_embeddings.shape[1], state["round"] + 1
    query = planned_query(popri, ledger.declaration, ledger.population, embedding_dim=width, round_number=t)
    labels = label_index(nullable(candidates["label"]), popri)
    return score_by_ballots(query, samples, candidate_embeddings, labels, popri, ledger, private_noise_key)


def score_by_release(
    candidates: pd.DataFrame, candidate_embeddings: np.ndarray, released_mean: np.ndarray, popri: Popri
) -> np.ndarray:
    """Scores by post-processing of the one release: no private data, no price."""
    labels = label_index(nullable(candidates["label"]), popri)
    return steps.score_by_release(candidates["text"].tolist(), candidate_embeddings, labels, released_mean, popri)


def choose_preference_pairs(
    prompts: pd.DataFrame, candidates: pd.DataFrame, scores: np.ndarray, popri: Popri
) -> pd.DataFrame:
    """Algorithm 1 lines 21-26."""
    return steps.preference_pairs(prompts, candidates, scores, popri)


def train_policy(
    generator: TrainableGenerator, adapter: Path, pairs: pd.DataFrame, state: State, popri: Popri
) -> tuple[TrainedAdapter, pd.DataFrame]:
    """Algorithm 1 line 27: preference optimisation against the public checkpoint; no pairs, no change."""
    if pairs.empty:
        return saved_adapter(adapter), pd.DataFrame({"step": [], "loss": []})
    round_number, framing = state["round"] + 1, prompt_form(popri.sampler).framing
    trained, log = train_preferences(
        generator,
        pairs[["chosen", "rejected"]].assign(prompt=generator.beginnings(pairs["prompt"].tolist(), framing)),
        popri.preference,
        previous=adapter,
        seed=derived_seed(popri.seed, "preference", round_number),
        label=f"preference training, round {round_number}",
        end=generator.ending(framing),
        lead=framing.lead,
    )
    return trained, pd.DataFrame(log)


def close_round(
    state: State,
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    scores: np.ndarray,
    pairs: pd.DataFrame,
    popri: Popri,
    released_mean: np.ndarray | None = None,
) -> State:
    """The state handed to the next round: from released values only, so it may steer."""
    return next_state(state, candidates, candidate_embeddings, scores, released_mean, pairs, popri)

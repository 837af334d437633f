"""After the rounds: the synthetic data set, what the evaluation wants to know of the rounds, and the privacy report."""

from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.pe.accumulation import accumulated
from fedtext.algorithms.pe.cost import communication
from fedtext.algorithms.pe.expansion import seed_prompts
from fedtext.federation.communication import Exchange
from fedtext.federation.population import Population
from fedtext.generation.few_shot import sampled_texts
from fedtext.models.generator import Generator
from fedtext.params.corpus import Chunking
from fedtext.params.pe import Pe
from fedtext.params.privacy import Privacy
from fedtext.seeding import derived_seed


def draw_seed_prompts(public_samples: pd.DataFrame, evolution: Pe, *survivors: pd.DataFrame) -> pd.DataFrame:
    """Few-shot prompts of the expansion: three survivors each, of any round."""
    return seed_prompts(public_samples, survivors, evolution)


def expand_seeds(generator: Generator, prompts: pd.DataFrame, evolution: Pe, chunking: Chunking) -> pd.DataFrame:
    """The expansion: `final_responses` texts of the generator a prompt."""
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
    """The survivors of the last round themselves, each text once."""
    kept = survivors.drop_duplicates("text", ignore_index=True)
    return kept.assign(prompt_id=np.arange(len(kept)), round=evolution.rounds)


def collect_written(evolution: Pe, *candidates: pd.DataFrame) -> pd.DataFrame:
    """What the model wrote in all rounds and after the last vote, the newest first."""
    return accumulated(candidates, evolution)


def report_evolution(state: dict[str, Any]) -> dict[str, Any]:
    """What the report shows of the rounds; the last one's candidates are the newest survivors."""
    return {"released_scores": state["released_scores"], "stopped": state["stopped"], "chosen": state["round"] - 1}


def collect_survivors(*survivors: pd.DataFrame) -> pd.DataFrame:
    """What other algorithms may build on: the survivors of all rounds with their votes."""
    return pd.concat(survivors, ignore_index=True)


def count_votes_exchanged(
    candidate_embeddings: np.ndarray, population: Population, evolution: Pe, privacy: Privacy
) -> Exchange:
    """What one client exchanges, for the row of Table 2."""
    width = candidate_embeddings.shape[1]
    return communication(evolution, privacy, population.training, embedding_dim=width)

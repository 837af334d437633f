"""After the rounds: the synthetic data set, what the evaluation wants to know of the rounds, and the privacy report."""

from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.pe.cost import communication
from fedtext.algorithms.pe.expansion import seed_prompts
from fedtext.corpora.records import SYNTHETIC_COLUMNS
from fedtext.embedding.blanks import written_by_round
from fedtext.federation.population import Population
from fedtext.generation.few_shot import first_written, sampled_texts
from fedtext.models.generator import Generator
from fedtext.params.corpus import Chunking
from fedtext.params.pe import Pe
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.report import final_report
from fedtext.privacy.spending import Spent
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
    )


def take_last_survivors(survivors: pd.DataFrame) -> pd.DataFrame:
    """The survivors of the last round themselves, each text once."""
    kept = survivors.drop_duplicates("text", ignore_index=True)
    return kept.assign(prompt_id=np.arange(len(kept)))


def keep_synthetic_texts(
    final_texts: pd.DataFrame, final_embeddings: np.ndarray, evolution: Pe
) -> tuple[pd.DataFrame, np.ndarray]:
    """The synthetic data set and its embeddings, never an empty text."""
    kept = first_written(final_texts, evolution.synthetic_texts)
    table = final_texts.iloc[kept].assign(round=evolution.rounds)
    return table[list(SYNTHETIC_COLUMNS)].reset_index(drop=True), final_embeddings[kept]


def collect_round_embeddings(*candidate_embeddings: np.ndarray) -> dict[str, np.ndarray]:
    """Embeddings of each round's candidates, keyed `round_01`, ..., for the evaluation."""
    return written_by_round(candidate_embeddings)


def report_evolution(state: dict[str, Any]) -> dict[str, Any]:
    """What the report shows of the rounds; the last one's candidates are the newest survivors."""
    return {"released_scores": state["released_scores"], "stopped": state["stopped"], "chosen": state["round"] - 1}


def count_votes_exchanged(
    candidate_embeddings: np.ndarray, population: Population, evolution: Pe, privacy: Privacy
) -> dict[str, Any]:
    """This run's row of Table 2."""
    width = candidate_embeddings.shape[1]
    return communication(evolution, privacy, population.training, embedding_dim=width).model_dump()


def hand_over(ledger: Ledger, *survivors: pd.DataFrame) -> tuple[Ledger, pd.DataFrame]:
    """What other algorithms may build on: the last ledger, and the survivors of all rounds with their votes."""
    return ledger, pd.concat(survivors, ignore_index=True)


def write_evolution_report(ledger: Ledger, release_history: tuple[Spent, ...]) -> tuple[dict[str, Any], str]:
    """The last word of the run on privacy: `privacy_report.json` and `privacy_report.md`."""
    return final_report(ledger, release_history)

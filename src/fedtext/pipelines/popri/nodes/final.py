"""After the rounds: the checkpoint, the final set and its controls, and the privacy report."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.popri.checkpoint import chosen_adapter
from fedtext.algorithms.popri.cost import communication
from fedtext.algorithms.popri.steps import draw_prompts, final_selection
from fedtext.algorithms.popri.word_guidance import favoured_by, weighed_words
from fedtext.corpora.records import SYNTHETIC_COLUMNS
from fedtext.embedding.blanks import written
from fedtext.evaluation.distribution import frechet_distance
from fedtext.federation.communication import Exchange
from fedtext.federation.population import Population
from fedtext.generation.few_shot import refuse_none
from fedtext.models.encoder import Encoder
from fedtext.models.generator import TrainableGenerator
from fedtext.params.corpus import Chunking
from fedtext.params.generation import prompts_for
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.pipelines.popri.nodes.sampling import sampled_texts
from fedtext.privacy.gate import current
from fedtext.privacy.ledger import Ledger


def choose_checkpoint(state: dict[str, Any], popri: Popri) -> dict[str, int]:
    """Which adapter makes the final set, by released scores (adapter 0 is the untrained one)."""
    scored = state["released_scores"]
    known = scored if len(scored) > popri.rounds else [*scored, None]
    return {"adapter": chosen_adapter(known, popri)}


def embed_validation_samples(private_validation: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """Unit embeddings of the validation clients' samples, for the paper's unaccounted checkpoint choice only."""
    return encoder.encode(private_validation["text"].tolist(), label="validation samples", undirected_as_zeros=True)


def choose_checkpoint_unaccounted(
    private_validation_embeddings: np.ndarray, ledger: Ledger, *candidate_embeddings: np.ndarray
) -> tuple[dict[str, int], Ledger]:
    """The paper's choice (App. B.1): lowest FID on private validation text; unaccounted, so epsilon is infinite.

    `candidate_embeddings[t]` are of adapter t; those of rounds skipped by early stopping are empty and not chosen.
    """
    name, reason = "popri.checkpoint", "the checkpoint with the lowest FID on private validation text was chosen"
    current().unaccounted(name, reason, ledger)
    texts = [rows[written(rows)] for rows in candidate_embeddings]
    distances = [frechet_distance(rows, private_validation_embeddings) if len(rows) > 1 else np.inf for rows in texts]
    charged = ledger.unaccounted_read(name, f"{reason} without a mechanism")
    return {"adapter": int(np.argmin(distances))}, charged


def draw_final_prompts(public_samples: pd.DataFrame, prompt_pool: np.ndarray, popri: Popri) -> pd.DataFrame:
    """Prompts of the final set: as many as the oversampled set needs, at `final_responses` each."""
    count = prompts_for(popri.synthetic_texts, popri.final_responses, popri.oversample)
    return draw_prompts(public_samples, prompt_pool, popri, "final", count)


def generate_final_texts(
    generator: TrainableGenerator,
    prompts: pd.DataFrame,
    checkpoint: dict[str, int],
    popri: Popri,
    chunking: Chunking,
    *adapters: Path,
) -> pd.DataFrame:
    """Algorithm 1 line 30: texts of the chosen adapter, `final_responses` a prompt."""
    return sampled_texts(
        generator, adapters[checkpoint["adapter"]], prompts, "final", popri.final_responses, popri, chunking
    )


def weigh_words(
    public_samples: pd.DataFrame, popri: Popri, released_mean: np.ndarray, *candidates: pd.DataFrame
) -> pd.DataFrame:
    """How much more often the release wants each word than the candidates of all adapters have it."""
    written = pd.concat(candidates, ignore_index=True)
    return weighed_words(written, public_samples["text"].tolist(), released_mean, popri)


def generate_guided_texts(
    generator: TrainableGenerator,
    prompts: pd.DataFrame,
    checkpoint: dict[str, int],
    popri: Popri,
    chunking: Chunking,
    words: pd.DataFrame,
    *adapters: Path,
) -> pd.DataFrame:
    """The same texts, their words as often as the release wants them."""
    guided = generator.favouring(favoured_by(prompts, words, popri))
    return generate_final_texts(guided, prompts, checkpoint, popri, chunking, *adapters)


def select_synthetic(
    final_texts: pd.DataFrame, final_embeddings: np.ndarray, checkpoint: dict[str, int], popri: Popri
) -> tuple[pd.DataFrame, np.ndarray]:
    """The synthetic data set and its embeddings as the last texts come, as in the paper; never an empty one."""
    return _selected(final_texts.assign(round=checkpoint["adapter"]), final_embeddings, None, popri)


def select_synthetic_by_release(
    final_texts: pd.DataFrame,
    final_embeddings: np.ndarray,
    checkpoint: dict[str, int],
    popri: Popri,
    released_mean: np.ndarray,
    *rounds: Any,
) -> tuple[pd.DataFrame, np.ndarray]:
    """The same of all texts that were written, those of the rounds too: what together matches the release best.

    `rounds` are the candidates of adapter 0, 1, ... and then their embeddings. Choosing among more texts costs nothing.
    """
    tables, embeddings = rounds[: len(rounds) // 2], rounds[len(rounds) // 2 :]
    gathered = _gathered(final_texts, final_embeddings, checkpoint, tables, embeddings)
    return _selected(*gathered, released_mean, popri)


def _gathered(
    final_texts: pd.DataFrame,
    final_embeddings: np.ndarray,
    checkpoint: dict[str, int],
    candidates: Sequence[pd.DataFrame],
    candidate_embeddings: Sequence[np.ndarray],
) -> tuple[pd.DataFrame, np.ndarray]:
    """All that was written, the final texts first, each text once; `round` says how often its adapter was trained."""
    rounds = [table.assign(round=adapter) for adapter, table in enumerate(candidates)]
    table = pd.concat([final_texts.assign(round=checkpoint["adapter"]), *rounds], ignore_index=True)
    first = (~table["text"].duplicated()).to_numpy()
    return table[first].reset_index(drop=True), np.concatenate([final_embeddings, *candidate_embeddings])[first]


def _selected(
    table: pd.DataFrame, embeddings: np.ndarray, released_mean: np.ndarray | None, popri: Popri
) -> tuple[pd.DataFrame, np.ndarray]:
    kept = final_selection(table, embeddings, released_mean, popri)
    refuse_none(len(kept), popri.synthetic_texts)
    return table.iloc[kept][list(SYNTHETIC_COLUMNS)].reset_index(drop=True), embeddings[kept]


def collect_training_logs(*training_logs: pd.DataFrame) -> pd.DataFrame:
    """Preference-training logs of all rounds in one table with a `round` column."""
    return pd.concat([log.assign(round=t) for t, log in enumerate(training_logs, start=1)], ignore_index=True)


def report_rounds(state: dict[str, Any], checkpoint: dict[str, int]) -> dict[str, Any]:
    """Released scores by round and the chosen adapter, as the report shows them."""
    return {
        "released_scores": state["released_scores"],
        "stopped": state["stopped"],
        "chosen": checkpoint["adapter"],
    }


def count_communication(
    final_embeddings: np.ndarray, population: Population, popri: Popri, privacy: Privacy
) -> Exchange:
    """What one client exchanges, for the row of Table 2."""
    width = final_embeddings.shape[1]
    return communication(popri, privacy, population.training, embedding_dim=width)

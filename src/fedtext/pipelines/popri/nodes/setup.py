"""Before the rounds: the ledger, the single release, the prompt pool, adapter 0 and the first state."""

from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.popri.budget import planned_ledger, planned_query
from fedtext.algorithms.popri.release import release_private_mean
from fedtext.algorithms.popri.scoring.by_name import single_release
from fedtext.algorithms.popri.steps import matched_pool
from fedtext.federation.population import Population
from fedtext.federation.private_samples import PrivateSamples
from fedtext.models.encoder import Encoder
from fedtext.models.generator import TrainableGenerator
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.seeding import derived_seed
from fedtext.training.adapters import initial_adapter
from fedtext.training.lora import TrainedAdapter


def open_popri_ledger(population: Population, encoder: Encoder, popri: Popri, privacy: Privacy) -> Ledger:
    """An empty ledger, after checking that everything the run plans to release fits the declared budget."""
    return planned_ledger(population.training, popri, privacy, embedding_dim=encoder.dim)


def release_mean_features(
    private_train: pd.DataFrame,
    private_embeddings: dict[str, np.ndarray],
    private_enrolment: dict[str, np.ndarray],
    private_noise_key: NoiseKey,
    ledger: Ledger,
    popri: Popri,
) -> tuple[np.ndarray, Ledger]:
    """The one release of `witness_*` and `mean_embedding` scoring: noised mean features per class."""
    embeddings = private_embeddings["features"]
    seen = single_release(popri).seen(private_train["text"].tolist(), embeddings, popri)
    described = private_embeddings | {"features": seen}
    samples = PrivateSamples.of(described, popri.labels, ledger.declaration.unit, private_enrolment["unit"])
    width = embeddings.shape[1]
    query = planned_query(popri, ledger.declaration, ledger.population, embedding_dim=width, round_number=0)
    return release_private_mean(query, samples, popri, ledger, private_noise_key)


def match_public_samples(
    public_samples: pd.DataFrame, public_embeddings: np.ndarray, released_mean: np.ndarray, popri: Popri
) -> np.ndarray:
    """Rows of the public samples that prompts may show: all as in the paper, or those that match the release."""
    if popri.prompt_pool == "random":
        return np.arange(len(public_embeddings))
    size = max(len(public_embeddings) // 4, popri.pool_minimum)
    return matched_pool(public_samples["text"].tolist(), public_embeddings, released_mean, popri, size)


def match_public_control(
    public_samples: pd.DataFrame, public_embeddings: np.ndarray, released_mean: np.ndarray, popri: Popri
) -> pd.DataFrame:
    """A control at the same price: the public samples that match the release best, as many as synthetic texts."""
    size = min(popri.synthetic_texts, len(public_samples))
    texts = public_samples["text"].tolist()
    return public_samples.iloc[matched_pool(texts, public_embeddings, released_mean, popri, size)]


def all_public_samples(public_samples: pd.DataFrame) -> np.ndarray:
    """Every public sample may be shown in a prompt, as in the paper."""
    return np.arange(len(public_samples))


def start_adapter(generator: TrainableGenerator, popri: Popri) -> TrainedAdapter:
    """Adapter 0: untrained LoRA weights, under which the policy is the public checkpoint."""
    return initial_adapter(generator, popri.preference.lora, seed=derived_seed(popri.seed, "adapter"))


def start_state() -> dict[str, Any]:
    """The state before the first round."""
    return {"round": 0, "stopped": False, "released_scores": []}

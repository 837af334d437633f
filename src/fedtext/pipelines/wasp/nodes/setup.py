"""Before the rounds: ledger, models with equal weights, no texts yet; and the one release, where there is one."""

from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.wasp import budget
from fedtext.algorithms.wasp.examples import COLUMNS
from fedtext.algorithms.wasp.writing import no_texts
from fedtext.federation.population import Population
from fedtext.federation.private_samples import PrivateSamples
from fedtext.models.encoder import Encoder
from fedtext.models.generator import Generator
from fedtext.params.privacy import Privacy
from fedtext.params.wasp import Wasp
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.voting.class_means import noised_class_means

State = dict[str, Any]


def start_models(**generators: Generator) -> State:
    """The state before the first round: every model by name, with equal weights."""
    names = sorted(generators)
    return {
        "round": 0,
        "weights": dict.fromkeys(names, 1 / len(names)),
        "models": {name: generators[name].identity for name in names},
        "history": [],
    }


def open_wasp_ledger(population: Population, state: State, encoder: Encoder, wasp: Wasp, privacy: Privacy) -> Ledger:
    """An empty ledger, after checking that all planned releases fit the declared budget."""
    return budget.planned_ledger(
        population.training, wasp, privacy, models=len(state["weights"]), embedding_dim=encoder.dim
    )


def start_texts(encoder: Encoder) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    """No text yet, its embeddings, and no example."""
    examples = pd.DataFrame({name: pd.Series(dtype=str) for name in COLUMNS})
    return no_texts(), np.zeros((0, encoder.dim), dtype=np.float32), examples


def release_class_means(
    private_embeddings: dict[str, np.ndarray],
    private_enrolment: dict[str, np.ndarray],
    private_noise_key: NoiseKey,
    ledger: Ledger,
    wasp: Wasp,
) -> tuple[np.ndarray, Ledger]:
    """The one release of `votes: single_release`."""
    samples = PrivateSamples.of(private_embeddings, wasp.labels, ledger.declaration.unit, private_enrolment["unit"])
    dim = private_embeddings["features"].shape[1]
    query = budget.class_means_query(wasp, ledger.declaration, ledger.population, dim)
    return noised_class_means(query, samples, wasp.labels, ledger, private_noise_key)

"""Phase 1: texts behind their codes, the strong silos' training, and the adapter that it leaves."""

from functools import partial

import numpy as np
import pandas as pd

from fedtext.algorithms.flexible import budget, training, unprotected
from fedtext.algorithms.flexible.writing import code_request
from fedtext.federation.silos import STRONG, of_kind
from fedtext.models.generator import TrainableGenerator
from fedtext.params.corpus import Chunking
from fedtext.params.flexible import Flexible
from fedtext.pipelines.clients.units import units_of
from fedtext.pipelines.flexible.nodes.held import by_silos
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.seeding import derived_seed
from fedtext.training.adapters import TrainedWeights, trainable_model, trained_of_weights
from fedtext.training.coded_rows import row_width, token_rows
from fedtext.training.lora import TrainedAdapter
from fedtext.training.unit_gradients import UnitGradients

Arrays = dict[str, np.ndarray]


def tokenise_behind_codes(
    private_train: pd.DataFrame, generator: TrainableGenerator, flexible: Flexible, chunking: Chunking
) -> Arrays:
    """Silos tokenise their samples, each behind its code. Arrays `features` (rows), `client`, `record`, `label`."""
    model, tokenizer = generator.load()
    codes = [code_request(flexible, code) for code in flexible.classes]
    width = row_width(model, tokenizer, codes, chunking.length, budget.DP_SGD)
    kept = private_train["label"].isin(flexible.labels).to_numpy() | (not flexible.labels)
    own = private_train[kept]
    before = [code_request(flexible, label) for label in own["label"]]
    rows, text = token_rows(tokenizer, before, own["text"].tolist(), width=width)
    return {
        "features": rows,
        **{name: codes[kept][text] for name, codes in units_of(private_train).items()},
        "label": np.zeros(len(rows), dtype=np.int64),
    }


def train_strong_silos(
    private_code_rows: Arrays,
    private_enrolment: Arrays,
    private_silos: pd.DataFrame,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    generator: TrainableGenerator,
    start: np.ndarray,
    flexible: Flexible,
) -> tuple[np.ndarray, Ledger]:
    """The release of phase 1: the common weights, and the ledger in which each strong silo paid. None: no weights."""
    queries = budget.dp_sgd_queries(flexible, ledger.declaration, ledger.parties, dim=start.size)
    silos = [party.name for party in of_kind(ledger.parties, STRONG)]
    if not silos:
        return np.zeros(0, dtype=np.float32), ledger
    samples = by_silos(private_code_rows, (), private_enrolment, private_silos, ledger)
    model = trainable_model(generator, flexible.lora, seed=derived_seed(flexible.seed, "adapter"))
    gradients = UnitGradients(model, flexible.training.units_at_once)
    gradients_at = partial(training.unit_gradients, gradients)
    if not flexible.noise:
        told = unprotected.told(budget.DP_SGD, ledger)
        return unprotected.plain_weights(silos, gradients_at, start, samples, flexible), told
    return training.trained_weights(queries, gradients_at, start, samples, flexible.training, ledger, private_noise_key)


def write_adapter(
    generator: TrainableGenerator, start: np.ndarray, trained: np.ndarray, flexible: Flexible
) -> TrainedAdapter | TrainedWeights:
    """What was trained as a generator reads it; as it was before where no silo is strong."""
    seed = derived_seed(flexible.seed, "adapter")
    return trained_of_weights(generator, flexible.lora, trained if trained.size else start, seed=seed)

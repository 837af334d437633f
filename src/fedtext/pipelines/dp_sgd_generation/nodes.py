"""DP-SGD and generation's nodes: thin, pure calls into fedtext.algorithms.dp_sgd_generation and fedtext.training."""

from pathlib import Path

import numpy as np
import pandas as pd

from fedtext.algorithms import dp_sgd_generation as algorithm
from fedtext.federation.communication import Exchange
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import Population
from fedtext.generation.few_shot import sampled_texts
from fedtext.models.generator import TrainableGenerator
from fedtext.params.corpus import Chunking
from fedtext.params.dp_sgd_generation import DpSgdGeneration
from fedtext.params.privacy import Privacy
from fedtext.pipelines.clients.nodes import units_of
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.seeding import derived_seed
from fedtext.system.missing import nullable
from fedtext.training.dp_sgd import expected_exchanges, trained_weights
from fedtext.training.lora import TrainedAdapter, adapted_model, adapter_of_weights, adapter_weights

Arrays = dict[str, np.ndarray]


def start_weights(generator: TrainableGenerator, dp_sgd_generation: DpSgdGeneration) -> Arrays:
    """Return the untrained adapter, as a vector."""
    model = adapted_model(generator, dp_sgd_generation.lora, seed=derived_seed(dp_sgd_generation.seed, "adapter"))
    return {"weights": adapter_weights(model)}


def open_dp_sgd_ledger(
    population: Population, start: Arrays, dp_sgd_generation: DpSgdGeneration, privacy: Privacy
) -> Ledger:
    """Open an empty ledger, after checking that all steps fit the declared budget."""
    return algorithm.planned_ledger(population.training, dp_sgd_generation, privacy, dim=start["weights"].size)


def tokenise_behind_classes(
    private_train: pd.DataFrame, generator: TrainableGenerator, dp_sgd_generation: DpSgdGeneration, chunking: Chunking
) -> Arrays:
    """Tokenise the clients' samples, each behind its class: arrays `features` (rows), `client`, `record`, `label`."""
    model, tokenizer = generator.load()
    width = algorithm.row_width(model, tokenizer, dp_sgd_generation, chunking.length)
    kept = algorithm.of_a_class(private_train["label"], dp_sgd_generation)
    own = private_train[kept]
    rows, text = algorithm.training_rows(
        tokenizer, own["text"].tolist(), nullable(own["label"]), dp_sgd_generation, width=width
    )
    return {
        "features": rows,
        **{name: codes[kept][text] for name, codes in units_of(private_train).items()},
        "label": np.zeros(len(rows), dtype=np.int64),
    }


def train_privately(
    private_rows: Arrays,
    private_enrolment: Arrays,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    generator: TrainableGenerator,
    start: Arrays,
    dp_sgd_generation: DpSgdGeneration,
) -> tuple[Arrays, Ledger]:
    """Release the adapter's weights after DP-SGD; the ledger is charged for all steps before the first."""
    samples = PrivateSamples.protected_by(ledger, private_rows, private_enrolment)
    dim, training = start["weights"].size, dp_sgd_generation.training
    query = algorithm.planned_query(dp_sgd_generation, ledger.declaration, ledger.population, dim=dim)
    model = adapted_model(generator, dp_sgd_generation.lora, seed=derived_seed(dp_sgd_generation.seed, "adapter"))
    stream_key = f"{dp_sgd_generation.model_dump_json()} {generator.source}"
    return trained_weights(
        query, model, start["weights"], samples, training, ledger, private_noise_key, settings=stream_key
    )


def write_adapter(generator: TrainableGenerator, trained: Arrays, dp_sgd_generation: DpSgdGeneration) -> TrainedAdapter:
    """Write the trained adapter as a generator reads it."""
    seed = derived_seed(dp_sgd_generation.seed, "adapter")
    return adapter_of_weights(generator, dp_sgd_generation.lora, trained["weights"], seed=seed)


def write_class_texts(
    generator: TrainableGenerator, adapter: Path, dp_sgd_generation: DpSgdGeneration, chunking: Chunking
) -> pd.DataFrame:
    """Write texts of the trained generator, equally many of each class."""
    return sampled_texts(
        generator.with_adapter(adapter),
        algorithm.final_prompts(dp_sgd_generation),
        responses=dp_sgd_generation.final_responses,
        sampler=dp_sgd_generation.sampler,
        length=chunking.length,
        seed=derived_seed(dp_sgd_generation.seed, "responses"),
        label="texts of the privately trained generator",
        form=algorithm.form_of(dp_sgd_generation),
    ).assign(round=1)


def count_exchanged(start: Arrays, population: Population, dp_sgd_generation: DpSgdGeneration) -> Exchange:
    """Count what a sampled unit exchanges in a step: the adapter down, its gradient up."""
    dim, exchanges = start["weights"].size, expected_exchanges(dp_sgd_generation.training, population.training)
    return Exchange(down_floats=dim, up_floats=dim, exchanges=exchanges)

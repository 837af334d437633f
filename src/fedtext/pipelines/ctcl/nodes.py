"""CTCL's nodes: thin, pure calls into fedtext.algorithms.ctcl and fedtext.training."""

from pathlib import Path

import numpy as np
import pandas as pd

from fedtext.algorithms.ctcl import plan, topics, writing
from fedtext.federation.communication import Exchange
from fedtext.federation.federation import Simulated
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import Population
from fedtext.models.generator import TrainableGenerator
from fedtext.params.corpus import Chunking
from fedtext.params.ctcl import Ctcl
from fedtext.params.privacy import Privacy
from fedtext.pipelines.clients.nodes import units_of
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.training.dp_sgd import expected_exchanges, trained_weights
from fedtext.training.lora import TrainedAdapter, adapted_model, adapter_of_weights

Arrays = dict[str, np.ndarray]


def find_topics(
    public_samples: pd.DataFrame, public_embeddings: np.ndarray, ctcl: Ctcl
) -> tuple[pd.DataFrame, np.ndarray]:
    """Cluster the public samples: a table of each topic's `keywords`, and the topics' unit vectors."""
    return topics.found_topics(public_samples["text"].tolist(), public_embeddings, ctcl)


def teach_keywords(
    generator: TrainableGenerator, public_samples: pd.DataFrame, ctcl: Ctcl, chunking: Chunking
) -> Arrays:
    """Return the weights of an adapter that learned to write public texts from their keywords."""
    return {"weights": writing.taught_weights(generator, public_samples["text"].tolist(), ctcl, chunking.length)}


def open_ctcl_ledger(population: Population, start: Arrays, ctcl: Ctcl, privacy: Privacy) -> Ledger:
    """Open an empty ledger, after checking that counts and training fit the declared budget."""
    return plan.planned_ledger(population.training, ctcl, privacy, dim=start["weights"].size)


def count_topics(
    private_embeddings: Arrays,
    private_enrolment: Arrays,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    centres: np.ndarray,
    ctcl: Ctcl,
) -> tuple[np.ndarray, Ledger]:
    """Release how many samples are about each topic, and return the noisy counts with the charged ledger."""
    samples = PrivateSamples.protected_by(ledger, private_embeddings, private_enrolment)
    query = plan.topics_query(ctcl, ledger.declaration, ledger.population)
    return topics.noised_counts(query, Simulated(samples, private_noise_key), centres, ctcl, ledger)


def tokenise_behind_keywords(
    private_train: pd.DataFrame,
    private_embeddings: Arrays,
    generator: TrainableGenerator,
    named: pd.DataFrame,
    centres: np.ndarray,
    ctcl: Ctcl,
    chunking: Chunking,
) -> Arrays:
    """Tokenise the clients' samples, each behind its topic's keywords: `features`, `client`, `record`, `label`."""
    model, tokenizer = generator.load()
    texts, topic = private_train["text"].tolist(), topics.topic_of(private_embeddings["features"], centres)
    keywords = named["keywords"].tolist()
    rows, text = writing.training_rows(model, tokenizer, texts, topic, keywords, ctcl, chunking.length)
    units = {name: codes[text] for name, codes in units_of(private_train).items()}
    return {"features": rows, **units, "label": np.zeros(len(rows), dtype=np.int64)}


def train_privately(
    private_rows: Arrays,
    private_enrolment: Arrays,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    generator: TrainableGenerator,
    start: Arrays,
    ctcl: Ctcl,
) -> tuple[Arrays, Ledger]:
    """Release the adapter's weights after DP-SGD; the ledger is charged for all steps before the first."""
    samples = PrivateSamples.protected_by(ledger, private_rows, private_enrolment)
    query = plan.gradients_query(ctcl, ledger.declaration, ledger.population, dim=start["weights"].size)
    model = adapted_model(generator, ctcl.lora, seed=writing.adapter_seed(ctcl))
    stream_key = f"{ctcl.model_dump_json()} {generator.source}"
    return trained_weights(
        query, model, start["weights"], samples, ctcl.training, ledger, private_noise_key, settings=stream_key
    )


def write_adapter(generator: TrainableGenerator, trained: Arrays, ctcl: Ctcl) -> TrainedAdapter:
    """Write the trained adapter as a generator reads it."""
    return adapter_of_weights(generator, ctcl.lora, trained["weights"], seed=writing.adapter_seed(ctcl))


def write_by_topic(
    generator: TrainableGenerator,
    adapter: Path,
    named: pd.DataFrame,
    counts: np.ndarray,
    ctcl: Ctcl,
    chunking: Chunking,
) -> pd.DataFrame:
    """Write texts of the privately trained generator, in the proportions of the noisy counts."""
    trained, keywords = generator.with_adapter(adapter), named["keywords"].tolist()
    return writing.written_by_topic(trained, keywords, counts, ctcl, chunking.length).assign(round=1)


def count_exchanged(start: Arrays, population: Population, ctcl: Ctcl) -> Exchange:
    """Count what a sampled unit exchanges in a step, the adapter and its gradient; topics and counts are far less."""
    dim, exchanges = start["weights"].size, expected_exchanges(ctcl.training, population.training)
    return Exchange(down_floats=dim, up_floats=dim, exchanges=exchanges)

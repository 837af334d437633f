"""Nodes of the clients: the noise key, enrolment, and the embeddings and tokens of the clients' samples.

`clients` has them for every algorithm; `tokens_pipeline` adds the one for algorithms that train on the clients' tokens.
"""

from __future__ import annotations

from typing import get_args

import numpy as np
import pandas as pd

from fedtext.corpora.clients import declared_number, is_selected, listed_ids, validate_distinct_ids
from fedtext.corpora.splits import (
    FEWEST,
    OTHER_DRAW,
    Split,
    client_splits,
    sample_splits,
    splits_of,
    validate_split_size,
)
from fedtext.evaluation.next_token import padded, text_windows
from fedtext.evaluation.units import unit_of
from fedtext.federation.private_samples import label_codes
from fedtext.federation.units import Population, unit_codes
from fedtext.models.encoder import Encoder
from fedtext.models.language_model import LanguageModel
from fedtext.models.reading_limits import validate_script
from fedtext.params.corpus import Chunking, Corpus, Partition
from fedtext.params.privacy import Privacy, Unit
from fedtext.privacy.noise import NoiseKey, new_noise_key
from fedtext.system.errors import InputError
from fedtext.system.missing import nullable


def units_of(private: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return the codes of both units, arrays `client` and `record`, by `unit_of`."""
    return {unit: unit_of(private, unit) for unit in get_args(Unit)}


Arrays = dict[str, np.ndarray]


def create_noise_key(noise_seed: int | None) -> NoiseKey:
    """Create the run's secret 256-bit key, from the operating system unless the run is a seeded simulation."""
    return new_noise_key(noise_seed)


def declare_population(corpus: Corpus, privacy: Privacy, partition: Partition) -> Population:
    """Return the declared number of enrolled units; nothing private is read."""
    shares = {"validation_share": partition.validation_share, "test_share": partition.test_share}
    number = declared_number(corpus, privacy)
    if privacy.enrolment is None and privacy.sampling == "fixed_size":
        raise InputError(
            "privacy.sampling is fixed_size and privacy.enrolment is not set: a draw of fixed size is among known "
            "clients, silent ones too; give the file of ids, or set sampling to poisson",
            code="draw-without-enrolment",
            parameter="privacy.enrolment",
        )
    if privacy.enrolment is None:
        most = number if corpus.max_clients is None else min(number, corpus.max_clients)
        return _measurable(Population.declared(most, **shares), partition)
    splits = _listed_splits(corpus, privacy.enrolment.path, partition)
    listed = f"privacy.enrolment {privacy.enrolment.path}: list all who are enrolled"
    validate_split_size(splits.values(), f"of {listed}, {OTHER_DRAW} {partition.seed})")
    return Population.of_splits(splits.values(), "listed")


def _listed_splits(corpus: Corpus, path: str, partition: Partition) -> dict[str, Split]:
    """Return the split of each of the listed clients that a run takes."""
    ids = listed_ids(path, corpus.client_ids)
    taken = [one for one in ids if is_selected(one, corpus.max_clients, len(ids))]
    return splits_of(
        taken, validation_share=partition.validation_share, test_share=partition.test_share, seed=partition.seed
    )


def _measurable(population: Population, partition: Partition) -> Population:
    """Return the population; raise ValueError if it leaves too few test clients to measure anything."""
    if population.test < FEWEST["test"]:
        raise InputError(
            f"privacy.population is {population.enrolled}, of which partition.test_share {partition.test_share} would "
            f"hold out {population.test}: at least {FEWEST['test']} are needed, so declare all who are enrolled, or "
            "raise the share",
            code="too-few-test-units",
            parameter="privacy.population",
            value=population.enrolled,
        )
    return population


def count_population(
    private_clients: pd.DataFrame, private_samples: pd.DataFrame, privacy: Privacy, partition: Partition
) -> Population:
    """Count the units of a public corpus, clients without a sample among them."""
    if privacy.unit == "client":
        return Population.of_splits(client_splits(private_clients, partition).values(), "counted")
    return Population.of_splits(sample_splits(private_samples, private_clients, partition).tolist(), "counted")


def enrol_units(
    private_clients: pd.DataFrame, private_train: pd.DataFrame, corpus: Corpus, privacy: Privacy, partition: Partition
) -> Arrays:
    """Return the codes of the training units that may be sampled: the listed ones, or those that hold text.

    Raises:
        ValueError: they are more than were declared to be enrolled.
    """
    if privacy.unit == "record":
        return {"unit": _within_population(unit_of(private_train, "record"), privacy)}
    if privacy.enrolment is None:
        splits = client_splits(private_clients, partition)
    else:
        splits = _listed_splits(corpus, privacy.enrolment.path, partition)
        both = [*splits, *private_clients["client_id"]]
        validate_distinct_ids(
            both, corpus.client_ids, f"the corpus and privacy.enrolment {privacy.enrolment.path} together"
        )
    codes = unit_codes([one for one, split in splits.items() if split == "train"])
    return {"unit": _within_population(codes, privacy)}


def _within_population(codes: np.ndarray, privacy: Privacy) -> np.ndarray:
    """Return the codes; raise ValueError if they are more than the declared population.

    The first release would refuse them too (fedtext.federation.private_samples), but only after long work. The number
    is private, so the error does not contain it.
    """
    if privacy.population is not None and len(codes) > privacy.population:
        raise InputError(
            f"privacy.population is {privacy.population}, and more {privacy.unit}s hold text: declare all who are "
            "enrolled, silent ones included",
            code="population-too-small",
            parameter="privacy.population",
            value=privacy.population,
        )
    return codes


def embed_private_samples(private_train: pd.DataFrame, encoder: Encoder) -> Arrays:
    """Embed the clients' samples: arrays `features`, `client`, `record`, `label` (a code of each sample's label)."""
    texts = private_train["text"].tolist()
    return {
        "features": encoder.encode(texts, label="private samples", undirected_as_zeros=True),
        **units_of(private_train),
        "label": label_codes(nullable(private_train["label"])),
    }


def embed_public_samples(public_samples: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """Embed the public samples as unit vectors, one row a sample.

    Raises:
        ValueError: the encoder does not know their script.
    """
    texts = public_samples["text"].tolist()
    validate_script(encoder.unknown_share(texts), encoder.name, "the public samples")
    return encoder.encode(texts, label="public samples")


def tokenise_private_samples(
    private_train: pd.DataFrame, on_device: LanguageModel, chunking: Chunking
) -> dict[str, np.ndarray]:
    """Tokenise the clients' samples as the evaluation does.

    Arrays `features` (padded rows), `client`, `record`, `label`. All rows are as wide as a window.
    """
    windows = text_windows(on_device.tokenizer(), private_train["text"].tolist(), chunking.length)
    return {
        "features": padded(windows.rows, width=chunking.length + 1).astype(np.int32),
        **{name: codes[windows.sample] for name, codes in units_of(private_train).items()},
        "label": np.zeros(len(windows.rows), dtype=np.int64),
    }

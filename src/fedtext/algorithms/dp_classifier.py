"""The small classifier itself, trained on the private text by DP-SGD (Abadi et al., CCS 2016).

Where a classifier is all that is wanted, no synthetic text is needed: this is the baseline that labelled synthetic
texts have to beat at the same epsilon. It is a softmax regression on frozen embeddings of `models.classifier`, as the
classifiers are that judge labelled texts by default. A unit's contribution is the gradient of the mean cross-entropy of
its samples of declared classes; a sample of another class says nothing.

The weights are one matrix, a row a class; the last column is the bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.units import Block
from fedtext.params.dp_classifier import DpClassifier
from fedtext.params.privacy import Privacy
from fedtext.params.task import Task
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.training import dp_sgd
from fedtext.training.federated_averaging import Server

NAME = "dp_classifier"
BLOCK = 256  # units whose gradients are handed on together


def planned_query(params: DpClassifier, task: Task, privacy: Privacy, population: int, *, dim: int) -> Query:
    """Plan the one release of a run: the steps of the training, on embeddings of `dim` numbers."""
    weights = len(task.labels) * (dim + 1)
    group = f"{NAME}.training"
    return dp_sgd.planned_query(f"{NAME}.gradients", params.training, privacy, population, dim=weights, group=group)


def planned_ledger(population: int, params: DpClassifier, task: Task, privacy: Privacy, *, dim: int) -> Ledger:
    """Return an empty ledger for `population` units, before any of them is read.

    Raises:
        BudgetExceeded: the training would overdraw the budget.
        ValueError: fewer than two classes are declared, or a batch is larger than the population.
    """
    task.validate_classes(NAME)
    return opened_ledger([planned_query(params, task, privacy, population, dim=dim)], privacy, population)


def trained_classifier(
    samples: PrivateSamples, params: DpClassifier, task: Task, ledger: Ledger, key: NoiseKey, *, encoder: str
) -> tuple[Server, Ledger]:
    """Train by DP-SGD from zeros, and return the server's state with the charged ledger.

    Args:
        samples: Embeddings of the private samples with their classes.
        params: Batch size, rate and optimizer.
        task: The declared classes.
        ledger: The ledger to charge.
        key: The run's secret key for sampling and noise.
        encoder: Identity of the encoder, which is public.
    """
    query = planned_query(params, task, ledger.declaration, ledger.population, dim=samples.features.shape[1])
    settings = f"{params.model_dump_json()} {task.labels} {encoder}"
    start = np.zeros(query.dim, dtype=np.float32)
    at = partial(partial, class_gradients, len(task.labels))
    return dp_sgd.descended(query.about("", settings), start, at, samples, params.training, ledger, key)


def class_gradients(classes: int, weights: Float[np.ndarray, " dim"], held: PrivateSamples) -> Iterator[Block]:
    """Yield the gradient of each unit that holds a sample of a declared class, unclipped.

    A unit is computed by itself, and sums run in the order of its samples and of their numbers, so its bits depend on
    nothing else.
    """
    known = np.flatnonzero(held.label >= 0)
    order = known[np.argsort(held.unit[known], kind="stable")]
    units, first = np.unique(held.unit[order], return_index=True)
    table = np.asarray(weights, dtype=np.float64).reshape(classes, -1)
    own = np.split(order, first[1:])
    for at in range(0, len(units), BLOCK):
        rows = [_gradient(table, held.features[some], held.label[some]) for some in own[at : at + BLOCK]]
        yield Block(units[at : at + BLOCK], np.stack(rows))


def given_classes(
    weights: Float[np.ndarray, " dim"], embeddings: Float[np.ndarray, "text dim"], classes: int
) -> Int[np.ndarray, " text"]:
    """Return the likeliest class of every text."""
    table = np.asarray(weights, dtype=np.float64).reshape(classes, -1)
    return np.asarray((_with_bias(embeddings) @ table.T).argmax(axis=1), dtype=np.int64)


def _gradient(
    table: Float[np.ndarray, "class column"],
    features: Float[np.ndarray, "sample dim"],
    label: Int[np.ndarray, " sample"],
) -> Float[np.ndarray, " weight"]:
    rows = _with_bias(features)
    logits = (rows.T[:, :, None] * table.T[:, None, :]).sum(axis=0)  # over the first axis: one addend after another
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    error = odds / odds.sum(axis=1, keepdims=True)
    error[np.arange(len(label)), label] -= 1.0
    return np.asarray((error[:, :, None] * rows[:, None, :]).sum(axis=0).ravel() / len(rows))


def _with_bias(features: Float[np.ndarray, "sample dim"]) -> Float[np.ndarray, "sample column"]:
    return np.concatenate([features.astype(np.float64), np.ones((len(features), 1))], axis=1)

"""The classifier's gradients by finite differences and unit by unit, its training at a price, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.algorithms import dp_classifier as algorithm
from fedtext.federation.private_samples import PrivateSamples
from fedtext.params.dp_classifier import DpClassifier
from fedtext.params.privacy import Privacy
from fedtext.params.task import Task
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from tests.parameters import conf_base
from tests.refusals import refuses

DIM, TASK = 5, conf_base(Task, labels="sea land air")


def params(**training: Any) -> DpClassifier:
    return conf_base(DpClassifier, training={"batch_size": 20, "epochs": 5.0, **training})


def declared(**changes: Any) -> Privacy:
    return conf_base(Privacy, {"epsilon": 4.0, "delta": 1e-4, "noise_seed": 0, **changes})


def held(seed: int, units: int = 6, samples: int = 14) -> PrivateSamples:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(samples, DIM)).astype(np.float32)
    return PrivateSamples(
        features, rng.integers(units, size=samples), rng.integers(-1, 3, size=samples), np.arange(units)
    )


def gradients(weights: np.ndarray, some: PrivateSamples) -> dict[int, np.ndarray]:
    return {
        unit: row
        for block in algorithm.class_gradients(3, weights, some)
        for unit, row in zip(block.unit.tolist(), block.rows, strict=True)
    }


def loss(weights: np.ndarray, features: np.ndarray, label: np.ndarray) -> float:
    logits = np.concatenate([features, np.ones((len(features), 1))], axis=1) @ weights.reshape(3, -1).T
    return float(np.mean(np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(label)), label]))


@given(st.integers(0, 10_000))
@settings(max_examples=10)
def test_a_unit_s_gradient_is_that_of_the_mean_loss_of_its_samples_of_a_class(seed: int) -> None:
    some, weights = held(seed), np.random.default_rng(seed + 1).normal(size=3 * (DIM + 1))
    for unit, found in gradients(weights, some).items():
        own = (some.unit == unit) & (some.label >= 0)
        features, label, step = some.features[own].astype(np.float64), some.label[own], 1e-5
        by_hand = [
            (loss(weights + step * way, features, label) - loss(weights - step * way, features, label)) / (2 * step)
            for way in np.eye(len(weights))
        ]
        np.testing.assert_allclose(found, by_hand, atol=1e-7)


@given(st.integers(0, 10_000))
@settings(max_examples=15)
def test_a_unit_s_bits_depend_on_its_own_samples_alone(seed: int) -> None:
    some, weights = held(seed), np.random.default_rng(seed + 1).normal(size=3 * (DIM + 1))
    whole = gradients(weights, some)
    for gone in whole:
        others = gradients(weights, some.of_units(np.setdiff1d(some.unit, [gone])))
        assert others.keys() == whole.keys() - {gone}
        assert all(np.array_equal(row, whole[unit]) for unit, row in others.items())


def test_whoever_has_no_sample_of_a_class_says_nothing() -> None:
    some = held(0)
    assert gradients(np.zeros(18), PrivateSamples(some.features, some.unit, np.full(14, -1), some.enrolled)) == {}


def separable(units: int = 400) -> tuple[PrivateSamples, np.ndarray]:
    rng = np.random.default_rng(3)
    label = rng.integers(3, size=units)
    features = (np.eye(DIM)[label] + 0.2 * rng.normal(size=(units, DIM))).astype(np.float32)
    return PrivateSamples(features, np.arange(units), label, np.arange(units)), label


def accuracy(samples: PrivateSamples, label: np.ndarray, **changes: Any) -> float:
    ledger = algorithm.planned_ledger(len(label), params(), TASK, declared(**changes), dim=DIM)
    opened = Ledger.model_validate(ledger.model_dump())
    server, charged = algorithm.trained_classifier(samples, params(), TASK, opened, new_noise_key(0), encoder="hash")
    (release,) = charged.releases
    assert (release.name, release.steps, release.rate) == ("dp_classifier.gradients", 100, 0.05)
    assert charged.spent() <= ledger.declaration.epsilon
    given = algorithm.given_classes(server["weights"], samples.features, 3)
    return float((given == label).mean())


def test_it_learns_from_many_units_and_nothing_at_next_to_no_epsilon() -> None:
    samples, label = separable()
    assert accuracy(samples, label) > 0.9
    assert accuracy(samples, label, epsilon=0.01) < 0.75


def test_it_learns_nothing_from_labels_that_say_nothing() -> None:
    samples, label = separable()
    shuffled = np.random.default_rng(0).permutation(label)
    wrong = PrivateSamples(samples.features, samples.unit, shuffled, samples.enrolled)
    assert accuracy(wrong, label) < 0.75


def test_what_cannot_be_is_refused() -> None:
    with refuses("too-few-labels", value=1):
        algorithm.planned_ledger(400, params(), conf_base(Task, labels="sea"), declared(), dim=DIM)
    with refuses("batches-need-full-sampling"):
        algorithm.planned_ledger(400, params(), TASK, declared(aggregation="local"), dim=DIM)
    with refuses("batch-above-population", value=20):
        algorithm.planned_ledger(10, params(), TASK, declared(), dim=DIM)
    with pytest.raises(ValueError, match="epsilon"):
        algorithm.planned_ledger(400, params(), TASK, declared(noise_multiplier=0.1), dim=DIM)

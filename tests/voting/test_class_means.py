"""Class means: a record's vector has norm 1 in its class's place, a client's adds up, and likeness is of directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.federation.federation import Simulated
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from fedtext.voting.class_means import class_similarity, class_sum_blocks, noised_class_means
from tests.parameters import conf_base
from tests.voting.examples import unit


def held(seed: int, classes: int = 3) -> PrivateSamples:
    random = np.random.default_rng(seed)
    client = np.sort(random.integers(0, 8, 30))
    rows = unit(random.standard_normal((30, 4))).astype(np.float32)
    return PrivateSamples(rows, client, random.integers(-1, classes, 30), np.unique(client))


@given(seed=st.integers(0, 1000), block=st.integers(1, 9))
def test_a_client_sends_the_sum_of_its_embeddings_class_beside_class(seed: int, block: int) -> None:
    samples = held(seed)
    sent = {int(u): row for b in class_sum_blocks(samples, 3, block=block) for u, row in zip(*b, strict=True)}
    assert set(sent) == set(samples.unit.tolist())
    for client, row in sent.items():
        for c, part in enumerate(row.reshape(3, 4)):
            own = samples.features[(samples.unit == client) & (samples.label == c)]
            assert part == pytest.approx(own.astype(np.float64).sum(axis=0), abs=1e-6)
    (alone,) = class_sum_blocks(samples.of_units(samples.unit[:1]), 3)
    assert np.array_equal(alone.rows[0], sent[int(samples.unit[0])])


def test_a_record_moves_the_sum_by_one() -> None:
    samples = held(1)
    one_each = PrivateSamples(samples.features, np.arange(30), samples.label, np.arange(30))
    rows = np.concatenate([block.rows for block in class_sum_blocks(one_each, 3)])
    assert np.linalg.norm(rows, axis=1) == pytest.approx((samples.label >= 0).astype(float), abs=1e-6)


def test_likeness_is_by_direction_and_a_class_without_any_says_nothing() -> None:
    sums, texts = np.array([[0.0, 5.0], [0.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    assert class_similarity(texts, np.array([0, 0, 1]), sums).tolist() == [1.0, 0.0, 0.0]


def test_means_of_other_classes_share_no_noise_though_nobody_holds_them() -> None:
    """Equal bytes would say for certain that nobody holds a text of the class that one of two runs leaves out."""
    samples = replace(held(2), label=np.zeros(30, dtype=np.int64))  # all are of the first class
    declared = conf_base(Privacy, {"epsilon": 8.0, "delta": 1e-5, "noise_seed": 2, "noise_multiplier": 5.0})
    ledger = Ledger(declaration=declared, population=8)
    query, federation = Query("means", 0, 12, 1.0, 5.0), Simulated(samples, new_noise_key(2))

    def released(labels: str) -> np.ndarray:
        return noised_class_means(query, federation, labels.split(), ledger)[0]

    assert np.array_equal(released("sea land air"), released("sea land air"))
    assert not np.isclose(released("sea land air"), released("sea land fire")).any()

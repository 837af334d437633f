from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.federation.partition import (
    dirichlet_client_over_labels,
    dirichlet_label_over_clients,
    iid,
    label_skew,
    partition,
)
from fedtext.params.corpus import Partition
from fedtext.params.silos import Silos
from tests.parameters import conf_base
from tests.refusals import refuses

SILOS = conf_base(Silos)
SIMULATED = ("iid", "dirichlet_label_over_clients", "dirichlet_client_over_labels", "label_skew")
LABELS = np.repeat(np.arange(5), [400, 300, 200, 80, 20])


def counts(index: np.ndarray, labels: np.ndarray = LABELS) -> np.ndarray:
    """Records of each client (row) with each label (column)."""
    table = np.zeros((index.max() + 1, labels.max() + 1), dtype=int)
    np.add.at(table, (index, labels), 1)
    return table


def label_distance(index: np.ndarray) -> float:
    """Mean total variation distance between a client's label distribution and the population's."""
    table = counts(index)
    own = table / table.sum(axis=1, keepdims=True)
    return float(0.5 * np.abs(own - table.sum(axis=0) / table.sum()).sum(axis=1).mean())


def test_natural_keeps_the_ids_of_the_data():
    assert partition(["b", "a", "b"], ["", "x", None], conf_base(Partition), SILOS).tolist() == ["b", "a", "b"]
    assert partition(np.array(["b", "a"]), np.array(["", "x"]), conf_base(Partition), SILOS).tolist() == ["b", "a"]


@pytest.mark.parametrize("method", SIMULATED)
def test_every_record_gets_a_client_and_every_client_a_record(method):
    params = conf_base(Partition, method=method, clients=12, alpha=1.0)
    own, labels = ["anybody"] * 1000, [f"label {code}" for code in LABELS]
    ids = partition(own, labels, params, SILOS)
    assert len(ids) == 1000
    assert sorted(set(ids)) == [f"client-{number:02d}" for number in range(12)]
    assert ids.tolist() == partition(own, labels, params, SILOS).tolist()
    other = partition(own, labels, params.model_copy(update={"seed": 1}), SILOS)
    assert ids.tolist() != other.tolist()


@settings(max_examples=40)
@given(records=st.integers(1, 300), clients=st.integers(1, 50), seed=st.integers(0, 10**6))
def test_iid_sizes_differ_by_at_most_one(records, clients, seed):
    sizes = np.bincount(iid(records, clients, seed=seed), minlength=clients)
    assert sizes.sum() == records
    assert sizes.max() - sizes.min() <= 1


def test_iid_is_not_in_the_order_of_the_records():
    index = iid(1000, 10, seed=0)
    assert abs(np.corrcoef(index, np.arange(1000))[0, 1]) < 0.15
    assert label_distance(index) < 0.08


@pytest.mark.parametrize("deal", [dirichlet_label_over_clients, dirichlet_client_over_labels])
def test_small_alpha_is_skewed_and_large_alpha_is_not(deal):
    skewed, mild, flat = (label_distance(deal(LABELS, 10, alpha=alpha, seed=3)) for alpha in (0.3, 3.0, 1e4))
    assert skewed > mild > flat
    assert skewed > 0.25
    assert flat < 0.08


def test_label_over_clients_follows_the_dirichlet_moments():
    """A label's share at one of K clients: mean 1/K and variance (K-1) / (K^2 (K alpha + 1)) over partitions."""
    labels = np.zeros(2000, dtype=int)
    clients, alpha = 4, 2.0
    shares = []
    for seed in range(400):
        shares.append(np.bincount(dirichlet_label_over_clients(labels, clients, alpha=alpha, seed=seed)) / 2000)
    spread = np.var(np.array(shares), axis=0).mean()
    expected = (clients - 1) / (clients**2 * (clients * alpha + 1))
    assert np.mean(shares, axis=0) == pytest.approx(np.full(clients, 1 / clients), abs=0.03)
    assert spread == pytest.approx(expected, rel=0.15)


def test_client_over_labels_gives_equal_quotas_and_follows_the_dirichlet_moments():
    """The first client meets full pools: its label share has mean p and variance p (1 - p) / (alpha + 1)."""
    labels = np.repeat([0, 1], [15_000, 5_000])
    shares, alpha, clients = [], 4.0, 20
    for seed in range(300):
        index = dirichlet_client_over_labels(labels, clients, alpha=alpha, seed=seed)
        if seed == 0:
            assert set(np.bincount(index)) == {1000}
        shares.append(np.mean(labels[index == 0]))
    assert np.mean(shares) == pytest.approx(0.25, abs=0.035)
    assert np.var(shares) == pytest.approx(0.25 * 0.75 / (alpha + 1), rel=0.25)


def test_label_over_clients_makes_unequal_clients_and_client_over_labels_equal_ones():
    unequal = counts(dirichlet_label_over_clients(LABELS, 10, alpha=0.5, seed=1)).sum(axis=1)
    equal = counts(dirichlet_client_over_labels(LABELS, 10, alpha=0.5, seed=1)).sum(axis=1)
    assert unequal.max() > 2 * unequal.min()
    assert set(equal) == {100}


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 100.0])
def test_client_over_labels_uses_every_record_once_whatever_alpha(alpha):
    table = counts(dirichlet_client_over_labels(LABELS, 37, alpha=alpha, seed=2))
    np.testing.assert_array_equal(table.sum(axis=0), [400, 300, 200, 80, 20])
    assert table.sum(axis=1).max() - table.sum(axis=1).min() <= 1


@pytest.mark.parametrize("labels_per_client", [1, 2, 5])
def test_label_skew_gives_each_client_that_many_labels(labels_per_client):
    table = counts(label_skew(LABELS, 10, labels_per_client=labels_per_client, seed=4))
    assert ((table > 0).sum(axis=1) == labels_per_client).all()
    np.testing.assert_array_equal(table.sum(axis=0), [400, 300, 200, 80, 20])
    for label in range(5):  # holders of one label share it evenly
        held = table[table[:, label] > 0, label]
        assert held.max() - held.min() <= 1


def test_label_skew_keeps_clients_of_similar_size():
    """One label with most of the records goes to many clients, not to as many as a rare one."""
    labels = np.repeat(np.arange(21), [900] + [5] * 20)
    sizes = np.bincount(label_skew(labels, 100, labels_per_client=1, seed=0))
    assert sizes.min() == 5
    assert sizes.max() == 12  # 900 records over the 80 clients that are left


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=8),
    clients=st.integers(1, 12),
    labels_per_client=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_label_skew_is_exact_or_refuses(sizes, clients, labels_per_client, seed):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    slots = clients * labels_per_client
    if slots < len(sizes) or np.minimum(sizes, clients).sum() < slots:
        with refuses("too-few-labels-per-client" if slots < len(sizes) else "too-many-labels-per-client"):
            label_skew(labels, clients, labels_per_client=labels_per_client, seed=seed)
        return
    table = counts(label_skew(labels, clients, labels_per_client=labels_per_client, seed=seed), labels)
    assert ((table > 0).sum(axis=1) == labels_per_client).all()
    np.testing.assert_array_equal(table.sum(axis=0), sizes)


@pytest.mark.parametrize(
    ("params", "labels", "code"),
    [
        ({"method": "iid"}, "aabbab", "clients-not-set"),
        ({"method": "iid", "clients": 7}, "aabbab", "more-clients-than-records"),
        ({"clients": 3}, "aabbab", "clients-of-the-data"),
        ({"method": "label_skew", "clients": 2}, [""] * 6, "records-without-label"),
        (
            {"method": "label_skew", "clients": 2},
            ["a", None, "b", None, "", "b"],
            "records-without-label",
        ),
        (
            {"method": "label_skew", "clients": 3, "labels_per_client": 3},
            "aabbab",
            "too-many-labels-per-client",
        ),
        (
            {"method": "label_skew", "clients": 2, "labels_per_client": 1},
            "abcabc",
            "too-few-labels-per-client",
        ),
        (
            {"method": "label_skew", "clients": 4, "labels_per_client": 2},
            "abcdef",
            "too-many-labels-per-client",
        ),
        (
            {"method": "dirichlet_label_over_clients", "clients": 6, "alpha": 0.05},
            "aaaaaa",
            "clients-without-record",
        ),
    ],
)
def test_what_cannot_be_done_names_the_parameter_to_change(params, labels, code):
    with refuses(code):
        partition(list("uvwxyz"), list(labels), conf_base(Partition, params), SILOS)

"""Partition of records into clients: by their own ids, or simulated with a known kind and degree of skew.

Two different partitions go by 'Dirichlet over labels', and papers often give one the name of the other:

- `dirichlet_label_over_clients`: each label's records are divided among the clients by one draw from Dir(alpha, ...,
  alpha) (Yurochkin et al. 2019, arXiv:1905.12022). Client sizes differ as well.
- `dirichlet_client_over_labels`: each client draws its own label distribution from Dir(alpha * share of each label) and
  fills an equal quota from it (Hsu, Qi and Brown 2019, arXiv:1909.06335).

Every function takes plain arrays and returns one client number a record. All draws come from the public seed. A client
without records is an error, never a silently smaller population.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from fedtext.federation.silos import biased, numbered, strong_number
from fedtext.params.corpus import Partition
from fedtext.params.silos import Silos
from fedtext.seeding import stream
from fedtext.system.errors import InputError

Column = Sequence[str | None] | np.ndarray  # one text a record


def partition(client_ids: Column, labels: Column, params: Partition, silos: Silos) -> np.ndarray:
    """Compute the client id of each record under `params.method`.

    Args:
        client_ids: The records' own client ids, which `natural` keeps and every other method replaces.
        labels: The records' labels; None or an empty text where there is none.
        params: The method and its parameters.
        silos: The declaration of the strong silos, for `biased`.

    Raises:
        ValueError: labels that the method needs are missing, or some client would hold no record.
    """
    n_records = len(client_ids)
    if params.method == "natural":
        return _natural(client_ids, params)
    if params.clients is None:
        raise InputError(
            f"partition.clients is not set: partition.method '{params.method}' needs a number of clients",
            code="clients-not-set",
            parameter="partition.clients",
        )
    if params.clients > n_records:
        raise InputError(
            f"partition.clients is {params.clients} but there are {n_records} records: lower it",
            code="more-clients-than-records",
            parameter="partition.clients",
            value=params.clients,
        )
    if params.method == "iid":
        return _named(iid(n_records, params.clients, seed=params.seed), params.clients)
    codes = _label_codes(labels, params.method)
    if params.method == "biased":
        return _named(_biased(labels, params.clients, silos, params.seed), params.clients)
    if params.method == "dirichlet_label_over_clients":
        index = dirichlet_label_over_clients(codes, params.clients, alpha=params.alpha, seed=params.seed)
    elif params.method == "dirichlet_client_over_labels":
        index = dirichlet_client_over_labels(codes, params.clients, alpha=params.alpha, seed=params.seed)
    else:
        index = label_skew(codes, params.clients, labels_per_client=params.labels_per_client, seed=params.seed)
    return _named(index, params.clients)


def iid(n_records: int, clients: int, *, seed: int) -> Int[np.ndarray, " record"]:
    """Partition records uniformly at random; client sizes differ by at most one."""
    return stream(seed, "partition", "iid").permutation(np.arange(n_records) % clients)


def dirichlet_label_over_clients(
    labels: Int[np.ndarray, " record"], clients: int, *, alpha: float, seed: int
) -> Int[np.ndarray, " record"]:
    """Divide each label's records among the clients in proportions drawn from Dir(alpha, ..., alpha)."""
    random = stream(seed, "partition", "dirichlet_label_over_clients")
    index = np.empty(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        records = random.permutation(np.flatnonzero(labels == label))
        upper = np.cumsum(random.dirichlet(np.full(clients, alpha)))
        upper[-1] = 1.0
        position = (np.arange(len(records)) + random.random()) / len(records)
        index[records] = np.minimum(np.searchsorted(upper, position), clients - 1)
    return _full(index, clients, "lower partition.clients or raise partition.alpha")


def dirichlet_client_over_labels(
    labels: Int[np.ndarray, " record"], clients: int, *, alpha: float, seed: int
) -> Int[np.ndarray, " record"]:
    """Fill each client's equal quota by its own label distribution, drawn from Dir(alpha * share of each label).

    Sampling is without replacement: once a label is used up, a client's remaining weight goes to the labels that are
    left.
    """
    random = stream(seed, "partition", "dirichlet_client_over_labels")
    pools = [random.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
    left = np.array([len(pool) for pool in pools])
    prior = left / len(labels)
    index = np.empty(len(labels), dtype=np.int64)
    for client, quota in enumerate(np.bincount(np.arange(len(labels)) % clients, minlength=clients)):
        # The floor keeps labels that underflowed to weight zero in reach when every other one is used up.
        weights = np.maximum(random.dirichlet(np.maximum(alpha * prior, 1e-9)), 1e-12)
        wanted = quota
        while wanted:
            open_weights = weights * (left > 0)
            drawn = np.minimum(random.multinomial(wanted, open_weights / open_weights.sum()), left)
            for label in np.flatnonzero(drawn):
                index[pools[label][left[label] - drawn[label] : left[label]]] = client
            left -= drawn
            wanted -= drawn.sum()
    return _full(index, clients, "lower partition.clients")


def label_skew(
    labels: Int[np.ndarray, " record"], clients: int, *, labels_per_client: int, seed: int
) -> Int[np.ndarray, " record"]:
    """Partition records so that each client holds exactly `labels_per_client` labels, each label split evenly.

    Larger labels get more clients, so that clients are of similar size where the labels allow it.
    """
    random = stream(seed, "partition", "label_skew")
    names = random.permutation(np.unique(labels))
    sizes = np.array([np.count_nonzero(labels == label) for label in names])
    slots = clients * labels_per_client
    if slots < len(names):
        raise InputError(
            f"{clients} clients with {labels_per_client} labels each cannot hold {len(names)} labels: raise "
            "partition.labels_per_client or partition.clients",
            code="too-few-labels-per-client",
            parameter="partition.labels_per_client",
            value=labels_per_client,
        )
    if np.minimum(sizes, clients).sum() < slots:
        raise InputError(
            f"{len(names)} labels do not suffice for {clients} clients with {labels_per_client} different ones each: "
            "lower partition.labels_per_client or partition.clients",
            code="too-many-labels-per-client",
            parameter="partition.labels_per_client",
            value=labels_per_client,
        )
    index = np.empty(len(labels), dtype=np.int64)
    first = 0
    for label, count in zip(names, _holders(sizes, clients, slots), strict=True):
        # Slots go to the clients in turn and a label has at most one slot a client: no client gets it twice.
        holders = np.arange(first, first + count) % clients
        records = random.permutation(np.flatnonzero(labels == label))
        index[records] = holders[np.arange(len(records)) % count]
        first += count
    return index


def _biased(labels: Column, clients: int, silos: Silos, seed: int) -> Int[np.ndarray, " record"]:
    """Apply `fedtext.federation.silos.biased` with the roles that `silos` gives to simulated silos."""
    if isinstance(silos.strong, tuple) or silos.groups is not None:
        raise InputError(
            "partition.method 'biased' makes its silos up: set silos.strong to a share of them, and silos.groups to "
            "null",
            code="strong-silos-not-set",
            parameter="silos.strong",
        )
    strong = strong_number(clients, silos.strong)
    return biased(list(map(str, labels)), clients, strong=strong, codes=silos.strong_codes, seed=seed)


def _holders(sizes: Int[np.ndarray, " label"], clients: int, slots: int) -> list[int]:
    """Compute how many clients hold each label, `slots` in all: one, then one more wherever the shares are largest."""
    holders = [1] * len(sizes)
    most = [min(int(size), clients) for size in sizes]
    queue = [(-float(size), label) for label, size in enumerate(sizes) if most[label] > 1]
    heapq.heapify(queue)
    for _ in range(slots - len(sizes)):
        _, label = heapq.heappop(queue)
        holders[label] += 1
        if holders[label] < most[label]:
            heapq.heappush(queue, (-sizes[label] / holders[label], label))
    return holders


def _natural(client_ids: Column, params: Partition) -> np.ndarray:
    if params.clients is not None:
        raise InputError(
            f"partition.clients is {params.clients} but partition.method 'natural' keeps the clients of the data: "
            "leave it unset, or choose another method",
            code="clients-of-the-data",
            parameter="partition.clients",
            value=params.clients,
        )
    return np.array([str(one) for one in client_ids], dtype=object)


def _label_codes(labels: Column, method: str) -> Int[np.ndarray, " record"]:
    missing = [row for row, label in enumerate(labels) if not isinstance(label, str) or not label]
    if missing:
        raise InputError(
            f"partition.method '{method}' needs labels, but {len(missing)} records have none, first record "
            f"{missing[0]}: name the column by corpus.label_column, label them, or choose 'iid'",
            code="records-without-label",
            parameter="partition.method",
            value=method,
        )
    codes: np.ndarray = np.unique(np.array(labels, dtype=object), return_inverse=True)[1]
    return codes


def _full(index: Int[np.ndarray, " record"], clients: int, remedy: str) -> Int[np.ndarray, " record"]:
    empty = clients - len(np.unique(index))
    if empty:
        raise InputError(
            f"{empty} of {clients} clients would hold no record: {remedy}",
            code="clients-without-record",
            parameter="partition.clients",
            value=clients,
        )
    return index


def _named(index: Int[np.ndarray, " record"], clients: int) -> np.ndarray:
    names = [numbered("client", number, clients) for number in range(clients)]
    return np.array([names[number] for number in index], dtype=object)

"""The neighbour test sees each of the couplings that there were: planted one by one, they turn it red."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedtext.corpora import clients
from fedtext.evaluation import units
from fedtext.federation import mechanism
from fedtext.models.encoder import Encoder
from fedtext.params.corpus import Corpus, Partition
from fedtext.params.privacy import Privacy
from fedtext.pipelines.clients import nodes
from fedtext.seeding import derived_seed
from tests.neighbours.test_neighbours import corpus
from tests.neighbours.world_sizes import small
from tests.neighbours.worlds import World, moved
from tests.parameters import conf_base

Plant = Callable[[pytest.MonkeyPatch], None]


def ranks_for_codes(patch: pytest.MonkeyPatch) -> None:
    """A client is its place among all sorted ids, which a client before it moves."""

    def ranks(ids: Sequence[str]) -> np.ndarray:
        return np.unique(np.asarray(ids, dtype=str), return_inverse=True)[1].astype(np.int64)

    for module in (nodes, units):
        patch.setattr(module, "unit_codes", ranks)


def last_bits_of_the_company(patch: pytest.MonkeyPatch) -> None:
    """Texts that share a batch move each other a little, as they do on machines whose kernels mind the shape."""
    forward = Encoder._forward

    def together(self: Encoder, features: dict[str, Any]) -> np.ndarray:
        return forward(self, features) + np.float32(1e-7 * float(features["input_ids"].float().mean()))

    patch.setattr(Encoder, "_forward", together)


def one_stream_of_coins(patch: pytest.MonkeyPatch) -> None:
    """Clients draw their coins one after the other."""
    shared = np.random.default_rng(0)
    patch.setattr(mechanism, "_rounding_randomness", lambda key, stream: shared)


@pytest.mark.sampled(only=("last_bits",))
@pytest.mark.parametrize(
    ("algorithm", "plant"),
    [
        # tests/audits/test_attacks.py finds seeds by rank at every commit.
        pytest.param("dp_fedavg", ranks_for_codes, marks=pytest.mark.slow),
        ("popri", last_bits_of_the_company),
        ("popri", one_stream_of_coins),
    ],
)
def test_a_planted_coupling_is_seen(algorithm: str, plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    records = corpus("client")
    world = World(algorithm, records, small({}))
    trained = sorted(set(world.value("private_train")["client_id"]))
    sizes = [moved(world.messages, world.beside(without(records, one))) for one in trained[:2]]
    assert max(lost for found in sizes for lost, _ in found.values()) > 1


def without(records: pd.DataFrame, one: str) -> pd.DataFrame:
    return records[records["client_id"] != one].reset_index(drop=True)


def clients_that_come_in(taken: Callable[..., pd.DataFrame]) -> set[str]:
    """Of 200 enrolled clients some 50 are taken: who is there without the first one, and was not with it."""
    records = corpus("client", clients=200)
    given: tuple[Any, ...] = (
        conf_base(Corpus, source="table", max_clients=50),
        conf_base(Privacy, epsilon=1.0, delta=1e-4, population=200),
    )
    before = set(taken(records, *given)["client_id"])
    after = [set(taken(without(records, one), *given)["client_id"]) - before for one in sorted(before)]
    return set().union(*after)


def test_no_client_takes_the_place_of_another() -> None:
    assert clients_that_come_in(clients.selected_clients) == set()


def test_the_first_rows_or_the_smallest_hashes_let_another_in() -> None:
    def first(records: pd.DataFrame, params: Corpus, _: Privacy) -> pd.DataFrame:
        return records[records["client_id"].isin(records["client_id"].drop_duplicates().head(params.max_clients))]

    def smallest(records: pd.DataFrame, params: Corpus, _: Privacy) -> pd.DataFrame:
        hashes = {one: derived_seed(0, "max_clients", one) for one in set(records["client_id"])}
        return records[records["client_id"].isin(sorted(hashes, key=hashes.__getitem__)[: params.max_clients])]

    assert clients_that_come_in(first)
    assert clients_that_come_in(smallest)


def test_a_silent_client_is_counted_and_going_silent_changes_no_public_number() -> None:
    """The population of a private corpus comes from the declaration: records are no input of it."""
    declared = conf_base(Privacy, epsilon=1.0, delta=1e-4, population=400)
    names = nodes.declare_population.__annotations__
    assert pd.DataFrame not in names.values()
    found = nodes.declare_population(conf_base(Corpus, source="table"), declared, conf_base(Partition, test_share=0.2))
    assert (found.enrolled, found.training, found.test) == (400, 280, 80)

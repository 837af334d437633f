"""The nodes of `partition`: whose split a client has, and what cannot be partitioned."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pandas as pd
import pytest
from kedro.io import DataCatalog
from kedro.pipeline import node

from fedtext.corpora.records import SPLITS
from fedtext.params.corpus import Corpus, Partition
from fedtext.params.privacy import Privacy
from fedtext.params.silos import Silos
from fedtext.pipelines.partition.nodes import assign_clients, assign_splittable_clients, draw_partition, split_samples
from fedtext.privacy.tags import Tag
from fedtext.system.refusal import explanation
from fedtext.wiring.guard import Guard
from tests.parameters import conf_base
from tests.refusals import refuses

SILOS = conf_base(Silos)
PUBLIC, PRIVATE = conf_base(Corpus), conf_base(Corpus, source="table", path="notes.csv")
OWN = {f"c{i:02d}": SPLITS[i % 3] for i in range(60)}


def records(**columns: list[object]) -> pd.DataFrame:
    table = {"client_id": list(OWN), "text": ["words"] * 60, "label": ["tea", "rum"] * 30, "date": [None] * 60}
    return pd.DataFrame({**table, **columns})


def samples(clients: pd.DataFrame) -> pd.DataFrame:
    """Two samples a client, as chunking would make them, without the column of splits."""
    twice = pd.concat([clients, clients], ignore_index=True)
    return twice[["client_id", "text", "label", "date"]].assign(n_tokens=3)


def split_of_clients(params: Partition, clients: pd.DataFrame) -> dict[str, str]:
    parts = split_samples(samples(clients), clients, params)
    return {one: name for name, part in zip(SPLITS, parts, strict=True) for one in part["client_id"]}


def test_a_corpus_with_splits_keeps_them() -> None:
    clients = assign_clients(records(split=list(OWN.values())), conf_base(Partition), PRIVATE, SILOS)
    assert split_of_clients(conf_base(Partition), clients) == OWN


def test_a_parameter_splits_anew_and_a_corpus_without_splits_goes_by_hash() -> None:
    anew = split_of_clients(conf_base(Partition, split="hash"), records(split=list(OWN.values())))
    assert anew != OWN
    assert anew == split_of_clients(conf_base(Partition), records())


def test_simulated_clients_never_mix_a_corpus_s_training_and_test_text() -> None:
    with_splits, iid = records(split=list(OWN.values())), {"method": "iid", "clients": 30}
    with refuses("dealing-mixes-splits", value="iid"):
        assign_clients(with_splits, conf_base(Partition, iid), PUBLIC, SILOS)
    assert (
        assign_clients(with_splits, conf_base(Partition, **iid, split="hash"), PUBLIC, SILOS)["client_id"].nunique()
        == 30
    )
    assert assign_clients(records(), conf_base(Partition, iid), PUBLIC, SILOS)["client_id"].nunique() == 30


@pytest.mark.parametrize("method", ["iid", "dirichlet_label_over_clients", "label_skew"])
def test_private_records_are_not_dealt_out_among_made_up_clients(method: str) -> None:
    """A record more would move others to other clients."""
    simulated = conf_base(Partition, method=method, clients=5, labels_per_client=1)
    with refuses("dealing-needs-public-text", value=method):
        assign_clients(records(), simulated, PRIVATE, SILOS)
    declared = conf_base(Corpus, source="table", path="notes.csv", declared_public=True)
    assert assign_clients(records(), simulated, declared, SILOS)["client_id"].nunique() == 5


def test_what_cannot_be_partitioned_is_refused_without_a_traceback() -> None:
    with refuses("clients-not-set", parameter="partition.clients") as unset:
        assign_clients(records(), conf_base(Partition, method="iid"), PUBLIC, SILOS)
    with refuses("split-too-small") as empty:
        assign_splittable_clients(
            records(split=["train", "validation"] * 30), conf_base(Partition), PUBLIC, SILOS, conf_base(Privacy)
        )
    assert [str(explanation(one.value, Path())) for one in (unset, empty)] == [str(unset.value), str(empty.value)]


def test_ids_are_kept_to_the_last_character() -> None:
    ids = ["a", "a\0"] * 30
    assert assign_clients(records(client_id=ids), conf_base(Partition), PRIVATE, SILOS)["client_id"].tolist() == ids


def test_one_long_label_does_not_widen_every_row() -> None:
    table = pd.DataFrame({"client_id": ["a"] * 5000, "text": "words", "label": ["x" * 3300] + ["tea"] * 4999})
    tracemalloc.start()
    assign_clients(table, conf_base(Partition), PRIVATE, SILOS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6  # bytes; 5,000 labels of 3,300 characters are 66 million


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "natural."),
        ({"method": "label_skew", "clients": 9}, "label_skew, 2 labels a client."),
        ({"method": "dirichlet_label_over_clients", "clients": 9, "alpha": 0.3}, "over_clients, alpha 0.3."),
    ],
)
def test_the_figure_says_which_partition_it_shows(params: dict[str, object], words: str) -> None:
    figure = draw_partition(samples(records()), conf_base(Partition, params))
    assert words in figure.layout.annotations[-1].text


def test_the_guard_lets_the_figure_of_undeclared_labels_pass_which_shows_common_ones_alone(tmp_path: Path) -> None:
    labels: list[object] = ["card_arrival", "lost_or_stolen?"] * 30
    labels[:2] = ["ward 7, Dr Tann", "ward 8, Dr Ahn"]
    clients: list[object] = [*list(OWN)[:-1], "card_arr"]  # as a module of docstrings is called by its package
    catalog = DataCatalog.from_config({"{default}": {"type": "MemoryDataset"}})
    drawn = node(draw_partition, ["private_test", "params:partition"], "shown", name="draw", tags=Tag.HELD_OUT)
    given = {
        "private_test": samples(records(label=labels, client_id=clients)),
        "params:partition": conf_base(Partition),
    }
    figure = Guard(catalog, tmp_path, {}).around(drawn).run(given)["shown"]
    assert set(figure.data[1].x) == {"card_arrival", "lost_or_stolen?", "all others"}

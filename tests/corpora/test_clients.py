from __future__ import annotations

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from fedtext.corpora.clients import client_of
from fedtext.params.corpus import Corpus, Partition
from tests.parameters import conf_base

NATURAL = conf_base(Partition)


def table(path: Path, **changes: object) -> Corpus:
    return conf_base(Corpus, source="table", path=str(path), **changes)


def test_a_table_says_by_its_headings_what_a_client_is(tmp_path):
    path = tmp_path / "mine.csv"
    pd.DataFrame({"text": ["one", "two"], "client_id": ["a", "b"], "patient": ["x", "x"]}).to_csv(path, index=False)
    assert client_of(table(path), NATURAL) == "each value of column 'client_id'"
    assert client_of(table(path, client_column="patient"), NATURAL) == "each value of column 'patient'"
    assert client_of(table(path, client_ids="folded"), NATURAL) == (
        "each value of column 'client_id', those that look alike being one"
    )
    assert client_of(table(path, client_column=None), NATURAL) == "each row"
    pd.DataFrame({"text": ["one", "two"], "patient": ["x", "x"]}).to_csv(path, index=False)
    assert client_of(table(path), NATURAL) is None, "refused when it is read"
    pd.DataFrame({"text": ["one", "two"]}).to_csv(path, index=False)
    assert client_of(table(path), NATURAL) == "each row"


def test_pairs_that_are_packed_say_so_too(tmp_path):
    path = tmp_path / "pairs.jsonl.gz"
    with gzip.open(path, "wt") as lines:
        lines.write(json.dumps({"prompt": "p", "chosen": "c", "rejected": "r", "client_id": "a"}) + "\n")
    assert client_of(table(path), NATURAL) == "each value of column 'client_id'"


def test_nothing_is_said_of_what_cannot_be_read_nor_of_what_ships(tmp_path):
    assert client_of(table(tmp_path / "no.csv"), NATURAL) is None
    assert client_of(conf_base(Corpus), NATURAL) is None


@pytest.mark.parametrize(("source", "said"), [("banking77", "one question"), ("yelp", "a user")])
def test_a_published_data_set_has_its_own(source, said):
    assert client_of(conf_base(Corpus, source=source, path="mine"), NATURAL) == said


def test_a_simulated_partition_makes_clients_up(tmp_path):
    made_up = conf_base(Partition, method="iid", clients=3)
    assert client_of(table(tmp_path / "no.csv"), made_up) == "made up by partition.method=iid"

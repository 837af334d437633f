"""The machine of the attack: equal tables leave nothing to see, and what is cut short comes to the same."""

from __future__ import annotations

import numpy as np
import pytest

from audits.corpus import private_records, replaced, training_client, without, zeroed
from audits.jobs import OWN, job
from audits.remembered import remembered
from audits.statistics import sight
from audits.worlds import KEY, RECORDS, TwoWorlds, needed
from fedtext.training import federated_training


@pytest.mark.parametrize("name", ["popri", "dp_fedavg"])
def test_equal_tables_leave_nothing_to_see(name: str) -> None:
    records = private_records()
    leaks, _ = TwoWorlds(job(name), (records, records)).run(0, seed=1)
    assert leaks
    assert sight(leaks, 0).distance == 0


def test_a_run_repeats_its_bytes_and_another_key_does_not() -> None:
    records = private_records()
    worlds = TwoWorlds(job("popri"), (records, without(records, training_client(records["client_id"], "first"))))
    (first,), (again,), (other,) = (worlds.run(1, seed)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.released, again.released)
    assert np.abs(first.released - other.released).max() > 0


def test_training_that_is_remembered_is_the_training_that_was_done() -> None:
    records = private_records()
    gone = without(records, training_client(records["client_id"], "middle"))
    worlds = TwoWorlds(job("dp_fedavg"), (records, gone))
    plain = worlds.run(0, seed=3)[0]
    with remembered():
        twice = [worlds.run(0, seed=3)[0] for _ in range(2)]
    for leaks in twice:
        for leak, same in zip(plain, leaks, strict=True):
            np.testing.assert_array_equal(leak.released, same.released)
            np.testing.assert_array_equal(leak.expected[1], same.expected[1])
    assert federated_training.client_updates.__name__ == "client_updates"  # and nothing stays behind


def test_neighbours_differ_in_one_client() -> None:
    records = private_records()
    client = training_client(records["client_id"], "middle")
    for change in (without, zeroed, replaced):
        table = change(records, client)
        others = [one[one["client_id"] != client].reset_index(drop=True) for one in (records, table)]
        assert others[0].equals(others[1])
        assert (
            table[table["client_id"] == client]["text"].tolist()
            != records[records["client_id"] == client]["text"].tolist()
        )


@pytest.mark.parametrize("name", sorted(OWN))
def test_a_job_is_given_all_that_its_graph_reads(name: str) -> None:
    """The attacks themselves are slow: a commit that gives an algorithm one more model would not see them fail."""
    audited = job(name)
    graph = audited.graph()
    nodes = needed(graph, f"{audited.algorithm}_privacy_report")
    read = {name for node in nodes for name in node.inputs} - {name for node in nodes for name in node.outputs}
    assert read - audited.inputs(graph).keys() <= {KEY, *RECORDS}

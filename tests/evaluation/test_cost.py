from __future__ import annotations

import pytest

from fedtext.evaluation.cost import PUBLISHED, cost_rows, with_seconds
from fedtext.federation.communication import Cost


def test_table_puts_this_run_above_the_published_rows():
    ours = Cost(method="ours", down_floats=0, up_floats=1024, exchanges=1, client_seconds=0.01, server_seconds=30.0)
    table = cost_rows([ours])
    assert [row["method"] for row in table] == [ours.method, *(row.method for row in PUBLISHED)]
    assert table[3]["server_seconds"] == 13_547.84
    assert [row["server_seconds"] is None for row in table] == [False, True, False, False]
    assert table[0]["hardware"] != table[3]["hardware"]
    assert table[0]["up_bytes"] == 8192


def test_seconds_are_a_client_s_for_an_exchange_and_the_server_s_for_a_round():
    cost = Cost(method="ours", down_floats=1, up_floats=1, exchanges=2)
    server = {"a.round_01.train": 3.0, "a.round_02.train": 5.0, "a.setup": 2.0}
    clients = {"a.round_01.score": 10.0, "a.round_02.score": 30.0}
    measured = with_seconds(cost, units=100, clients=clients, server=server)
    assert measured.client_seconds == pytest.approx(0.2)
    assert measured.server_seconds == pytest.approx(5.0)
    nothing_sent = cost.model_copy(update={"exchanges": 0})
    assert with_seconds(nothing_sent, units=100, clients=clients, server=server).client_seconds is None
    unknown = with_seconds(cost, units=100, clients={}, server={})
    assert (unknown.client_seconds, unknown.server_seconds) == (None, None)

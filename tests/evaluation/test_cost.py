from __future__ import annotations

from fedtext.evaluation.cost import PUBLISHED, cost_table
from fedtext.federation.communication import Cost


def test_table_puts_this_run_above_the_published_rows():
    ours = Cost(method="ours", down_floats=0, up_floats=1024, exchanges=1, client_seconds=0.01, server_seconds=30.0)
    table = cost_table([ours])
    assert table["method"].tolist() == [ours.method, *(row.method for row in PUBLISHED)]
    assert table.loc[3, "server_seconds"] == 13_547.84
    assert table["server_seconds"].isna().tolist() == [False, True, False, False]
    assert table.loc[0, "hardware"] != table.loc[3, "hardware"]

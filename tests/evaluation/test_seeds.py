from __future__ import annotations

import numpy as np
import pytest

from fedtext.evaluation.intervals import paired_difference
from fedtext.evaluation.seeds import across_seeds, render_markdown
from tests.evaluation.examples import accuracy, card


def test_every_run_counts_and_differences_are_paired():
    cards = [card(accuracy=accuracy(synthetic=level)) for level in (0.12, 0.13, 0.14)]
    rows = {row.quantity: row.interval for row in across_seeds(cards)}
    ours = [c["accuracy"]["conditions"]["synthetic"]["top_1"] for c in cards]
    public = [c["accuracy"]["conditions"]["public_control"]["top_1"] for c in cards]
    assert rows["top-1 accuracy, the private synthetic texts, %"].mean == pytest.approx(np.mean(ours))
    assert rows["the private synthetic texts minus the same number of public texts, points"] == paired_difference(
        ours, public
    )
    assert all(interval.runs == 3 for interval in rows.values())
    assert any(name.startswith("FID, synthetic minus") for name in rows)


def test_one_run_prints_no_interval():
    table = render_markdown(across_seeds([card()]))
    assert "– to –" in table
    assert len(table.splitlines()) == 2 + len(across_seeds([card()]))


def test_accuracies_print_in_percent():
    line = next(line for line in render_markdown(across_seeds([card()])).splitlines() if "ε = 0)" in line)
    assert 5 < float(line.split("|")[2]) < 15


def test_no_runs_are_refused():
    with pytest.raises(ValueError, match="no scorecards"):
        across_seeds([])

from __future__ import annotations

import json

import numpy as np

from fedtext.reporting.figures_partition import partition_figure


def bars(figure, panel: int) -> dict[str, str]:
    trace = figure.data[panel]
    return dict(zip(trace.x, trace.text, strict=True))


def test_sizes_shares_and_skew_of_known_clients():
    # 30 clients of 4 samples of one label, 40 clients of 1 + 1 samples of two labels
    clients = np.concatenate([np.repeat(np.arange(30), 4), np.repeat(np.arange(30, 70), 2)])
    labels = ["tea"] * 120 + ["tea", "rum"] * 40
    figure = partition_figure(clients, labels, described="natural")
    sizes, shares, skew = (bars(figure, panel) for panel in range(3))
    assert (sizes["2"], sizes["3–4"], sizes["1"]) == ("40", "30", "under 20")
    assert shares == {"tea": "80%", "rum": "20%"}
    assert (skew["40–60%"], skew["100%"], skew["80–100%"]) == ("40", "30", "under 20")


def test_rare_labels_and_small_bins_are_not_told_apart():
    clients = np.arange(60)
    labels = ["tea"] * 41 + ["secret label"] * 19
    figure = partition_figure(clients, labels, described="natural")
    assert bars(figure, 1) == {"tea": "68%", "all others": "32%"}
    assert "secret label" not in json.dumps(figure.to_plotly_json(), default=str)
    few = partition_figure(np.array([0, 0, 1]), [None, None, None], described="natural")
    assert set(bars(few, 0).values()) == {"under 20"}
    assert bars(few, 1) == {"all others": "100%"}


def test_a_label_is_text_and_no_markup():
    figure = partition_figure(np.arange(25), ["<b>x</b>"] * 25, described="iid")
    assert list(figure.data[1].x) == ["&lt;b&gt;x&lt;/b&gt;"]

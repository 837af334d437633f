from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plotly.io import templates

from fedtext.evaluation.distribution import Bias
from fedtext.privacy.disclosure_control import round_counts
from fedtext.reporting.figure_style import FONT, TEMPLATE
from fedtext.reporting.figures import (
    accuracy_bars,
    privacy_price,
    round_curves,
    tokens_per_client,
    trade_off_curve,
)
from fedtext.reporting.figures_pca import client_density, pca_panels
from tests.evaluation.examples import CLIENTS, HELD_OUT, PCA, accuracy, cloud, distribution


def test_round_curves_draw_what_was_measured():
    found = distribution()
    figure = round_curves(found.rounds, chosen=1, bias=Bias(0.1, 0.01, 300), held_out_distance=1.2)
    assert len(figure.data) == 4
    assert list(figure.data[0].y) == [row["fid"] for row in found.rounds]
    assert figure.data[0].marker.size[1] > figure.data[0].marker.size[0]
    assert sorted(shape.y0 for shape in figure.layout.shapes) == [0.1, 1.2]
    assert "Dotted: held-out text" in figure.layout.annotations[-1].text
    assert "Dotted" not in round_curves(found.rounds, chosen=1).layout.annotations[-1].text, "noised figures have none"


def test_round_curves_leave_gaps_for_what_is_missing():
    figure = round_curves([{"adapter": 0, "fid": 0.3}, {"adapter": 1, "fid": None, "released_score": 1.0}])
    assert [list(curve.y) for curve in figure.data] == [[0.3, None], [None, 1.0]], "what nobody measured has no panel"


def test_bars_have_one_for_each_condition_and_escape_names():
    found = accuracy()
    found["conditions"]["<b>other"] = dict(found["conditions"]["synthetic"], low=None, high=None)
    figure = accuracy_bars(found)
    assert len(figure.data[0].x) == 7
    bars = {name.split("<br>")[0]: value for name, value in zip(figure.data[0].y, figure.data[0].x, strict=True)}
    assert bars["the synthetic texts"] == pytest.approx(100 * found["conditions"]["synthetic"]["top_1"])
    assert "&lt;b&gt;other" in bars
    assert [name for name in figure.data[0].y if "<br>of what is left: " in name] == [
        name for name in figure.data[0].y if name.startswith("the synthetic texts")
    ]


def test_what_is_left_is_shaded_from_the_best_control_to_private_samples():
    found = accuracy()
    (shade,) = accuracy_bars(found).layout.shapes
    levels = found["conditions"]
    assert (shade.x0, shade.x1) == (100 * levels["matched_control"]["top_1"], 100 * levels["private"]["top_1"])
    assert not accuracy_bars(accuracy(private=0.1)).layout.shapes, "nothing is left"
    without = {**found, "remaining_gap": {}}
    assert sum("<br>gap closed: " in name for name in accuracy_bars(without).data[0].y) == len(found["gap_closed"])


def test_tokens_per_client_hides_rare_sizes():
    tokens = np.concatenate([np.full(47, 60), np.full(103, 200), np.full(3, 9999)])
    figure = tokens_per_client(tokens)
    bars = figure.data[0]
    assert bars.x[0] == "1–64"
    assert bars.y[0] == 50
    assert bars.y[2] == 100
    assert bars.text[-1] == "under 20"
    assert bars.y[-1] == bars.y[1] == 10  # the height of any hidden bin, whatever it holds
    assert bars.text[1] == bars.text[-1]
    assert "Evaluation only" in str(figure.layout.annotations)


def test_edges_belong_to_the_bin_they_are_printed_on():
    assert tokens_per_client(np.full(30, 64)).data[0].y[0] == 30
    assert tokens_per_client(np.full(30, 65)).data[0].y[1] == 30


def test_privacy_price_shows_budget_and_every_release():
    figure = privacy_price({f"scores, round {t}": 0.2 * t for t in range(1, 21)}, budget=4.5)
    assert len(figure.data[0].x) == 20
    assert figure.layout.shapes[0].y0 == 4.5
    assert privacy_price({"mean": 0.999}, budget=1.0).data[0].text == ("1.00",)


def test_the_trade_off_is_drawn_above_blind_guesses():
    drawn = {"false_alarms": [0.0, 0.01, 1.0], "found": [0.0, 0.02, 1.0]}
    bound, chance = trade_off_curve({"curve": drawn}).data
    assert (list(bound.x), list(bound.y)) == (drawn["false_alarms"], drawn["found"])
    assert list(chance.x) == list(chance.y)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 400))
def test_no_cell_of_the_density_holds_fewer_than_20_clients(seed, texts):
    rng = np.random.default_rng(seed)
    points, clients = rng.normal(size=(texts, 2)), rng.integers(0, 120, size=texts)
    density = client_density(points, clients, np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    cells = len(density.x)
    edges = np.concatenate([[-np.inf], np.linspace(-1, 1, cells - 1), [np.inf]])  # the frame reaches as far as any text
    for row in range(cells):
        for column in range(cells):
            inside = (
                (points[:, 0] >= edges[column])
                & (points[:, 0] < edges[column + 1])
                & (points[:, 1] >= edges[row])
                & (points[:, 1] < edges[row + 1])
            )
            distinct = len(set(clients[inside]))
            assert density.clients[row, column] == round_counts(np.array([distinct]))[0]


def test_one_prolific_client_is_one_client():
    points = np.zeros((500, 2))
    density = client_density(points, np.zeros(500, dtype=int), np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    assert density.clients.max() == 0
    assert density.hidden == 1.0


def test_pca_figure_holds_no_private_point():
    """Move every held-out text a little: nothing in the figure may carry its coordinates."""
    sets = {"after 0 rounds": cloud(300, 1), "<i>after 1": cloud(300, 2)}
    figure = pca_panels("PCA", sets, HELD_OUT, CLIENTS, PCA)
    drawn = [trace for trace in figure.data if trace.type == "scatter"]
    assert [len(trace.x) for trace in drawn] == [300, 300, 0]
    private = {f"{value:.9f}" for value in PCA.project(HELD_OUT).ravel()}
    shown = {f"{float(v):.9f}" for trace in figure.data for axis in (trace.x, trace.y) for v in axis}
    assert not private & shown
    shades = [trace for trace in figure.data if trace.type == "heatmap"]
    assert len(shades) == 3
    assert np.nanmin(np.asarray(shades[0].z, dtype=float)) >= 20
    assert "&lt;i&gt;after 1" in json.dumps(figure.to_plotly_json()["layout"], default=str)


@pytest.mark.parametrize(("sets", "columns"), [(1, 2), (2, 3), (3, 2), (5, 3)])
def test_panels_fit_a_narrow_place_and_every_axis_says_how_it_looks(sets: int, columns: int) -> None:
    figure = pca_panels("PCA", {f"round {t}": cloud(30, t) for t in range(sets)}, HELD_OUT, CLIENTS, PCA)
    axes = [figure.layout[name] for name in figure.layout if name.startswith("xaxis")]
    assert len({axis.domain for axis in axes}) == columns
    assert all(axis.showgrid is False and axis.tickvals == () for axis in axes)  # Viz would show labels again


def test_span_of_the_figure_comes_from_released_points():
    outlier = np.concatenate([HELD_OUT, [[40.0] + [0.0] * 11]])
    near = pca_panels("PCA", {"synthetic": cloud(300, 1)}, HELD_OUT, CLIENTS, PCA)
    far = pca_panels("PCA", {"synthetic": cloud(300, 1)}, outlier, np.append(CLIENTS, 501), PCA)
    assert near.layout.xaxis.range == far.layout.xaxis.range


def test_held_out_text_that_has_a_price_is_not_drawn():
    figure = pca_panels("Sets", {"synthetic": cloud(300, 1), "public": cloud(300, 2)}, None, None, PCA)
    assert {trace.type for trace in figure.data} == {"scatter"}
    assert len(figure.data) == 2
    assert "not shown" in figure.layout.annotations[-1].text


def test_texts_beyond_the_released_ones_are_drawn_in_the_frame_and_counted() -> None:
    points = np.concatenate([np.full((60, 2), 0.1), np.full((40, 2), 1e6)])
    density = client_density(points, np.arange(100), np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    assert (density.hidden, density.beyond) == (0.0, 0.4)
    assert density.clients[-1, -1] == 40
    assert density.x[-1] < 2, "how far away they lie is not shown"


def test_a_map_without_most_of_the_held_out_texts_says_so_first() -> None:
    few = np.arange(len(HELD_OUT)) % 5
    (said,) = [a.text for a in pca_panels("t", {"public": cloud(60, 1)}, HELD_OUT, few, PCA).layout.annotations[-1:]]
    assert "Most held-out texts are not drawn" in said


def test_a_crowd_beyond_the_map_does_not_excuse_an_empty_map() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.uniform(-1, 1, size=(400, 2)), np.full((4000, 2), 9.0)])
    density = client_density(points, np.arange(4400), np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    inside = density.clients[1:-1, 1:-1].sum()
    assert inside > 0.7 * 400
    figure = pca_panels("t", {"public": cloud(60, 1)}, HELD_OUT + 50, np.arange(len(HELD_OUT)), PCA)
    assert "in the outer frame" in figure.layout.annotations[-1].text


def test_the_look_is_one_registered_template() -> None:
    one, other = (privacy_price({"after 1": value}, 1.0) for value in (0.3, 0.9))
    assert one.layout.template == other.layout.template == templates[TEMPLATE]
    assert one.layout.template.layout.font.family == FONT

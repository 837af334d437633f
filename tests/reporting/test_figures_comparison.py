from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from fedtext.reporting import figures_comparison as figures
from fedtext.reporting.figures_pca import pca_panels
from tests.evaluation.examples import CLIENTS, HELD_OUT, PCA, cloud


def entry(algorithm: str, level: float, **params: Any) -> dict[str, Any]:
    curves = {name: [[level, level / 2], [level + 0.02, level / 2]] for name in ("fid", "median_distance")}
    interval = {"mean": level, "low": level - 0.01, "high": level + 0.03, "runs": 2}
    return {
        "algorithm": algorithm, "params": params, "made": "synthetic", "epsilon": 1.0, "units": 2400,
        "measures": {"top_1": interval}, "curves": curves,
    }  # fmt: skip


def few(number: int) -> dict[str, Any]:
    return {"privacy": {"sampling": "poisson", "clients_per_round": number}}


def comparison(**entries: dict[str, Any]) -> dict[str, Any]:
    return {
        "measures": ["top_1"],
        "entries": entries,
        "fid_sizes": [256],
        "conditions": {
            name: {"measures": {"top_1": {"mean": level}}} for name, level in (("eps0", 0.09), ("private", 0.2))
        },
    }


def test_accuracies_stand_between_the_public_model_and_the_private_text() -> None:
    figure = figures.accuracy_by_entry(comparison(popri=entry("popri", 0.13), pe=entry("pe", 0.12)))
    (bars,) = figure.data
    assert (list(bars.y), list(bars.x)) == (["pe", "popri"], [12.0, 13.0])
    assert bars.error_x.array == pytest.approx([3.0, 3.0])
    assert bars.error_x.arrayminus == pytest.approx([1.0, 1.0])
    assert {shape.x0 for shape in figure.layout.shapes} == {9.0, 20.0}


@pytest.mark.parametrize("public", [0.08, 0.1])
def test_names_of_levels_that_lie_close_together_stand_apart(public: float) -> None:
    found = comparison(popri=entry("popri", 0.13))
    found["conditions"]["public_control"] = {"measures": {"top_1": {"mean": public, "low": public, "high": public}}}
    names = sorted(figures.accuracy_by_entry(found).layout.annotations, key=lambda name: name.x)
    assert [name.xanchor for name in names] == ["right", "left", "right"]
    assert [name.x for name in names] == pytest.approx(sorted([9.0, 100 * public, 20.0]))


def test_a_sweep_takes_entries_that_differ_in_that_alone_and_the_plain_one() -> None:
    found = comparison(
        popri=entry("popri", 0.13),
        popri_250=entry("popri", 0.11, **few(250)),
        other=entry("popri", 0.5, **few(500), popri={"rounds": 3}),
        pe=entry("pe", 0.12),
    )
    (line,) = figures.participation(found).data
    assert line.name == "popri"
    assert (list(line.x), list(line.y)) == ([250, 2400], [11.0, 13.0])
    assert "no two entries of one algorithm differ in privacy.epsilon" in figures.epsilon_sweep(found).layout.meta


def plms(**sources: str | None) -> dict[str, Any]:
    return {"models": {"plms": sources}}


def test_wasp_s_sweeps_take_entries_that_differ_in_one_thing_alone() -> None:
    found = comparison(
        wasp=entry("wasp", 0.3),
        one=entry("wasp", 0.2, **plms(a="x", b=None)),
        two=entry("wasp", 0.25, **plms(a="x", b="y")),
        other=entry("wasp", 0.9, **plms(a="x", b="y", c="z"), wasp={"contrast": False}),
        q1=entry("wasp", 0.21, wasp={"votes_per_record": 1}),
        q4=entry("wasp", 0.22, wasp={"votes_per_record": 4}),
        few={**entry("wasp", 0.1, partition={"test_share": 0.9}), "units": 240},
    )
    lines = [draw(found).data[0] for draw in (figures.models_sweep, figures.votes_sweep, figures.records_sweep)]
    assert [(list(line.x), list(line.y)) for line in lines] == [
        ([1, 2], [20.0, 25.0]),
        ([1, 4], [21.0, 22.0]),
        ([240, 2400], [10.0, 30.0]),
    ]
    alone = comparison(wasp=entry("wasp", 0.3))
    assert "differ in models.plms alone" in figures.models_sweep(alone).layout.meta
    assert "differ in the partition alone" in figures.records_sweep(alone).layout.meta


def test_entries_of_one_model_have_lines_of_their_own() -> None:
    def of_pe(level: float, source: str, **more: Any) -> dict[str, Any]:
        return entry("pe", level, pe={"form": "aug_pe"}, models={"generator": source}, **more)

    few_records = {"partition": {"test_share": 0.9}}
    found = comparison(
        aug_pe_a=of_pe(0.3, "A"),
        aug_pe_a_m10={**of_pe(0.1, "A", **few_records), "units": 240},
        aug_pe_b=of_pe(0.2, "B"),
        aug_pe_b_m10={**of_pe(0.15, "B", **few_records), "units": 240},
        free=of_pe(0.4, "A", privacy={"epsilon": 1e15, "noise_multiplier": 1e-6}),
    )
    lines = figures.records_sweep(found).data
    assert [(line.name, list(line.x)) for line in lines] == [("aug_pe_a", [240, 2400]), ("aug_pe_b", [240, 2400])]
    assert "differ in privacy.epsilon" in figures.epsilon_sweep(found).layout.meta


def test_levels_of_cdpo_have_a_line_a_rejected_rank() -> None:
    def cdpo(level: float, smoothing: float, **popri: Any) -> dict[str, Any]:
        return entry("popri", level, popri={**popri, "preference": {"loss": "cdpo", "label_smoothing": smoothing}})

    found = comparison(
        popri=entry("popri", 0.1),
        cdpo=cdpo(0.2, 0.1),
        ipo=entry("popri", 0.9, popri={"preference": {"loss": "ipo"}}),
        rank_3=entry("popri", 0.3, popri={"rejected_rank": 3}),
        rank_3_cdpo_01=cdpo(0.4, 0.1, rejected_rank=3),
        rank_3_cdpo_02=cdpo(0.5, 0.2, rejected_rank=3),
    )
    lines = figures.smoothing_sweep(found).data
    assert [(line.name, list(line.x)) for line in lines] == [("popri", [0.0, 0.1]), ("rank_3", [0.0, 0.1, 0.2])]


def test_clients_asked_and_clients_in_all_are_placed_with_what_follows_from_them_left_out() -> None:
    def of(algorithm: str, level: float, most: int, asked: int | None, noise: float, **more: Any) -> dict[str, Any]:
        drawn = {} if asked is None else {"sampling": "poisson", "clients_per_round": asked}
        own = entry(
            algorithm, level, corpus={"max_clients": most}, privacy={**drawn, "noise_multiplier": noise}, **more
        )
        return {**own, "units": most}

    found = comparison(
        popri_all=of("popri", 0.1, 1000, None, 3.0),
        popri_some=of("popri", 0.2, 1000, 100, 0.8),
        popri_of_9000=of("popri", 0.3, 9000, 1000, 0.7),
        dp_ftrl_all=of("dp_ftrl", 0.1, 1000, None, 3.0, dp_ftrl={"separation": 1, "restart": 1}),
        dp_ftrl_some=of("dp_ftrl", 0.2, 1000, None, 6.7, dp_ftrl={"separation": 10, "restart": 10}),
        dp_ftrl_of_9000=of("dp_ftrl", 0.2, 9000, None, 9.0, dp_ftrl={"separation": 9, "restart": 9}),
    )
    asked = {line.name: list(line.x) for line in figures.participation(found).data}
    assert sorted(asked.values()) == [[100, 1000], [100, 1000]]
    in_all = {line.name: list(line.x) for line in figures.total_clients(found).data}
    assert sorted(in_all.values()) == [[1000, 9000], [1000, 9000]]


def test_shares_of_strong_silos_have_a_panel_for_each_measure() -> None:
    def strong(share: float, level: float, **flexible: Any) -> dict[str, Any]:
        own = entry("flexible", level, silos={"groups": None, "strong": share}, partition={"method": "iid"}, **flexible)
        own["measures"]["mauve"] = {"mean": level / 2, "low": level / 2, "high": level / 2, "runs": 2}
        return own

    found = comparison(
        flexible_strong_1=strong(0.01, 0.1),
        flexible_strong_10=strong(0.1, 0.2),
        flexible_strong_1_no_dp=strong(0.01, 0.3, flexible={"noise": False}),
        flexible_strong_10_no_dp=strong(0.1, 0.4, flexible={"noise": False}),
    )
    found["measures"].append("mauve")
    found["entries"]["flexible_strong_10_no_dp"]["measures"]["mauve"] = None  # too few texts
    lines = figures.strong_sweep(found).data
    assert [line.name for line in lines] == ["flexible_strong_1", "flexible_strong_1_no_dp"] * 2
    assert [list(line.y) for line in lines] == [[10.0, 20.0], [30.0, 40.0], [0.05, 0.1], [0.15]]
    assert "differ in silos.strong" in figures.strong_sweep(comparison(popri=entry("popri", 0.1))).layout.meta


def test_pairs_of_models_stand_in_a_square_with_single_ones_on_its_diagonal() -> None:
    found = comparison(
        wasp=entry("wasp", 0.3),
        one=entry("wasp", 0.2, **plms(a="x", b=None)),
        two=entry("wasp", 0.25, **plms(a="x", b="y")),
        other=entry("wasp", 0.9, **plms(a="x", b="y"), wasp={"contrast": False}),
    )
    (square,) = figures.pairs_of_models(found).data
    assert [list(row) for row in square.z] == [[20.0, 25.0], [25.0, None]]
    assert "two models alone" in figures.pairs_of_models(comparison(wasp=entry("wasp", 0.3))).layout.meta


def test_curves_of_single_models_are_named_with_what_they_end_at() -> None:
    found = comparison(
        wasp=entry("wasp", 0.3),
        wasp_a=entry("wasp", 0.2, **plms(a="x", b=None)),
        wasp_a_b=entry("wasp", 0.25, **plms(a="x", b="y")),
        aug_pe_a=entry("pe", 0.1, pe={"form": "aug_pe"}, models={"generator": "x"}),
    )
    names = [line.name for line in figures.models_by_round(found).data]
    assert [name.split(" (")[0] for name in names] == ["wasp", "wasp_a", "aug_pe_a"]
    assert "30.0" in names[0]


def test_curves_are_means_over_seeds_by_round() -> None:
    found = comparison(popri=entry("popri", 0.4), rank_7=entry("popri", 0.3, popri={"rejected_rank": 7}))
    fid, distance = figures.rounds(found).data
    assert list(fid.y) == pytest.approx([0.41, 0.2])
    assert (fid.name, distance.showlegend) == ("popri", False)
    found["entries"]["rank_7"]["curves"] |= {"fid_chosen": [[0.2, None]], "fid_rejected": [[0.5, None]]}
    chosen, rejected, rank = figures.rejected_rank(found).data
    assert [list(chosen.y), list(rejected.y), rank.name] == [[0.2], [0.5], "rank_7"]
    assert not figures.scoring(found).data
    assert "different sizes" in figures.rounds({**found, "fid_sizes": [80, 256]}).layout.meta


def test_rounds_are_whole_numbers_on_every_axis() -> None:
    figure = figures.rounds(comparison(popri=entry("popri", 0.4)))
    assert {axis.dtick for axis in figure.select_xaxes()} == {1}


def test_an_infinite_epsilon_has_no_place_on_the_axis() -> None:
    found = comparison(
        popri={**entry("popri", 0.13), "epsilon": None},
        seven=entry("popri", 0.14, privacy={"epsilon": 7.0}),
        two=entry("popri", 0.12, privacy={"epsilon": 2.0}),
    )
    (line,) = figures.epsilon_sweep(found).data
    assert list(line.x) == [2.0, 7.0]


def decoded(values: Any) -> np.ndarray:
    """Plotly writes arrays as base64 into JSON, an empty one as a list."""
    if not isinstance(values, dict):
        return np.asarray(values)
    return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])


def test_figure_2_takes_each_run_s_own_panel_and_the_held_out_text_last() -> None:
    def drawn(seed: int) -> dict[str, Any]:
        sets = {"synthetic": cloud(50, seed), "public": cloud(60, seed + 1)}
        return json.loads(pca_panels("title", sets, HELD_OUT, CLIENTS, PCA).to_json())

    figure = figures.sets_panels({"popri": drawn(3), "pe_<7>": drawn(5)})
    names = [a.text for a in figure.layout.annotations]
    assert names == ["popri", "pe &lt;7&gt;", "held-out text"]
    points = [trace for trace in figure.data if trace.type == "scatter"]
    assert [len(decoded(trace.x)) for trace in points] == [50, 50, 0]
    assert len({trace.xaxis for trace in figure.data}) == 3
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range == figure.layout.xaxis3.range
    reach = [x for trace in points[:2] for x in decoded(trace.x)]
    low, high = figure.layout.xaxis.range
    assert low <= min(reach) < max(reach) <= high
    assert np.allclose(decoded(points[0].x), PCA.project(cloud(50, 3))[:, 0])
    assert "no entry made synthetic text" in figures.sets_panels({}).layout.meta


def test_figure_2_has_ticks_and_one_column_of_them_upright() -> None:
    drawn = json.loads(pca_panels("t", {"synthetic": cloud(200, 1)}, HELD_OUT, CLIENTS, PCA).to_json())
    figure = figures.sets_panels({"popri": drawn, "pe": drawn})
    assert all(axis.showticklabels and axis.tickvals is None for axis in figure.select_xaxes())
    assert [axis.showticklabels for axis in figure.select_yaxes()] == [True, False, False]


def test_figure_2_has_a_panel_for_each_of_many_entries() -> None:
    drawn = json.loads(pca_panels("t", {"synthetic": cloud(50, 1)}, HELD_OUT, CLIENTS, PCA).to_json())
    figure = figures.sets_panels({f"entry {number}": drawn for number in range(40)})
    assert len(list(figure.select_xaxes())) == 41


@pytest.mark.parametrize(("drawn", "last"), [(True, "held-out text"), (False, "public text")])
def test_the_last_panel_of_the_sets_is_called_what_it_shows(drawn: bool, last: str) -> None:
    held_out = (HELD_OUT, CLIENTS) if drawn else (None, None)
    sets = {"synthetic": cloud(300, 1), "public": cloud(300, 2)}
    one = json.loads(pca_panels("Sets", sets, *held_out, PCA).to_json())
    titles = [note.text for note in figures.sets_panels({"popri": one}).layout.annotations]
    assert last in titles

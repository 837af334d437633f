"""Figures 1 to 4 and 6 to 8 of POPri, and 1 and 3 to 8 of WASP: means over seeds, with 95% t intervals.

A figure shows the entries that vary its parameter; without such entries it is empty and gives the reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from fedtext.evaluation.intervals import mean_interval
from fedtext.evaluation.measures.distances import FID, FID_CHOSEN, FID_REJECTED, MEDIAN_DISTANCE
from fedtext.evaluation.measures.known import measure
from fedtext.evaluation.measures.measure import Distance, Measure
from fedtext.params import conditions as known
from fedtext.reporting.comparison import main_measure
from fedtext.reporting.figure_style import (
    CONTROL,
    MUTED,
    PRIVATE,
    SYNTHETIC,
    WARNING,
    empty_figure,
    note,
    plain_text,
    styled,
)
from fedtext.reporting.figures import whole_step
from fedtext.reporting.figures_pca import HELD_OUT

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

COLOURS = (SYNTHETIC, WARNING, "#2e8b57", "#7b3fa0", CONTROL, PRIVATE, "#b8860b", "#008b8b")
LEVELS = (known.EPS0, known.PUBLIC_CONTROL, known.PRIVATE)
SCORING, RANK = ("popri", "scoring"), ("popri", "rejected_rank")
CLIENTS, EPSILON = ("privacy", "clients_per_round"), ("privacy", "epsilon")
LARGEST_EPSILON = 1e3  # what is above it stands for no noise, and has no place on an axis


class Point(NamedTuple):
    """Where an entry stands in a sweep: its value on the x axis, and all other parameters of its own."""

    x: float
    others: Mapping[str, Any]


Place = Callable[[Mapping[str, Any]], Point | None]  # None: the entry is not shown


def accuracy_by_entry(comparison: Mapping[str, Any]) -> Figure:
    """Draw Figure 1, right: the main measure of every entry between the public model and the private text."""
    from plotly.graph_objects import Bar, Figure

    entries = dict(reversed(comparison["entries"].items()))
    lead = main_measure(comparison)
    scale, found = lead.unit.scale, [entry["measures"][lead.name] for entry in entries.values()]
    figure = Figure(
        Bar(
            x=[scale * each["mean"] for each in found],
            y=[plain_text(name) for name in entries],
            orientation="h",
            marker={"color": [SYNTHETIC if e["made"] == known.SYNTHETIC.name else CONTROL for e in entries.values()]},
            error_x=_whiskers(found, scale),
        )
    )
    conditions = comparison["conditions"]
    levels = sorted(
        (scale * conditions[one.name]["measures"][lead.name]["mean"], one.label)
        for one in LEVELS
        if one.name in conditions
    )
    for place, (level, text) in enumerate(levels):
        # the lower two lie close together: their names stand on either side of their lines
        named = {"text": text, "xanchor": "left" if place == 1 else "right", "yanchor": "bottom"}
        figure.add_vline(x=level, line={"color": MUTED, "dash": "dot"}, annotation=named)
    figure.update_xaxes(title_text=f"{lead.title} on held-out text{lead.axis}")
    return styled(figure, f"Figure 1: {lead.noun} of every run", height=160 + 34 * len(entries))


def participation(comparison: Mapping[str, Any]) -> Figure:
    """Draw Figure 3: accuracy by the number of clients sampled a round, a line an algorithm."""
    title, reason = "Figure 3: accuracy by clients asked a round", "differ in privacy.clients_per_round alone."
    return _sweep(comparison, title, "clients asked a round", _clients_asked, reason)


def total_clients(comparison: Mapping[str, Any]) -> Figure:
    """Draw v1's Figure 7, right: accuracy by the number of clients in all, where as many are asked a round."""
    title, reason = "v1, Figure 7: accuracy by clients in all", "differ in corpus.max_clients alone."
    figure = _sweep(comparison, title, "clients in all", _clients_in_all, reason)
    return figure.update_xaxes(type="log") if figure.data else figure


def epsilon_sweep(comparison: Mapping[str, Any]) -> Figure:
    """Draw Table 1 as curves: accuracy by epsilon, a line an algorithm."""
    place = _setting(EPSILON, "epsilon", most=LARGEST_EPSILON)
    return _sweep(comparison, "Accuracy by ε", "ε", place, "differ in privacy.epsilon alone.")


def models_sweep(comparison: Mapping[str, Any]) -> Figure:
    """Draw WASP's Figures 3 and 4: accuracy by the number of generators, of entries that differ in these alone."""
    title = "WASP, Figures 3 and 4: accuracy by number of models"
    return _sweep(comparison, title, "models", _number_of_models, "differ in models.plms alone.")


def votes_sweep(comparison: Mapping[str, Any]) -> Figure:
    """Draw WASP's Table 5 as a curve: accuracy by the number of votes of a record."""
    title, reason = "WASP, Table 5: accuracy by votes of a record", "differ in wasp.votes_per_record alone."
    return _sweep(comparison, title, "votes of a record (Q)", _setting(("wasp", "votes_per_record")), reason)


def records_sweep(comparison: Mapping[str, Any]) -> Figure:
    """Draw WASP's Figure 5: accuracy by the number of training units, of entries that differ in the partition alone."""
    title, reason = "WASP, Figure 5: accuracy by private records", "differ in the partition alone."
    figure = _sweep(comparison, title, "units that are trained on", _number_of_units, reason)
    return figure.update_xaxes(type="log") if figure.data else figure


def strong_sweep(comparison: Mapping[str, Any]) -> Figure:
    """Draw flexible participation's Figure 2: each compared measure by the share of silos that train.

    The paper's measures are MAUVE (Yelp) and F1 of entities (PubMed): `claims.measures=mauve entity_f1`.
    """
    title, reason = "Flexible participation, Figure 2: by share of strong silos", "differ in silos.strong alone."
    asked = [measure(name) for name in comparison["measures"]]
    return _sweep(comparison, title, "share of strong silos", _setting(("silos", "strong")), reason, asked)


def pairs_of_models(comparison: Mapping[str, Any]) -> Figure:
    """Draw WASP's Figures 3b and 4b: the main measure of WASP with each two models, and on the diagonal with one."""
    from plotly.graph_objects import Figure, Heatmap

    title, lead = "WASP, Figures 3b and 4b: pairs of models", main_measure(comparison)
    entries = [
        e for e in comparison["entries"].values() if e["algorithm"] == "wasp" and list(e["params"]) == ["models"]
    ]
    found = {tuple(own): e["measures"][lead.name] for e in entries if 1 <= len(own := _models(e)) <= 2}
    if not any(len(own) == 2 for own in found):
        return empty_figure(title, "no entry of WASP has two models alone.")
    names = sorted({name for own in found for name in own})
    means = {own: lead.unit.scale * each["mean"] for own, each in found.items()}
    cells = [[means.get(tuple(sorted({a, b}))) for b in names] for a in names]
    shown = [plain_text(name) for name in names]
    figure = Figure(Heatmap(x=shown, y=shown, z=cells, texttemplate="%{z:.1f}", colorscale="Blues", showscale=False))
    figure.update_yaxes(autorange="reversed")
    return note(styled(figure, title, height=200 + 60 * len(names)), f"{lead.title}{lead.axis}; the diagonal: alone.")


def models_by_round(comparison: Mapping[str, Any]) -> Figure:
    """Draw WASP's Figures 1a, 6, 7 and 8: FID by round of WASP and of every entry that writes with one model."""
    shown = [name for name, entry in comparison["entries"].items() if _writes_alone(entry)]
    figure = _curves(comparison, shown, (FID,), "WASP, Figures 1, 6, 7 and 8: FID by round", with_measure=True)
    return note(figure, f"In brackets: {main_measure(comparison).noun} at the end.") if figure.data else figure


def _writes_alone(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry is WASP as it is, or names one model that writes."""
    if entry["algorithm"] == "wasp" and not entry["params"]:
        return True
    return len(_models(entry)) == 1 or "generator" in entry["params"].get("models", {})


def rounds(comparison: Mapping[str, Any]) -> Figure:
    """Draw Figure 4, left: FID and median distance to the medoid by round, of entries without own parameters."""
    plain = [name for name, entry in comparison["entries"].items() if not entry["params"]]
    return _curves(comparison, plain, (FID, MEDIAN_DISTANCE), "Figure 4: the candidates over the rounds")


def scoring(comparison: Mapping[str, Any]) -> Figure:
    """Draw Figure 6, left: FID by round under each scoring."""
    title = "Figure 6: FID by round under each scoring"
    varied = _varying(comparison, SCORING)
    figure = _curves(comparison, varied, (FID,), title)
    return note(figure, "The recovery rate (right panel) is measured on public text only: benchmarks/recovery.py.")


def rejected_rank(comparison: Mapping[str, Any]) -> Figure:
    """Draw Figure 8: FID by round of chosen and of rejected texts, for each rejected rank, and of all candidates."""
    title, shown = "Figure 8: FID by round for each rejected rank", (FID_CHOSEN, FID_REJECTED, FID)
    figure = _curves(comparison, _varying(comparison, RANK), shown, title)
    return note(figure, "Chosen and rejected texts are compared at a size of their own: not with all candidates.")


def smoothing_sweep(comparison: Mapping[str, Any]) -> Figure:
    """Draw Figure 7: accuracy by cDPO's level of conservativeness, a line a rejected rank; DPO is at 0."""
    title, reason = "Figure 7: accuracy by label smoothing", "differ in label smoothing alone."
    return _sweep(comparison, title, "label smoothing of cDPO", _smoothing, reason)


def sets_panels(maps: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Draw Figure 2: every entry's synthetic texts on the plane of the held-out text, which comes last.

    Args:
        maps: Each entry's own map of its sets (`figures_pca.pca_panels`, as JSON), drawn by its run from the same
            held-out text. Its first panel is the synthetic set. Its last is the held-out text, shown as areas only, or
            in a DP evaluation the public text, on whose plane the map then is.
    """
    from plotly.subplots import make_subplots

    title = "Figure 2: synthetic and held-out text"
    if not maps:
        return empty_figure(title, "no entry made synthetic text.")
    names = [_wrapped(name.replace("_", " ")) for name in maps]
    compared = HELD_OUT if all(HELD_OUT in _titles(one) for one in maps.values()) else "public text"
    gaps = {"horizontal_spacing": min(0.03, 0.5 / len(maps))}  # half the width at most, however many panels there are
    figure = make_subplots(rows=1, cols=len(maps) + 1, subplot_titles=[*names, compared], **gaps)
    for column, one in enumerate(maps.values(), start=1):
        _copy_panel(figure, one, _axes(one)[0], column)
    last = next(iter(maps.values()))
    _copy_panel(figure, last, _axes(last)[-1], len(maps) + 1)
    ticks = {"showticklabels": True, "nticks": 5, "ticks": "outside", "tickcolor": MUTED}
    figure.update_xaxes(range=_common_range(maps.values(), "xaxis"), **ticks)
    figure.update_yaxes(range=_common_range(maps.values(), "yaxis"), **{**ticks, "showticklabels": False})
    figure.update_yaxes(showticklabels=True, col=1)
    return styled(figure, title, height=400)


def _wrapped(words: str) -> str:
    """Break a title into short lines, so that titles of adjacent panels do not touch."""
    return "<br>".join(plain_text(line) for line in wrap(words, width=16, break_long_words=False))


def _sweep(
    comparison: Mapping[str, Any],
    title: str,
    axis: str,
    place: Place,
    reason: str,
    measures: Sequence[Measure] | None = None,
) -> Figure:
    """Draw measures of the entries with a value on the axis, a line for those that differ in nothing else.

    Each measure has a panel; by default the main one alone.
    """
    from plotly.subplots import make_subplots

    shown = [main_measure(comparison)] if measures is None else measures
    lines: dict[str, dict[str, Point]] = {}
    for name, entry in comparison["entries"].items():
        if (point := place(entry)) is not None:
            lines.setdefault(json.dumps([entry["algorithm"], point.others], sort_keys=True), {})[name] = point
    drawn = [line for line in lines.values() if len({point.x for point in line.values()}) > 1]
    if not drawn:
        return empty_figure(title, f"no two entries of one algorithm {reason}")
    figure = make_subplots(rows=1, cols=len(shown))
    for column, each in enumerate(shown, start=1):
        for colour, line in zip(COLOURS * 9, drawn, strict=False):
            taken = {name: own for name in line if (own := comparison["entries"][name]["measures"][each.name])}
            names = sorted(taken, key=lambda name: line[name].x)
            figure.add_scatter(
                x=[line[name].x for name in names], y=[each.unit.scale * taken[name]["mean"] for name in names],
                name=plain_text(_line_name(line, comparison)), mode="lines+markers", line={"color": colour},
                error_y=_whiskers([taken[name] for name in names], each.unit.scale),
                legendgroup=min(line), showlegend=column == 1, row=1, col=column,
            )  # fmt: skip
        figure.update_yaxes(title_text=f"{each.title}{each.axis}", col=column)
    figure.update_xaxes(title_text=axis)
    return styled(figure, title, legend=True)


def _line_name(line: Mapping[str, Point], comparison: Mapping[str, Any]) -> str:
    """Return the algorithm of a line without further parameters, else the shortest name of its entries."""
    if any(point.others for point in line.values()):
        return min(line, key=len)
    return str(comparison["entries"][next(iter(line))]["algorithm"])


def _setting(path: tuple[str, str], plain: str = "", *companions: str, most: float = math.inf) -> Place:
    """Return the placing of entries by one parameter; one that does not set it stands at its fact `plain`, if any.

    `companions` are parameters of the same group that follow from it. An entry beyond `most` is not shown.
    """
    group, key = path

    def place(entry: Mapping[str, Any]) -> Point | None:
        own = entry["params"].get(group, {})
        x = own.get(key, entry[plain] if plain else None)
        rest = {name: value for name, value in own.items() if name not in (key, *companions, "noise_multiplier")}
        others = {**entry["params"], group: rest}
        shown = x is not None and x <= most
        return Point(x, {name: value for name, value in others.items() if value}) if shown else None

    return place


def _smoothing(entry: Mapping[str, Any]) -> Point | None:
    """Place an entry of POPri by its preference loss; DPO assumes that no pair is mislabelled."""
    own: Mapping[str, Any] = entry["params"].get("popri", {})
    preference = own.get("preference", {})
    if entry["algorithm"] != "popri" or preference.get("loss", "dpo") not in ("dpo", "cdpo"):
        return None
    rest = {name: value for name, value in preference.items() if name not in ("loss", "label_smoothing")}
    others = {**entry["params"], "popri": {**own, "preference": rest} if rest else _without(own, "preference")}
    return Point(preference.get("label_smoothing", 0.0), {name: value for name, value in others.items() if value})


def _without(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}


def _clients_asked(entry: Mapping[str, Any]) -> Point | None:
    """Place an entry by the clients that it asks a round; DP-FTRL's turns ask all divided by their number."""
    placed = _setting(CLIENTS, "units", "sampling")(entry)
    turns = entry["params"].get("dp_ftrl", {}).get("separation")
    if placed is None or turns is None:
        return placed
    own = {name: value for name, value in placed.others["dp_ftrl"].items() if name not in ("separation", "restart")}
    rest = {**placed.others, "dp_ftrl": own}
    return Point(round(placed.x / turns), {name: value for name, value in rest.items() if value})


def _clients_in_all(entry: Mapping[str, Any]) -> Point | None:
    """Place an entry by the clients that it is limited to; it is compared at as many asked a round."""
    most = entry["params"].get("corpus", {}).get("max_clients")
    if most is None:
        return None
    privacy, turns = entry["params"].get("privacy", {}), entry["params"].get("dp_ftrl", {}).get("separation", 1)
    told = {name: value for name, value in privacy.items() if name not in (CLIENTS[1], "sampling", "noise_multiplier")}
    rest = {name: value for name, value in entry["params"].items() if name not in ("corpus", "dp_ftrl", "privacy")}
    return Point(most, {**rest, **told, "asked": round((privacy.get(CLIENTS[1]) or most) / turns)})


def _models(entry: Mapping[str, Any]) -> list[str]:
    """Return the names of the models that an entry itself names."""
    return sorted(n for n, source in entry["params"].get("models", {}).get("plms", {}).items() if source is not None)


def _number_of_models(entry: Mapping[str, Any]) -> Point | None:
    """Place an entry of the first so many of the named models."""
    own, all_named = _models(entry), sorted(entry["params"].get("models", {}).get("plms", {}))
    others = {name: value for name, value in entry["params"].items() if name != "models"}
    return Point(len(own), others) if own and own == all_named[: len(own)] else None


def _number_of_units(entry: Mapping[str, Any]) -> Point:
    return Point(entry["units"], {name: value for name, value in entry["params"].items() if name != "partition"})


def _curves(
    comparison: Mapping[str, Any],
    names: Sequence[str],
    distances: Sequence[Distance],
    title: str,
    *,
    with_measure: bool = False,
) -> Figure:
    """Draw distances of the entries' candidates by round, a panel a distance; named with the main measure if asked."""
    from plotly.subplots import make_subplots

    entries = comparison["entries"]
    drawn = [name for name in names if any(len(own) > 1 for own in entries[name]["curves"][FID.name])]
    if len(comparison["fid_sizes"]) > 1:
        return empty_figure(title, "the runs' FIDs are of different sizes and do not compare.")
    if not drawn:
        return empty_figure(title, "no entry that varies this has more than one round of candidates.")

    def said(name: str) -> str:
        lead = main_measure(comparison)
        return f" ({lead.shown(entries[name]['measures'][lead.name]['mean'])})" if with_measure else ""

    figure = make_subplots(rows=1, cols=len(distances), subplot_titles=[each.title for each in distances])
    for column, distance in enumerate(distances, start=1):
        for colour, name in zip(COLOURS * 9, drawn, strict=False):
            by_round = [
                [v for v in row if v is not None]
                for row in zip(*entries[name]["curves"].get(distance.name, ()), strict=False)
            ]
            found = [mean_interval(values)._asdict() for values in by_round if values]
            figure.add_scatter(
                x=list(range(len(found))), y=[each["mean"] for each in found], name=f"{plain_text(name)}{said(name)}",
                mode="lines+markers", error_y=_whiskers(found, 1), line={"color": colour}, legendgroup=plain_text(name),
                showlegend=column == 1, row=1, col=column,
            )  # fmt: skip
    longest = max(len(own) for name in drawn for own in entries[name]["curves"][FID.name])
    figure.update_xaxes(title_text="round", tick0=0, dtick=whole_step(longest))
    return styled(figure, title, legend=True).update_layout(legend={"y": -0.25, "yanchor": "top"})  # titles are above


def _varying(comparison: Mapping[str, Any], path: tuple[str, str]) -> list[str]:
    return [name for name, entry in comparison["entries"].items() if path[1] in entry["params"].get(path[0], {})]


def _whiskers(found: Sequence[Mapping[str, Any]], scale: float) -> dict[str, Any]:
    def ends(sign: int, key: str) -> list[float]:
        return [0.0 if each[key] is None else scale * sign * (each[key] - each["mean"]) for each in found]

    return {
        "type": "data", "symmetric": False, "array": ends(1, "high"), "arrayminus": ends(-1, "low"),
        "color": MUTED, "thickness": 1, "width": 4,
    }  # fmt: skip


def _titles(one: Mapping[str, Any]) -> list[str]:
    return [note.get("text", "") for note in one["layout"].get("annotations", ())]


def _axes(one: Mapping[str, Any]) -> list[str]:
    """Return the names of a figure's x axes, one a panel, in order."""
    return list(dict.fromkeys(trace.get("xaxis", "x") for trace in one["data"]))


def _copy_panel(figure: Figure, one: Mapping[str, Any], axis: str, column: int) -> None:
    from plotly.io import from_json

    for trace in from_json(json.dumps(one), skip_invalid=True).data:
        if (trace.xaxis or "x") == axis:
            trace.update(xaxis=None, yaxis=None)
            figure.add_trace(trace, row=1, col=column)


def _common_range(maps: Iterable[Mapping[str, Any]], axis: str) -> list[float] | None:
    """Return a range that contains every map's, since panels on the same plane are compared."""
    layouts = [layout for one in maps for name, layout in one["layout"].items() if name.startswith(axis)]
    ends = [end for layout in layouts for end in layout.get("range", ())]
    return [min(ends), max(ends)] if ends else None

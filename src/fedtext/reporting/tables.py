"""The report's tables, as HTML with captions and row headers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from markupsafe import Markup

from fedtext.evaluation.measures.distances import FID, FRECHET_MAIN_AXES, MEDIAN_DISTANCE, stddev_of
from fedtext.evaluation.measures.known import MEASURES, measures_in_document, measures_of_kind
from fedtext.evaluation.measures.mauve import MAUVE
from fedtext.evaluation.measures.measure import ABSENT, Direction, Distance, TextProperty, fixed
from fedtext.evaluation.measures.next_token_accuracy import CROSS_ENTROPY
from fedtext.evaluation.scoring import PREFIX
from fedtext.evaluation.tasks.known import measured_tasks
from fedtext.evaluation.wording import change, compact, count, rounded, scientific, seconds, share, size, spent
from fedtext.params.conditions import CONDITIONS, EPS0, SYNTHETIC
from fedtext.reporting.templates import render


def table(
    caption: str,
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    strong: Sequence[int] = (),
    kind: Literal["numbers", "words"] = "numbers",
) -> Markup:
    """Return an HTML table that scrolls by itself on a narrow screen; `strong` are the row numbers to stress."""
    return render("table", caption=caption, headers=headers, rows=rows, strong=strong, kind=kind)


def accuracy_table(accuracy: Mapping[str, Any]) -> Markup:
    """Return the table of each condition's accuracy, change against the public model, and share of the gap closed."""
    conditions = accuracy["conditions"]
    lead, *others = measures_in_document(accuracy)
    others += [CROSS_ENTROPY] if all(CROSS_ENTROPY.name in own for own in conditions.values()) else []
    names = [*[n for n in CONDITIONS if n in conditions], *[n for n in conditions if n not in CONDITIONS]]
    rows = []
    for name in names:
        found = conditions[name]
        gain = accuracy["gains"].get(name, {}).get(EPS0.name)
        rows.append(
            [
                CONDITIONS[name].title if name in CONDITIONS else name,
                ABSENT if found["texts"] is None else count(found["texts"]),
                *[each.shown(found[each.name]) for each in (lead, *others)],
                change(lead, gain) if gain else ABSENT,
                share(accuracy["gap_closed"].get(name)),
            ]
        )
    gained = f"{lead.unit.step or 'change'} against {EPS0.label}".replace(" = ", "\u00a0=\u00a0")
    return table(
        f"The on-device model after each kind of training text: {lead.title} on held-out text (95% intervals)",
        ["trained on", "texts", *[each.column for each in (lead, *others)], gained, "whole gap closed"],
        rows,
        strong=[i for i, name in enumerate(names) if name == accuracy["judged"]],
    )


def task_tables(card: Mapping[str, Any]) -> Markup:
    """Return the tables of the downstream tasks that were measured; empty where none was."""
    found = [each for task, document in measured_tasks(card) for each in task.tables(document)]
    return Markup().join(table(*each) for each in found)


def published_table(accuracy: Mapping[str, Any]) -> Markup:
    """Return the table of the released code's metric, apart from the correct one; empty where it was not computed."""
    shown = measures_in_document(accuracy)
    scored = {
        one.title: found
        for name, one in CONDITIONS.items()
        if f"{PREFIX}{shown[0].name}" in (found := accuracy["conditions"].get(name, {}))
    }
    if not scored:
        return Markup()
    rows = [[title, *[each.shown(found[f"{PREFIX}{each.name}"]) for each in shown]] for title, found in scored.items()]
    headers = ["trained on", *[each.column for each in shown]]
    return table(
        "The released code's metric, filler included: never to be compared with the table above", headers, rows
    )


def distance_table(distribution: Mapping[str, Any]) -> Markup:
    """Return the table of each data set's distances to held-out text, with the distance of a perfect data set below.

    That distance comes from finite size, or from noise in a DP evaluation. Every distance that was computed has a
    column.
    """
    sets, bias = distribution["sets"], distribution["bias"]
    taken = [
        each
        for each in MEASURES
        if isinstance(each, Distance) and any(row.get(each.name) is not None for row in sets.values())
    ]
    error = bias["stddev"] if bias else None
    rows = [
        [CONDITIONS[name].label, count(found["texts"]), *[_distance(each, found, error) for each in taken]]
        for name, found in sets.items()
    ]
    what, texts, floors = _floor(distribution, taken)
    rows.append([what, texts, *[floors.get(each.name, ABSENT) for each in taken]])
    means = "by sentence embeddings" if bias else "from noised mean features"
    means += f"; {MAUVE.title} by features of {distribution['features']}" if distribution.get("features") else ""
    return table(
        f"Distance to held-out private text, {means} ({_nearer(taken)})",
        ["set", "texts", *[each.column for each in taken]],
        rows,
        strong=[i for i, name in enumerate(sets) if name == SYNTHETIC.name],
    )


def _nearer(taken: Sequence[Distance]) -> str:
    """Return which values are near, in words: some measures beside the distances are better if larger."""
    larger = ", ".join(each.column for each in taken if each.direction is Direction.HIGHER)
    return f"smaller is nearer; larger is better of: {larger}" if larger else "smaller is nearer"


def _distance(each: Distance, found: Mapping[str, Any], error: float | None) -> str:
    """Format a distance with its standard deviation from noise, or with as many digits as its error supports."""
    if (noise := found.get(stddev_of(each))) is not None:
        return f"{fixed(found[each.name], 3)} ± {noise:.3f}"
    return _as_sure(each, found.get(each.name), error)


def _as_sure(each: Distance, value: float | None, error: float | None) -> str:
    return rounded(value, error, each.decimals) if each.rough and value is not None else each.shown(value)


def _floor(distribution: Mapping[str, Any], taken: Sequence[Distance]) -> tuple[str, str, dict[str, str]]:
    """Return the last row: its title, its number of texts, and the self-distances that are known."""
    if bias := distribution["bias"]:
        least, own = rounded(bias["mean"], bias["stddev"]), distribution["held_out_distance"]
        floors = {FID.name: least, MEDIAN_DISTANCE.name: MEDIAN_DISTANCE.shown(own)}
        own_floors = distribution.get("floors", {})
        floors |= {
            each.name: _as_sure(each, floor["mean"], floor["stddev"])
            for each in taken
            if (floor := own_floors.get(each.name))
        }
        return "held-out text against itself", f"2 × {count(bias['size'])}", floors
    noise = distribution["floor"]
    noised = {key for row in distribution["sets"].values() for key in row}
    unbiased = {each.name: "0" for each in taken if stddev_of(each) in noised}
    axes = f"{noise['mean']:.3f} ± {noise['stddev']:.3f}"
    return "noise alone", ABSENT, {**unbiased, FRECHET_MAIN_AXES.name: axes}


def texts_table(texts: Mapping[str, Any] | None) -> Markup:
    """Return the table of properties of each set of texts by itself; empty where there are none."""
    if texts is None or not texts["measures"]:
        return Markup()
    shown = measures_of_kind(TextProperty, texts["measures"])
    return table(
        "The texts by themselves, as many of each set as a model is trained on",
        ["set", "texts", *[f"{each.column} ({each.direction.word} is better)" for each in shown]],
        [
            [CONDITIONS[name].label, count(found["texts"]), *[each.shown(found[each.name]) for each in shown]]
            for name, found in texts["sets"].items()
        ],
        strong=[i for i, name in enumerate(texts["sets"]) if name == SYNTHETIC.name],
    )


def cost_table_html(costs: Sequence[Mapping[str, Any]]) -> Markup:
    """Return the cost table in Table 2's layout: floats and seconds per client and exchange, bytes of the whole run."""
    rows = [
        [
            f"{row['method']} (this run)" if row["algorithm"] else row["method"],
            compact(row["down_floats"]),
            compact(row["up_floats"]),
            count(row["exchanges"]),
            f"{size(row['down_bytes'])} / {size(row['up_bytes'])}",
            seconds(row["client_seconds"]),
            seconds(row["server_seconds"]),
        ]
        for row in costs
    ]
    ours = [i for i, row in enumerate(costs) if row["algorithm"]]
    here = "".join(f"; this run's on {costs[i]['hardware']}" for i in ours[:1])
    return table(
        "Per client and exchange, server time per round. Bytes: 4 a float down, 8 a masked integer up. "
        f"Published times are GPU seconds{here}",
        ["method", "floats down", "floats up", "exchanges", "bytes down / up, whole run", "client", "server"],
        rows,
        strong=ours,
    )


def protection_table(protection: Mapping[str, Any], tested: Mapping[str, Any] | None = None) -> Markup:
    """Return the table of the privacy declaration and cost; `tested` is the guarantee of test units."""
    finite = protection["epsilon"] is not None and not protection["unaccounted"]
    rows = [
        ["protected unit", f"{protection['unit']} ({count(protection['units'])} of them)"],
        ["neighbouring data sets", protection["adjacency"].replace("_", "-")],
        ["ε", spent(protection["epsilon"], 3) if finite else "infinite"],
        ["δ", scientific(protection["delta"])],
        ["noise", "from a public seed: a simulation" if protection["simulated"] else "from the operating system"],
    ]
    rows[3:3] = [
        [f"ε under {adjacency.replace('_', '-')}", spent(value, 3) if isinstance(value, float) else str(value)]
        for adjacency, value in protection["epsilon_by_adjacency"].items()
        if adjacency != protection["adjacency"]
    ]
    if protection.get("signal_to_noise"):
        rows.append(["noise against signal", protection["signal_to_noise"]])
    if tested is not None:
        price = f"{spent(tested['epsilon'], 3)} at δ = {scientific(tested['delta'])}"
        rows.append([f"ε of the {count(tested['units'])} test {tested['unit']}s", price])
    return table("Privacy in short; the privacy report has every release", ["what", "value"], rows, kind="words")

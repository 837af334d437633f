"""The report's tables, as HTML with captions and row headers, every cell escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Literal

from fedtext.evaluation.conditions import CONDITIONS, PUBLIC
from fedtext.reporting.wording import compact, count, percent, points, rounded, scientific, seconds, share, size, spent

SETS = {"synthetic": "synthetic texts", "public_control": "public texts"}


def table(
    caption: str,
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    strong: Sequence[int] = (),
    kind: Literal["numbers", "words"] = "numbers",
) -> str:
    """An HTML table that scrolls by itself where the screen is narrow; `strong` are the row numbers to stress."""
    head = "".join(f'<th scope="col">{escape(header)}</th>' for header in headers)
    body = "".join(_row(row, number in strong) for number, row in enumerate(rows))
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}"><table class="{kind}">'
        f"<caption><span>{escape(caption)}</span></caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(cells: Sequence[str], strong: bool) -> str:
    first, *rest = cells
    data = "".join(f"<td>{escape(cell)}</td>" for cell in rest)
    return f'<tr{" class=strong" if strong else ""}><th scope="row">{escape(first)}</th>{data}</tr>'


def accuracy_table(accuracy: Mapping[str, Any]) -> str:
    """Each condition's accuracies, its change against the untouched model, and the share of the gap it closes."""
    conditions = accuracy["conditions"]
    names = [*[n for n in CONDITIONS if n in conditions], *[n for n in conditions if n not in CONDITIONS]]
    ranks = [key for key in conditions[names[0]] if key.startswith("top_")]
    rows = []
    for name in names:
        found = conditions[name]
        gain = accuracy["gains"].get(name, {}).get(PUBLIC)
        rows.append(
            [
                CONDITIONS.get(name, name),
                "–" if found["texts"] is None else count(found["texts"]),
                *[percent(found[rank]) for rank in ranks],
                points(gain) if gain else "–",
                share(accuracy["gap_closed"].get(name)),
            ]
        )
    return table(
        "The on-device model after each kind of training text: next-token accuracy on held-out text (95% intervals)",
        ["trained on", "texts", *[r.replace("_", " ") for r in ranks], "points against ε\u00a0=\u00a00", "gap closed"],
        rows,
        strong=[i for i, name in enumerate(names) if name == accuracy["judged"]],
    )


def published_table(accuracy: Mapping[str, Any]) -> str:
    """The released code's metric, apart from the correct one; empty where it was not asked for."""
    conditions = accuracy["conditions"]
    scored = [name for name in CONDITIONS if "published_top_1" in conditions.get(name, {})]
    if not scored:
        return ""
    ranks = [key for key in conditions[scored[0]] if key.startswith("published_top_")]
    rows = [[CONDITIONS[name], *[percent(conditions[name][rank]) for rank in ranks]] for name in scored]
    headers = ["trained on", *[rank.removeprefix("published_").replace("_", " ") for rank in ranks]]
    return table(
        "The released code's metric, filler included: never to be compared with the table above", headers, rows
    )


def distance_table(distribution: Mapping[str, Any]) -> str:
    """Each data set's distance to held-out text, above the floor that finite size alone makes."""
    bias = distribution["bias"]
    rows = [
        [
            SETS.get(name, name),
            count(found["texts"]),
            rounded(found["fid"], bias["stddev"]),
            rounded(found["mean_gap"], bias["stddev"]),
            rounded(found["mmd_squared"], None, 4),
            rounded(found["median_distance"], None, 2),
        ]
        for name, found in distribution["sets"].items()
    ]
    floor = rounded(bias["mean"], bias["stddev"])
    own = rounded(distribution["held_out_distance"], None, 2)
    rows.append(["held-out text against itself", f"2 × {count(bias['size'])}", floor, "–", "–", own])
    return table(
        "Distance to held-out private text, by sentence embeddings (smaller is nearer)",
        ["set", "texts", "FID", "squared mean gap", "squared MMD", "median distance to medoid"],
        rows,
        strong=[i for i, name in enumerate(distribution["sets"]) if name == "synthetic"],
    )


def released_distance_table(distribution: Mapping[str, Any]) -> str:
    """`distance_table` of a priced evaluation: what noise leaves of the distances, and with which deviation."""
    rows = [
        [
            SETS.get(name, name),
            count(found["texts"]),
            f"{found['mean_gap']:.3f} ± {found['mean_gap_stddev']:.3f}",
            f"{found['mmd_squared']:.3f} ± {found['mmd_squared_stddev']:.3f}",
            rounded(found["frechet_main_axes"], None, 3),
            rounded(found["median_distance"], None, 2),
        ]
        for name, found in distribution["sets"].items()
    ]
    floor = distribution["floor"]
    rows.append(["noise alone", "–", "0", "0", f"{floor['mean']:.3f} ± {floor['stddev']:.3f}", "–"])
    return table(
        "Distance to held-out private text, from noised mean features (smaller is nearer)",
        ["set", "texts", "squared mean gap", "squared MMD", "Frechet on main axes", "median distance to medoid"],
        rows,
        strong=[i for i, name in enumerate(distribution["sets"]) if name == "synthetic"],
    )


def cost_table_html(costs: Sequence[Mapping[str, Any]]) -> str:
    """Table 2's form: floats and seconds per client and exchange, and the bytes of the whole run."""
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


def protection_table(protection: Mapping[str, Any], tested: Mapping[str, Any] | None = None) -> str:
    """The privacy declaration and what was spent; `tested` is what test units are promised."""
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
    if tested is not None:
        price = f"{spent(tested['epsilon'], 3)} at δ = {scientific(tested['delta'])}"
        rows.append([f"ε of the {count(tested['units'])} test {tested['unit']}s", price])
    return table("Privacy in short; the privacy report has every release", ["what", "value"], rows, kind="words")

"""The report's figures, in Plotly: curves over rounds, accuracy of the conditions, tokens per client, privacy cost.

Figures go to Kedro-Viz, MLflow and the report, so none may draw a private text or a single private point. A figure of
held-out private data draws an aggregate, and belongs in a node that is declared a held-out evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from fedtext.evaluation.distribution import Bias
from fedtext.evaluation.measures.distances import FID, MEDIAN_DISTANCE
from fedtext.evaluation.measures.known import MEASURES, measures_in_document
from fedtext.evaluation.measures.measure import Distance
from fedtext.evaluation.wording import count, share, spent
from fedtext.params.conditions import CONDITIONS, PREFERENCES, Role
from fedtext.params.conditions import PRIVATE as CEILING
from fedtext.privacy.disclosure_control import MIN_UNITS, round_counts
from fedtext.reporting.figure_style import (
    BELOW_SLANTED,
    CONTROL,
    INK,
    MUTED,
    PRIVATE,
    PUBLIC,
    SYNTHETIC,
    WARNING,
    note,
    plain_text,
    styled,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Bar, Figure

TOKEN_EDGES = (0, 64, 128, 256, 512, 1024, 2048, 4096)
NARROW = 20  # letters of a panel's title that fit on a narrow page
MOST_LABELS = 12  # bars that still have room for their number
COLOURS = {Role.START: PUBLIC, Role.CONTROL: CONTROL, Role.JUDGED: SYNTHETIC, Role.CEILING: PRIVATE}
CURVES = {
    **{each.name: each.curve for each in MEASURES if isinstance(each, Distance) and each.curve},
    "released_score": "released score (all that may steer)",
}


def round_curves(
    rows: Sequence[Mapping[str, Any]],
    *,
    chosen: int | None = None,
    bias: Bias | None = None,
    held_out_distance: float | None = None,
) -> Figure:
    """Draw curves over rounds (the left panels of POPri's Figure 4 and two more), one for each quantity with values.

    Args:
        rows: One mapping for each round's candidates: `adapter`, the number of rounds before (0: untuned), and any of
            the
            distances and `released_score`; a missing or None value leaves a gap.
        chosen: The `adapter` of the final set, marked on every curve.
        bias: FID between two samples of held-out text, which a perfect generator would reach.
        held_out_distance: Median distance to the medoid of the held-out text itself.
    """
    from plotly.subplots import make_subplots

    known = [key for key in CURVES if any(row.get(key) is not None for row in rows)] or list(CURVES)
    titles = ["<br>".join(wrap(CURVES[key], NARROW)) for key in known]
    lines, gaps = -(-len(known) // 2), {"horizontal_spacing": 0.17, "vertical_spacing": 0.3}
    figure = make_subplots(rows=lines, cols=2, subplot_titles=titles, **gaps)
    floors = {FID.name: bias.mean if bias else None, MEDIAN_DISTANCE.name: held_out_distance}
    adapters = [row["adapter"] for row in rows]
    for panel, key in enumerate(known):
        place = {"row": panel // 2 + 1, "col": panel % 2 + 1}
        values = [row.get(key) for row in rows]
        figure.add_scatter(
            x=adapters,
            y=values,
            mode="lines+markers",
            line={"color": SYNTHETIC, "width": 2},
            marker={"size": [11 if a == chosen else 6 for a in adapters], "color": SYNTHETIC},
            hovertemplate="round %{x}: %{y:.3g}<extra></extra>",
            **place,
        )
        if (floor := floors.get(key)) is not None:
            figure.add_hline(y=floor, line={"color": MUTED, "dash": "dot", "width": 1}, **place)
    figure.update_xaxes(title_text="round", tick0=0, dtick=whole_step(len(rows)))
    styled(figure, "What each round changed", height=660 if len(known) > 2 else 370)
    figure.update_layout(margin={"t": 92})  # titles of panels may take two lines
    dotted = "Dotted: held-out text against itself. " if any(floors.get(key) is not None for key in known) else ""
    return note(figure, f"Large dot: where the final set comes from.<br>{dotted}Evaluation only.")


def whole_step(rounds: int) -> int:
    """Return the whole-number tick step of an axis of rounds, for about eight ticks."""
    return max(1, round(rounds / 8))


def accuracy_bars(accuracy: Mapping[str, Any]) -> Figure:
    """Draw the main measure of each condition with 95% intervals, and the share of what is left above the best control.

    What is left is shaded. Without it the shares of the whole gap are shown.
    """
    from plotly.graph_objects import Bar, Figure

    measure, *_ = measures_in_document(accuracy)
    scale = measure.unit.scale
    table, closed = accuracy["conditions"], accuracy["gap_closed"]
    left = accuracy.get("remaining_gap", {}).get(measure.name)
    names = [*[n for n in CONDITIONS if n in table], *[n for n in table if n not in CONDITIONS]][::-1]
    levels = [table[n][measure.name] for n in names]
    values = [scale * level for level in levels]
    # one client has no interval: its end is infinite, or null in a scorecard
    highs = [table[n]["high"] for n in names]
    ends = [level if high is None or not np.isfinite(high) else high for level, high in zip(levels, highs, strict=True)]
    errors = [scale * end - value for end, value in zip(ends, values, strict=True)]
    gaps = [f"<br>gap closed: {share(closed[n])}" if n in closed else "" for n in names]
    if left is not None:
        gaps = [f"<br>of what is left: {share(left)}" if n == accuracy["judged"] else "" for n in names]
    figure = Figure(
        Bar(
            x=values,
            y=[plain_text(_title(n)) + gap for n, gap in zip(names, gaps, strict=True)],
            orientation="h",
            marker={"color": [COLOURS[CONDITIONS[n].role] if n in CONDITIONS else CONTROL for n in names]},
            error_x={"type": "data", "array": errors, "color": MUTED, "thickness": 1, "width": 4},
            hovertemplate=f"%{{x:.{measure.decimals}f}}{measure.unit.mark}<extra></extra>",
        )
    )
    reach = max(value + error for value, error in zip(values, errors, strict=True))
    for y, (level, value, error) in enumerate(zip(levels, values, errors, strict=True)):
        shown = measure.shown(level)
        figure.add_annotation(x=value + error, y=y, text=shown, xanchor="left", xshift=8, showarrow=False)
    if left is not None and left["share"] is not None:
        low, high = (scale * table[n][measure.name] for n in (left["control"], CEILING.name))
        figure.add_vrect(x0=low, x1=high, fillcolor=SYNTHETIC, opacity=0.12, line_width=0, layer="below")
    of_pairs = accuracy["judged"] == PREFERENCES.name
    held_out = "pairs" if of_pairs else "text"
    figure.update_xaxes(title_text=f"{measure.title} on held-out {held_out}{measure.axis}", range=[0, 1.18 * reach])
    figure.update_yaxes(showgrid=False, tickfont={"color": INK})
    named = measure.title[:1].upper() + measure.title[1:]
    return styled(figure, named if of_pairs else f"{named} of the on-device model", height=130 + 46 * len(names))


def _title(name: str) -> str:
    return CONDITIONS[name].title if name in CONDITIONS else name


def tokens_per_client(tokens: Int[np.ndarray, " client"]) -> Figure:
    """Draw a histogram of tokens per held-out client (POPri's Figure 9) with fixed bins.

    Bins of fewer than 20 clients, or none, are hatched alike, the others rounded to 10, so that no client is
    identified.
    """
    from plotly.graph_objects import Figure

    clients = np.bincount(np.searchsorted(TOKEN_EDGES[1:], tokens), minlength=len(TOKEN_EDGES))
    labels = [f"{low + 1:g}–{high:g}" for low, high in pairwise(TOKEN_EDGES)]
    figure = Figure(rounded_bars([*labels, f"over {TOKEN_EDGES[-1]}"], clients))
    figure.update_xaxes(title_text="tokens", showgrid=False, type="category")
    figure.update_yaxes(title_text="clients")
    styled(figure, "Tokens per held-out client")
    return note(figure, "Evaluation only. Clients rounded to 10; bins under 20 are not shown.", below=BELOW_SLANTED)


def rounded_bars(labels: Sequence[str], clients: Int[np.ndarray, " bin"]) -> Bar:
    """Return one bar a bin: clients rounded to 10; bins of fewer than 20, or none, are hatched and alike."""
    from plotly.graph_objects import Bar

    shown = round_counts(clients)
    hidden = shown == 0  # none, or some: a reader cannot tell
    return Bar(
        x=labels,
        y=np.where(hidden, MIN_UNITS / 2, shown),
        marker={
            "color": [PUBLIC if h else PRIVATE for h in hidden],
            "pattern": {"shape": ["/" if h else "" for h in hidden]},
        },
        text=[f"under {MIN_UNITS}" if h else count(c) for h, c in zip(hidden, shown.tolist(), strict=True)],
        textposition="outside",
        hoverinfo="skip",
        cliponaxis=False,
    )


def privacy_price(epsilon_after: Mapping[str, float], budget: float) -> Figure:
    """Draw the cumulative epsilon after each release, by the release's name, and the declared budget."""
    from plotly.graph_objects import Bar, Figure

    names = [plain_text(name) for name in epsilon_after]
    epsilons = list(epsilon_after.values())
    labels = [spent(value) for value in epsilons] if len(epsilons) <= MOST_LABELS else None
    figure = Figure(
        Bar(
            x=names,
            y=epsilons,
            text=labels,
            textposition="inside",
            width=min(0.6, 0.12 * len(names)),
            marker={"color": SYNTHETIC},
            hovertemplate="%{x}: ε = %{y:.2f}<extra></extra>",
        )
    )
    figure.add_hline(y=budget, line={"color": WARNING, "dash": "dash", "width": 1.5})
    figure.add_annotation(
        x=0, xref="paper", y=budget, text="declared budget", xanchor="left", yanchor="bottom", showarrow=False
    )
    figure.update_xaxes(type="category", showgrid=False)
    figure.update_yaxes(title_text="ε spent", range=[0, 1.2 * max([budget, *epsilons])])
    return styled(figure, "Privacy spent", height=300)


def trade_off_curve(attacker: Mapping[str, Any]) -> Figure:
    """Draw the most that an attacker finds at each share of false alarms, beside guessing blindly."""
    from plotly.graph_objects import Figure, Scatter

    alarms, found = attacker["curve"]["false_alarms"], attacker["curve"]["found"]
    hover = "%{x:.2%} false alarms: at most %{y:.2%} found<extra></extra>"
    bound = Scatter(x=alarms, y=found, name="any attack, at most", line={"color": SYNTHETIC}, hovertemplate=hover)
    chance = Scatter(x=alarms, y=alarms, name="guessing blindly", line={"color": MUTED, "dash": "dash"})
    figure = Figure([bound, chance])
    figure.update_xaxes(title_text="false alarms", tickformat=".0%", range=[0, 1])
    figure.update_yaxes(title_text="found", tickformat=".0%", range=[0, 1])
    return styled(figure, "What an attacker can gain", height=360)

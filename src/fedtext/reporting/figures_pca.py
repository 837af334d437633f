"""Maps of synthetic and held-out text on the first two principal components (POPri's Figures 2 and 4).

The axes are fitted to the held-out text, or to public text where held-out text is not drawn. Synthetic and public texts
are drawn as points; held-out private texts only as shaded areas by number of clients: areas of fewer than 20 clients
are left blank, the others rounded to 10. The grid spans the released points, so that its edge reveals nothing of the
private extremes; a frame around it holds all texts beyond.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from fedtext.evaluation.distribution import Pca
from fedtext.privacy.disclosure_control import MIN_UNITS, round_counts
from fedtext.reporting.figure_style import HELD_OUT_SHADES, ON_ANY, SYNTHETIC, note, plain_text, styled

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

GRIDS = (32, 24, 16, 12, 8, 6, 4)  # cells a side, finest first
MOST_HIDDEN = 0.3  # share of held-out texts in blank cells that makes a coarser grid worth it
POINTS = 600  # of each set
COLUMNS = 3  # more would overlap in Kedro-Viz's side panel
HELD_OUT = "held-out text"
PANELS = 6
BELOW_PANELS = 16  # pixels from panels, which have no ticks, to the note


class Density(NamedTuple):
    """Clients in each cell of a grid and of the frame around it, coarsened.

    `hidden` is the share of held-out texts in blank cells, `beyond` of those outside of the grid, blank or not.
    """

    x: Float[np.ndarray, " cell"]
    y: Float[np.ndarray, " cell"]
    clients: Int[np.ndarray, "cell cell"]
    hidden: float
    beyond: float


def client_density(
    points: Float[np.ndarray, "text 2"],
    clients: Int[np.ndarray, " text"],
    low: Float[np.ndarray, " 2"],
    high: Float[np.ndarray, " 2"],
) -> Density:
    """Count distinct clients with a text in each cell between `low` and `high`, on the finest grid that shows enough.

    A cell of fewer than 20 clients counts 0. The grid is coarsened until at most 30% of all texts are hidden that way,
    and at most 30% of those that lie in the grid.
    """
    best, least = None, math.inf
    for cells in GRIDS:
        edges = [np.linspace(low[axis], high[axis], cells + 1) for axis in (0, 1)]
        # 0 and cells + 1 are the frame
        place = np.stack([np.searchsorted(edges[axis], points[:, axis], side="right") for axis in (0, 1)])
        beyond = ((place == 0) | (place == cells + 1)).any(axis=0)
        cell = place[1] * (cells + 2) + place[0]
        owners = np.unique(np.stack([cell, clients]), axis=1)[0]
        shown = round_counts(np.bincount(owners, minlength=(cells + 2) ** 2))
        blank = shown[cell] == 0
        grid = shown.reshape(cells + 2, cells + 2)
        worst = max(_share(blank), _share(blank[~beyond]))
        if worst < least:
            x, y = map(_middles, edges)
            best, least = Density(x, y, grid, _share(blank), _share(beyond)), worst
        if least <= MOST_HIDDEN:
            break
    assert best is not None  # GRIDS is not empty
    return best


def _share(flags: Bool[np.ndarray, " text"]) -> float:
    return float(flags.mean()) if len(flags) else 0.0


def _middles(edge: Float[np.ndarray, " edge"]) -> Float[np.ndarray, " cell"]:
    """Return the centres of the cells, and of the frame on either side, drawn as wide."""
    step = edge[1] - edge[0]
    return np.concatenate([edge[:1] - step / 2, (edge[:-1] + edge[1:]) / 2, edge[-1:] + step / 2])


def shown_rounds(
    round_embeddings: Mapping[str, Float[np.ndarray, "_ dim"]],
) -> dict[str, Float[np.ndarray, "_ dim"]]:
    """Return a few rounds' candidates, evenly spaced over the rounds, by the title of their panel."""
    names = list(round_embeddings)
    shown = np.unique(np.linspace(0, len(names) - 1, PANELS).astype(np.int64))
    return {f"round {t}" if t else "start": round_embeddings[names[t]] for t in shown}


def pca_panels(
    title: str,
    sets: Mapping[str, Float[np.ndarray, "_ dim"]],
    held_out: Float[np.ndarray, "other dim"] | None,
    held_out_clients: Int[np.ndarray, " other"] | None,
    pca: Pca,
) -> Figure:
    """Draw one panel for each named set of released or public embeddings, over the shaded held-out text, which is last.

    For Figure 4 the sets are a few rounds; for Figure 2 the final set, the untuned texts and the public texts. Held-out
    text is not drawn in a DP evaluation (None).
    """
    from plotly.subplots import make_subplots

    projected = {name: pca.project(rows[:: max(1, len(rows) // POINTS)]) for name, rows in sets.items()}
    low, high = _span(np.concatenate(list(projected.values())))
    density = None
    if held_out is not None and held_out_clients is not None:
        density = client_density(pca.project(held_out), held_out_clients, low, high)
    panels = [*sets, *([] if density is None else [HELD_OUT])]
    columns = 2 if len(panels) == 4 else min(len(panels), COLUMNS)
    rows = -(-len(panels) // columns)
    figure = make_subplots(
        rows=rows,
        cols=columns,
        subplot_titles=[plain_text(name) for name in panels],
        shared_xaxes="all",
        shared_yaxes="all",
        horizontal_spacing=0.03,
        vertical_spacing=0.12,
    )
    for panel, name in enumerate(panels):
        place = {"row": panel // columns + 1, "col": panel % columns + 1}
        _draw_panel(figure, projected.get(name, np.zeros((0, 2))), density, place)
    # Said of each panel's axes: Kedro-Viz's themes replace the template, and know the first panel alone. They show
    # labels of ticks whatever a figure says, so there are no ticks.
    plain = {"tickvals": [], "showgrid": False, "showline": True, "mirror": True, "linecolor": ON_ANY}
    frame = np.zeros(2) if density is None else np.array([density.x[1] - density.x[0], density.y[1] - density.y[0]])
    figure.update_xaxes(range=[low[0] - frame[0], high[0] + frame[0]], **plain)
    figure.update_yaxes(range=[low[1] - frame[1], high[1] + frame[1]], **plain)
    styled(figure, title, height=154 + 270 * rows)
    axes = f"Axes: the two largest variances ({pca.explained[0]:.0%}, {pca.explained[1]:.0%})."
    return note(figure, f"Points: released or public texts.<br>{axes}<br>{_held_out_note(density)}", below=BELOW_PANELS)


def _held_out_note(density: Density | None) -> str:
    """Return how the held-out text is drawn, in short lines; first of all if most of it is not."""
    if density is None:
        return "Held-out text: not shown."
    most = ""
    if density.hidden > 1 / 2:
        most = "Most held-out texts are not drawn: they lie in blank areas.<br>"
    elif density.beyond > 1 / 2:
        most = "Most held-out texts lie where no text was released: in the outer frame.<br>"
    return (
        f"{most}Shades: held-out text by clients, evaluation only.<br>Areas of under {MIN_UNITS} clients are blank "
        f"({density.hidden:.0%} of its texts).<br>The outer frame is all that lies beyond ({density.beyond:.0%})."
    )


def _span(points: Float[np.ndarray, "text 2"]) -> tuple[Float[np.ndarray, " 2"], Float[np.ndarray, " 2"]]:
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.1 * np.maximum(high - low, 1e-9)
    return low - margin, high + margin


def _draw_panel(
    figure: Figure, points: Float[np.ndarray, "text 2"], density: Density | None, place: dict[str, int]
) -> None:
    if density is not None:
        figure.add_heatmap(
            x=density.x,
            y=density.y,
            z=np.where(density.clients == 0, np.nan, density.clients),
            colorscale=[[0, HELD_OUT_SHADES[0]], [1, HELD_OUT_SHADES[1]]],
            zmin=0,
            xgap=1,
            ygap=1,
            showscale=False,
            hoverinfo="skip",
            **place,
        )
    figure.add_scatter(
        x=points[:, 0],
        y=points[:, 1],
        mode="markers",
        marker={"size": 3.5, "color": SYNTHETIC, "opacity": 0.55},
        hoverinfo="skip",
        **place,
    )

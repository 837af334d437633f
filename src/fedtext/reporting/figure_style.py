"""The style of all figures: white paper, few lines, one strong colour for the run's own output."""

from __future__ import annotations

import html
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

INK, MUTED, RULE = "#1f2933", "#66727f", "#e3e8ee"
ON_ANY = "#76818d"  # labels inside a plot: Kedro-Viz swaps the paper for black and leaves them their colour
SYNTHETIC, CONTROL, PUBLIC, PRIVATE = "#0b66c3", "#9aa7b4", "#c9d1d9", "#3a4653"
WARNING = "#c2410c"
HELD_OUT_SHADES = ["rgba(118,129,141,0.20)", "rgba(118,129,141,0.75)"]  # seen on white and on black
TEMPLATE = "fedtext"  # in `plotly.io.templates`
FONT = "Inter, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"


def plain_text(text: object) -> str:
    """Return text from outside for a figure, escaped, since plotly renders some HTML."""
    return html.escape(str(text), quote=False)  # it does not know &quot;


def styled(figure: Figure, title: str, *, height: int = 380, legend: bool = False) -> Figure:
    """Return `figure` with the project's template, a left-aligned title and optionally a legend above the plot."""
    _register_template()
    figure.update_layout(
        template=TEMPLATE,
        title={"text": title, "x": 0, "xref": "container", "pad": {"l": 16}, "font": {"size": 16}},
        height=height,
        margin={"l": 64, "r": 24, "t": 72, "b": 56},
        showlegend=legend,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        bargap=0.35,
    )
    figure.update_annotations(font={"size": 13, "color": ON_ANY})
    return figure


def empty_figure(title: str, reason: str) -> Figure:
    """Return an empty figure with the reason as text; `layout.meta` holds it too."""
    from plotly.graph_objects import Figure

    figure = styled(Figure(), title, height=160)
    figure.update_layout(meta=f"left out: {reason}")
    figure.add_annotation(text=plain_text(f"Left out: {reason}"), showarrow=False, x=0, xref="paper", xanchor="left")
    return figure


@cache
def _register_template() -> None:
    from plotly.graph_objects import Layout, layout
    from plotly.io import templates

    axis = {
        "gridcolor": RULE,
        "linecolor": RULE,
        "zeroline": False,
        "ticks": "outside",
        "ticklen": 6,
        "tickcolor": "rgba(0,0,0,0)",
        "title": {"font": {"size": 12, "color": MUTED}, "standoff": 8},
        "tickfont": {"size": 11, "color": MUTED},
        "automargin": True,
    }
    templates[TEMPLATE] = layout.Template(
        layout=Layout(
            font={"family": FONT, "size": 13, "color": INK},
            paper_bgcolor="white",
            plot_bgcolor="white",
            xaxis=axis,
            yaxis=axis,
            hoverlabel={"font": {"family": FONT}},
        )
    )


BELOW = 52  # pixels under a plot for its ticks and the title of its axis
BELOW_SLANTED = 96  # the same where names of categories may be slanted


def note(figure: Figure, text: str, *, below: int = BELOW) -> Figure:
    """Add a few muted lines under the plot, for readers who see the figure without the report.

    Args:
        figure: It is changed in place.
        text: Lines end at `<br>`.
        below: Pixels between the plot and the first line.
    """
    figure.add_annotation(
        text=text,
        x=0,
        y=0,
        yshift=-below,
        xref="paper",
        yref="paper",
        xanchor="left",
        yanchor="top",
        showarrow=False,
        align="left",
        font={"size": 11, "color": ON_ANY},
    )
    return figure.update_layout(margin={"b": below + 20 + 16 * (1 + text.count("<br>"))})

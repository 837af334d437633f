"""The figure of a partition: texts of each client, their labels, and the label skew."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from fedtext.privacy.disclosure_control import MIN_UNITS
from fedtext.reporting.figure_style import BELOW_SLANTED, PRIVATE, note, plain_text, styled
from fedtext.reporting.figures import rounded_bars

if TYPE_CHECKING:
    from plotly.graph_objects import Bar, Figure

SIZE_EDGES = (1, 2, 3, 5, 9, 17, 33, 65, 129)  # least samples of a bin
SHARE_EDGES = (0, 20, 40, 60, 80, 100)  # percent; a client of one label alone has a bin of its own
OTHER, UNLABELLED = "all others", "no label"
MOST_LABELS = 10


def partition_figure(clients: Int[np.ndarray, " sample"], labels: Sequence[str | None], *, described: str) -> Figure:
    """Draw sizes of held-out clients, shares of labels, and the share of a client's most frequent label.

    Numbers of clients are rounded to 10, bins and labels of fewer than 20 clients are merged, and label shares are
    whole percents, so that no client is identified. The held-out clients represent all, since they are a random sample.

    Args:
        clients: Code of the client of each held-out sample.
        labels: Label of each sample, None where there is none.
        described: The partition in words, for the note.
    """
    from plotly.subplots import make_subplots

    codes = np.unique(clients, return_inverse=True)[1]
    texts, kinds = np.unique([label or UNLABELLED for label in labels], return_inverse=True)
    names = [str(text) for text in texts]
    held = np.zeros((codes.max(initial=-1) + 1, len(names)), dtype=np.int64)
    np.add.at(held, (codes, kinds), 1)
    titles = ["samples of a client", "samples by label", "share of a client's most frequent label"]
    figure = make_subplots(rows=1, cols=3, subplot_titles=titles, horizontal_spacing=0.08)
    for column, bars in enumerate((_sizes(held), _label_shares(held, names), _largest_shares(held)), start=1):
        figure.add_trace(bars, row=1, col=column)
        figure.update_yaxes(title_text="share" if column == 2 else "clients", row=1, col=column)
    figure.update_xaxes(type="category", showgrid=False)
    figure.update_yaxes(tickformat=".0%", row=1, col=2)
    styled(figure, "Clients of the partition", height=440)
    limits = f"Held-out clients only, rounded to 10; under {MIN_UNITS} are not shown."
    return note(figure, f"{described}. {limits}", below=BELOW_SLANTED)


def _sizes(held: Int[np.ndarray, "client label"]) -> Bar:
    sizes = held.sum(axis=1)
    clients = np.bincount(np.searchsorted(SIZE_EDGES, sizes, side="right") - 1, minlength=len(SIZE_EDGES))
    ends = [f"{low}" if high == low + 1 else f"{low}–{high - 1}" for low, high in pairwise(SIZE_EDGES)]
    return rounded_bars([*ends, f"over {SIZE_EDGES[-1] - 1}"], clients)


def _label_shares(held: Int[np.ndarray, "client label"], names: Sequence[str]) -> Bar:
    """Return bars of labels that at least 20 clients hold, largest first; the others are one bar."""
    from plotly.graph_objects import Bar

    common = np.flatnonzero((held > 0).sum(axis=0) >= MIN_UNITS)
    common = common[np.argsort(-held[:, common].sum(axis=0), kind="stable")][:MOST_LABELS]
    shares = held[:, common].sum(axis=0) / max(held.sum(), 1)
    rest = [OTHER] if len(common) < len(names) else []
    values = np.round([*shares, *([1 - shares.sum()] if rest else [])], 2)
    return Bar(
        x=[*(plain_text(names[place]) for place in common.tolist()), *rest],
        y=values,
        marker={"color": PRIVATE},
        text=[f"{value:.0%}" for value in values],
        textposition="outside",
        hoverinfo="skip",
        cliponaxis=False,
    )


def _largest_shares(held: Int[np.ndarray, "client label"]) -> Bar:
    percent = 100 * held.max(axis=1, initial=0) / held.sum(axis=1)
    clients = np.bincount(np.searchsorted(SHARE_EDGES, percent, side="right") - 1, minlength=len(SHARE_EDGES))
    return rounded_bars([*(f"{low}–{high}%" for low, high in pairwise(SHARE_EDGES)), "100%"], clients)

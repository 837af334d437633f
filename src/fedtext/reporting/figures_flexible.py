"""Flexible participation's figure, of released values alone: how the votes spread over the texts of a code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from fedtext.params.task import in_words
from fedtext.reporting.figure_style import SYNTHETIC, empty_figure, note, plain_text, styled
from fedtext.system.missing import nullable

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

SHOWN = 4  # codes, those with most texts
TITLE = "Votes of the texts"


def vote_distribution(candidates: pd.DataFrame, votes: Float[np.ndarray, " text"], stddev: float) -> Figure:
    """Draw a histogram of noisy votes over the texts of each of the largest codes (the paper's Figures A.3 and A.4).

    Args:
        candidates: The written texts with their `label`, the code.
        votes: Released votes of each; empty where nobody voted.
        stddev: Standard deviation of the noise on each.
    """
    from plotly.subplots import make_subplots

    if not len(votes):
        return empty_figure(TITLE, "the texts were not chosen by votes, or no silo is weak.")
    label = pd.Series(["all texts" if one is None else in_words(one) for one in nullable(candidates["label"])])
    codes = label.value_counts(sort=False).sort_values(ascending=False, kind="stable").index[:SHOWN].tolist()
    titles = [plain_text(code) for code in codes]
    figure = make_subplots(rows=1, cols=len(codes), subplot_titles=titles, shared_yaxes=True)
    for column, code in enumerate(codes, start=1):
        own = votes[(label == code).to_numpy()]
        figure.add_histogram(x=own, marker={"color": SYNTHETIC}, name=plain_text(code), row=1, col=column)
    figure.update_xaxes(title_text="votes")
    figure.update_yaxes(title_text="texts", col=1)
    said = f"The noise of a text's votes has a standard deviation of {stddev:.2f}: a longer tail is what was heard."
    return note(styled(figure, TITLE), said if stddev > 0 else "Votes without noise.")

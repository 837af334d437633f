"""Report nodes: the scorecard, its figures, and one page that says it all."""

from typing import Any

import numpy as np
import pandas as pd
from plotly.graph_objects import Figure

from fedtext.evaluation.cost import popri_cost
from fedtext.evaluation.distribution import Bias
from fedtext.evaluation.figures import accuracy_bars, privacy_price, round_curves
from fedtext.evaluation.html import render_report
from fedtext.evaluation.scorecard import Distribution, Protection, epsilon_after, scorecard
from fedtext.params.corpus import Corpus
from fedtext.params.popri import Popri

CORPORA = {
    "docstrings": "the docstrings of Python's standard library",
    "table": "a table of texts",
    "snapshot": "a LargeFedBench snapshot",
}


def build_scorecard(
    privacy_report: dict[str, Any],
    accuracy: dict[str, Any],
    distances: dict[str, Any],
    synthetic_embeddings: np.ndarray,
    corpus: Corpus,
    popri: Popri,
) -> dict[str, Any]:
    """`scorecard.json`: protection, accuracy, distances and cost of one run."""
    texts, dim = synthetic_embeddings.shape
    return scorecard(
        algorithm="POPri",
        corpus=CORPORA[corpus.source],
        protection=Protection.of(privacy_report),
        accuracy=accuracy,
        distribution=Distribution(**{**distances, "bias": Bias(**distances["bias"])}),
        costs=[popri_cost(popri, embedding_dim=dim)],
        synthetic_texts=texts,
    )


def draw_figures(
    accuracy: dict[str, Any], distances: dict[str, Any], checkpoint: dict[str, int], privacy_report: dict[str, Any]
) -> tuple[Figure, Figure, Figure]:
    """Accuracy of the conditions, curves over the rounds, and the price of each release."""
    curves = round_curves(
        distances["rounds"],
        chosen=checkpoint["adapter"],
        bias=Bias(**distances["bias"]),
        held_out_distance=distances["held_out_distance"],
    )
    price = privacy_price(epsilon_after(privacy_report), privacy_report["budget"])
    return accuracy_bars(accuracy), curves, price


def write_report(
    card: dict[str, Any],
    synthetic: pd.DataFrame,
    accuracy: Figure,
    rounds: Figure,
    privacy: Figure,
    pca_rounds: Figure,
    pca_sets: Figure,
    tokens: Figure,
) -> str:
    """`report.html`."""
    figures = {
        "accuracy": accuracy,
        "rounds": rounds,
        "privacy": privacy,
        "pca_rounds": pca_rounds,
        "pca_sets": pca_sets,
        "tokens": tokens,
    }
    return render_report(card, figures, synthetic["text"].head(12).tolist())

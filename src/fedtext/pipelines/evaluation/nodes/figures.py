"""Figures of the evaluation: maps of embeddings and the size of the held-out clients."""

import numpy as np
import pandas as pd
from plotly.graph_objects import Figure

from fedtext.evaluation.distribution import fit_pca
from fedtext.reporting.figures import tokens_per_client
from fedtext.reporting.figures_pca import pca_panels, shown_rounds


def draw_rounds_map(
    private_test_embeddings: np.ndarray, private_test_sample: pd.DataFrame, round_embeddings: dict[str, np.ndarray]
) -> Figure:
    """POPri's Figure 4: candidates over the rounds; held-out text only as areas of at least 20 clients."""
    clients, _ = pd.factorize(private_test_sample["client_id"], sort=True)
    rounds, plane = shown_rounds(round_embeddings), fit_pca(private_test_embeddings)
    return pca_panels("Candidates over the rounds", rounds, private_test_embeddings, clients, plane)


def draw_sets_map(
    private_test_embeddings: np.ndarray,
    private_test_sample: pd.DataFrame,
    synthetic_embeddings: np.ndarray,
    public_embeddings: np.ndarray,
) -> Figure:
    """POPri's Figure 2: the final set; held-out text only as areas of at least 20 clients."""
    clients, _ = pd.factorize(private_test_sample["client_id"], sort=True)
    sets, plane = {"synthetic": synthetic_embeddings, "public": public_embeddings}, fit_pca(private_test_embeddings)
    return pca_panels("Synthetic and public texts", sets, private_test_embeddings, clients, plane)


def draw_public_rounds_map(round_embeddings: dict[str, np.ndarray], public_embeddings: np.ndarray) -> Figure:
    """The map of `draw_rounds_map` on the plane of the public texts, without held-out text."""
    rounds, plane = shown_rounds(round_embeddings), fit_pca(public_embeddings)
    return pca_panels("Candidates over the rounds", rounds, None, None, plane)


def draw_public_sets_map(synthetic_embeddings: np.ndarray, public_embeddings: np.ndarray) -> Figure:
    """The map of `draw_sets_map` on the plane of the public texts, without held-out text."""
    sets = {"synthetic": synthetic_embeddings, "public": public_embeddings}
    return pca_panels("Synthetic and public texts", sets, None, None, fit_pca(public_embeddings))


def draw_client_tokens(private_test: pd.DataFrame) -> Figure:
    """Tokens per held-out client (POPri's Figure 9), small bins left out."""
    return tokens_per_client(private_test.groupby("client_id")["n_tokens"].sum().to_numpy())

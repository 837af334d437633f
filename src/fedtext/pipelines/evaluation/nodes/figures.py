"""Figures of the evaluation: maps of embeddings and the size of the held-out clients."""

import numpy as np
import pandas as pd
from plotly.graph_objects import Figure

from fedtext.evaluation.distribution import fit_pca
from fedtext.reporting.figures import tokens_per_client
from fedtext.reporting.figures_pca import pca_panels, shown_rounds


def draw_embedding_maps(
    private_test_embeddings: np.ndarray,
    private_test_sample: pd.DataFrame,
    round_embeddings: dict[str, np.ndarray],
    synthetic_embeddings: np.ndarray,
    public_embeddings: np.ndarray,
) -> tuple[Figure, Figure]:
    """POPri's Figures 4 (rounds) and 2 (final set); held-out text only as areas of at least 20 clients."""
    clients, _ = pd.factorize(private_test_sample["client_id"], sort=True)
    rounds = shown_rounds(round_embeddings)
    sets = {"synthetic": synthetic_embeddings, "public": public_embeddings}
    plane = fit_pca(private_test_embeddings)
    return (
        pca_panels("Candidates over the rounds", rounds, private_test_embeddings, clients, plane),
        pca_panels("Synthetic and public texts", sets, private_test_embeddings, clients, plane),
    )


def draw_public_maps(
    round_embeddings: dict[str, np.ndarray], synthetic_embeddings: np.ndarray, public_embeddings: np.ndarray
) -> tuple[Figure, Figure]:
    """The maps of `draw_embedding_maps` on the plane of the public texts, without held-out text."""
    sets = {"synthetic": synthetic_embeddings, "public": public_embeddings}
    plane = fit_pca(public_embeddings)
    return (
        pca_panels("Candidates over the rounds", shown_rounds(round_embeddings), None, None, plane),
        pca_panels("Synthetic and public texts", sets, None, None, plane),
    )


def draw_client_tokens(private_test: pd.DataFrame) -> Figure:
    """Tokens per held-out client (POPri's Figure 9), small bins left out."""
    return tokens_per_client(private_test.groupby("client_id")["n_tokens"].sum().to_numpy())

"""Distances between sets of texts, and the figures of held-out text: aggregates only, by declared evaluations."""

from typing import Any

import numpy as np
import pandas as pd
from plotly.graph_objects import Figure

from fedtext.evaluation.distribution import HeldOut, fit_pca
from fedtext.models.encoder import Encoder
from fedtext.params.evaluation import Evaluation
from fedtext.reporting.figures import tokens_per_client
from fedtext.reporting.figures_pca import pca_panels, shown_rounds


def embed_test_samples(private_test_sample: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """Unit embeddings of the held-out samples that are evaluated on."""
    return encoder.encode(private_test_sample["text"].tolist(), label="held-out samples")


def measure_distances(
    private_test_embeddings: np.ndarray,
    round_embeddings: dict[str, np.ndarray],
    synthetic_embeddings: np.ndarray,
    public_embeddings: np.ndarray,
    rounds: dict[str, Any],
    evaluation: Evaluation,
) -> dict[str, Any]:
    """Distances of every round's candidates, the synthetic and the public texts to held-out text, at one size."""
    sets = {"synthetic": synthetic_embeddings, "public_control": public_embeddings}
    smallest = min(len(rows) for rows in (*round_embeddings.values(), *sets.values()))
    held_out = HeldOut.of(private_test_embeddings, smallest_set=smallest, seed=evaluation.seed)
    compared = [
        {"adapter": t, "released_score": rounds["released_scores"][t], **held_out.compare(rows)}
        for t, rows in ((int(name.removeprefix("round_")) - 1, rows) for name, rows in round_embeddings.items())
    ]
    return {
        "rounds": compared,
        "sets": {name: held_out.compare(rows) for name, rows in sets.items()},
        "bias": held_out.floor()._asdict(),
        "held_out_texts": len(private_test_embeddings),
        "held_out_distance": held_out.compare(private_test_embeddings)["median_distance"],
    }


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


def draw_client_tokens(private_test: pd.DataFrame) -> Figure:
    """Tokens per held-out client (POPri's Figure 9), small bins left out."""
    return tokens_per_client(private_test.groupby("client_id")["n_tokens"].sum().to_numpy())

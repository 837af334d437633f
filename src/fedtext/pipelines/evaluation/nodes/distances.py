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
    synthetic_embeddings: np.ndarray,
    public_embeddings: np.ndarray,
    evaluation: Evaluation,
    round_embeddings: dict[str, np.ndarray] | None = None,
    rounds: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Distances of every round's candidates, the synthetic and the public texts to held-out text, at one size.

    An algorithm without rounds gives neither their embeddings nor their record.
    """
    round_embeddings, scores = round_embeddings or {}, rounds["released_scores"] if rounds else []
    sets = {"synthetic": synthetic_embeddings, "public_control": public_embeddings}
    smallest = min(len(rows) for rows in (*round_embeddings.values(), *sets.values()))
    held_out = HeldOut.of(private_test_embeddings, smallest_set=smallest, seed=evaluation.seed)
    compared = [
        {"adapter": t, "released_score": scores[t], **held_out.compare(rows)}
        for t, rows in ((int(name.removeprefix("round_")) - 1, rows) for name, rows in round_embeddings.items())
    ]
    return {
        "rounds": compared,
        "sets": {name: held_out.compare(rows) for name, rows in sets.items()},
        "bias": held_out.floor()._asdict(),
        "held_out_texts": len(private_test_embeddings),
        "held_out_distance": held_out.compare(private_test_embeddings)["median_distance"],
    }


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


def draw_client_tokens(private_test: pd.DataFrame) -> Figure:
    """Tokens per held-out client (POPri's Figure 9), small bins left out."""
    return tokens_per_client(private_test.groupby("client_id")["n_tokens"].sum().to_numpy())

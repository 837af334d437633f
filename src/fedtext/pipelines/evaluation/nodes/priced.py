"""Held-out figures at a price: what test clients say, noised, and what the noised sums say of accuracy and distance.

Releases read private data and write sums of numbers; all that comes after them is post-processing of what is released.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from plotly.graph_objects import Figure

from fedtext.evaluation import priced_accuracy as accuracy
from fedtext.evaluation import priced_distances as distances
from fedtext.evaluation.distribution import fit_pca
from fedtext.evaluation.tested import FEATURES, Asked, accuracy_release, evaluation_ledger, unit_of_samples
from fedtext.federation.blocks import Block
from fedtext.federation.digest import digest
from fedtext.federation.mechanism import summed_stddev
from fedtext.federation.population import Population
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.secure_sum import answer
from fedtext.federation.units import unit_codes
from fedtext.models.encoder import Encoder
from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Evaluation
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.privacy.report import privacy_report
from fedtext.privacy.spending import Spent
from fedtext.reporting.figures_pca import pca_panels, shown_rounds
from fedtext.seeding import derived_seed

Counts = dict[str, np.ndarray]


def open_evaluation_ledger(
    population: Population,
    evaluation: Evaluation,
    privacy: Privacy,
    algorithm: str,
    conditions: int,
    encoder: Encoder | None = None,
) -> Ledger:
    """An empty ledger of the test clients' own, after checking that what is planned fits what they are promised.

    Planned are the accuracies of `algorithm` under so many `conditions`, and with an `encoder` mean features first.
    """
    asked = [] if encoder is None else [_features_asked(encoder.dim, evaluation)]
    asked.append(_accuracy_asked(accuracy_release(algorithm), conditions, evaluation))
    return evaluation_ledger(privacy, evaluation, population.test, asked)


def release_test_features(
    private_test_sample: pd.DataFrame,
    private_test_embeddings: np.ndarray,
    public_embeddings: np.ndarray,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    evaluation: Evaluation,
) -> tuple[np.ndarray, Ledger]:
    """The noised sum over test clients of the mean features of their held-out text."""
    phi = _feature_map(public_embeddings, evaluation)
    query = Asked(FEATURES, phi.dim, distances.CLIP_NORM).query_of(ledger)
    return answer(
        query.about(digest(phi.plane.axes, np.asarray([phi.gain, phi.features, phi.seed]))),
        lambda held: distances.mean_feature_blocks(held.features, held.unit, phi),
        PrivateSamples.of_one_class(private_test_embeddings, *_held(private_test_sample, ledger.declaration)),
        ledger,
        private_noise_key,
    )


def release_accuracy(
    private_test_sample: pd.DataFrame,
    guess: dict[str, float],
    private_noise_key: NoiseKey,
    ledger: Ledger,
    evaluation: Evaluation,
    **conditions: Counts,
) -> tuple[np.ndarray, Ledger]:
    """The noised sum over test clients of what each condition's model predicts right in their held-out text."""
    clip_norm = evaluation.clip_norm
    names, tokens = tuple(conditions), next(iter(conditions.values()))["tokens"]
    counted = np.column_stack([tokens, *(counts["correct"][:, 0] for counts in conditions.values())])
    query = _accuracy_asked((ledger.planned or ())[-1].name, len(names), evaluation).query_of(ledger)

    def said(held: PrivateSamples) -> Iterator[Block]:
        tokens, *correct = held.features.T
        counts = dict(zip(names, correct, strict=True))
        return accuracy.accuracy_blocks(counts, tokens, held.unit, guess=guess["top_1"], clip_norm=clip_norm)

    return answer(
        query.about(digest(np.asarray([guess["top_1"], clip_norm]))),
        said,
        PrivateSamples.of_one_class(counted, *_held(private_test_sample, ledger.declaration)),
        ledger,
        private_noise_key,
    )


def compare_released_accuracies(
    sums: np.ndarray,
    ledger: Ledger,
    guess: dict[str, float],
    evaluation: Evaluation,
    corpus: Corpus,
    trained_model: Path | None = None,
    **texts: pd.DataFrame,
) -> dict[str, Any]:
    """As `compare_accuracies`, of the released sums. How many texts the private control trained on is not public.

    `texts` are the tables that conditions were trained on; `trained_model` is what an algorithm made instead of text.
    """
    sizes: dict[str, int | None] = {"eps0": 0}
    sizes |= {name: min(evaluation.texts, len(table)) for name, table in texts.items()}
    sizes |= {} if trained_model is None else {"trained_model": 0}
    sizes |= {"private": None} if evaluation.has_private_control(corpus) else {}
    known = {"guess": guess["top_1"], "noise": summed_stddev(ledger), "clip_norm": evaluation.clip_norm}
    return accuracy.compare_released(accuracy.ReleasedCounts.of(sums, tuple(sizes), **known), sizes)


def measure_released_distances(
    total: np.ndarray,
    ledger: Ledger,
    round_embeddings: dict[str, np.ndarray],
    synthetic_embeddings: np.ndarray,
    public_embeddings: np.ndarray,
    rounds: dict[str, Any],
    evaluation: Evaluation,
) -> dict[str, Any]:
    """As `measure_distances`, of the released mean features: no FID, and what noise leaves in every distance."""
    phi = _feature_map(public_embeddings, evaluation)
    released = distances.ReleasedMean.of(phi, total, summed_stddev(ledger))
    candidates = {int(name.removeprefix("round_")) - 1: rows for name, rows in round_embeddings.items()}
    compared, sets, floor = distances.measured(released, public_embeddings, candidates, synthetic_embeddings)
    return {
        "rounds": [
            {"adapter": t, "released_score": rounds["released_scores"][t], **row} for t, row in compared.items()
        ],
        "sets": sets,
        "floor": floor,
    }


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


def report_evaluation_privacy(ledger: Ledger, release_history: tuple[Spent, ...]) -> dict[str, Any]:
    """What the held-out figures cost the test clients, this run's and all so far."""
    return privacy_report(ledger, history=release_history)


def _held(private_test_sample: pd.DataFrame, privacy: Privacy) -> tuple[np.ndarray, np.ndarray | None]:
    ids, texts = private_test_sample["client_id"].tolist(), private_test_sample["text"].tolist()
    return unit_of_samples(ids, texts, privacy), unit_codes(ids) if privacy.unit == "record" else None


def _features_asked(embedding_dim: int, evaluation: Evaluation) -> Asked:
    width = distances.feature_width(embedding_dim, features=evaluation.random_features, axes=evaluation.main_axes)
    return Asked(FEATURES, width, distances.CLIP_NORM)


def _accuracy_asked(name: str, conditions: int, evaluation: Evaluation) -> Asked:
    return Asked(name, 1 + 2 * conditions, accuracy.joint_clip_norm(evaluation.clip_norm))


def _feature_map(public_embeddings: np.ndarray, evaluation: Evaluation) -> distances.FeatureMap:
    return distances.FeatureMap.of(
        public_embeddings,
        features=evaluation.random_features,
        axes=evaluation.main_axes,
        seed=derived_seed(evaluation.seed, "test features"),
    )

"""DP evaluation: noisy sums over test clients, and the accuracies and distances that are computed from them.

Releases read private data and write sums of numbers; all that comes after them is post-processing.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedtext.evaluation import private_evaluation
from fedtext.evaluation.accuracy_release import AccuracyContribution, accuracy_query, release_accuracies
from fedtext.evaluation.measures.distances import distance_document
from fedtext.evaluation.measures.next_token_accuracy import ACCURACY
from fedtext.evaluation.next_token import next_token_accuracy
from fedtext.evaluation.private_evaluation import (
    FEATURES,
    EvaluationQuery,
    accuracy_release,
    evaluation_ledger,
    task_release,
)
from fedtext.evaluation.rounds import Rounds, candidates_of
from fedtext.evaluation.scoring import evenly_spaced
from fedtext.evaluation.units import units_and_holders
from fedtext.federation.mechanism import summed_stddev
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.secure_sum import release_noisy_sum
from fedtext.federation.units import Population, digest
from fedtext.models.encoder import Encoder
from fedtext.models.language_model import LanguageModel
from fedtext.params.conditions import EPS0, PRIVATE, TRAINED_MODEL
from fedtext.params.corpus import Chunking, Corpus
from fedtext.params.evaluation import Classification, Evaluation
from fedtext.params.privacy import Privacy
from fedtext.privacy.allowance import Allowance
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.privacy.report import privacy_report
from fedtext.privacy.spending import Spent
from fedtext.seeding import derived_seed

Counts = dict[str, np.ndarray]


def guess_accuracy(
    on_device: LanguageModel, public_samples: pd.DataFrame, chunking: Chunking, evaluation: Evaluation
) -> dict[str, float]:
    """Measure the public model's accuracy on public text, which centres the test clients' contributions."""
    model, tokenizer = on_device.load()
    texts = evenly_spaced(public_samples["text"].tolist(), evaluation.texts)
    found = next_token_accuracy(model.float(), tokenizer, texts, length=chunking.length, top=(1,))
    return {ACCURACY.name: found[ACCURACY.name]}


def ledger_opener(algorithm: str, conditions: int) -> Callable[..., Ledger]:
    """Create the node that opens the test clients' ledger for an algorithm's releases under so many conditions."""

    def open_evaluation_ledger(
        population: Population,
        evaluation: Evaluation,
        privacy: Privacy,
        encoder: Encoder | None = None,
        classification: Classification | None = None,
    ) -> Ledger:
        """Open an empty ledger of the test clients, after checking that the planned releases fit their budget.

        Planned are accuracies; before them with an encoder mean features, and with a classification that of classes.
        """
        queries = [] if encoder is None else [_features_query(encoder.dim, evaluation)]
        if classification is not None:
            name = task_release(algorithm, "classification")
            queries.append(accuracy_query(name, conditions, classification.clip_norm))
        queries.append(accuracy_query(accuracy_release(algorithm), conditions, evaluation.clip_norm))
        return evaluation_ledger(privacy, evaluation, population.test, queries)

    return open_evaluation_ledger


def release_test_features(
    private_test_sample: pd.DataFrame,
    private_test_embeddings: np.ndarray,
    public_embeddings: np.ndarray,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    evaluation: Evaluation,
) -> tuple[np.ndarray, Ledger]:
    """Release the noisy sum over test clients of the mean features of their held-out text."""
    phi = _feature_map(public_embeddings, evaluation)
    query = EvaluationQuery(FEATURES, phi.dim, private_evaluation.CLIP_NORM).query_of(ledger)
    return release_noisy_sum(
        query.about(digest(phi.plane.axes, np.asarray([phi.gain, phi.features, phi.seed]))),
        lambda held: private_evaluation.mean_feature_blocks(held.features, held.unit, phi),
        PrivateSamples.of_one_class(
            private_test_embeddings, *units_and_holders(private_test_sample, ledger.declaration)
        ),
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
    """Release the noisy sum over test clients of each condition's right predictions in their held-out text."""
    counted = {name: ACCURACY.counts(counts) for name, counts in conditions.items()}
    contribution = AccuracyContribution(guess[ACCURACY.name], evaluation.clip_norm, private_evaluation.TOKENS)
    name, units = (ledger.planned or ())[-1].name, units_and_holders(private_test_sample, ledger.declaration)
    return release_accuracies(counted, contribution, name, units, ledger, private_noise_key, scored=conditions)


def compare_released_accuracies(
    sums: np.ndarray,
    ledger: Ledger,
    guess: dict[str, float],
    evaluation: Evaluation,
    corpus: Corpus,
    trained_model: Path | None = None,
    **texts: pd.DataFrame,
) -> dict[str, Any]:
    """Compare accuracies as `compare_accuracies` does, from the released sums.

    The number of texts that the non-private bound trained on is not public. `texts` are the tables that conditions were
    trained on; `trained_model` is an algorithm's output in place of text.
    """
    sizes: dict[str, int | None] = {EPS0.name: 0}
    sizes |= {name: min(evaluation.texts, len(table)) for name, table in texts.items()}
    sizes |= {} if trained_model is None else {TRAINED_MODEL.name: 0}
    sizes |= {PRIVATE.name: None} if evaluation.has_private_control(corpus) else {}
    known = {"guess": guess[ACCURACY.name], "noise": summed_stddev(ledger), "clip_norm": evaluation.clip_norm}
    return private_evaluation.compare_released(
        private_evaluation.ReleasedCounts.of(sums, tuple(sizes), **known), sizes, ACCURACY
    )


def measure_released_distances(
    total: np.ndarray,
    ledger: Ledger,
    synthetic_embeddings: np.ndarray,
    public_embeddings: np.ndarray,
    evaluation: Evaluation,
    round_embeddings: dict[str, np.ndarray] | None = None,
    rounds: Rounds | None = None,
) -> dict[str, Any]:
    """Measure distances as `measure_distances` does, from the released mean features: no FID, and with noise."""
    phi = _feature_map(public_embeddings, evaluation)
    released = private_evaluation.ReleasedMean.of(phi, total, summed_stddev(ledger))
    found = distance_document(
        released.compare,
        synthetic=synthetic_embeddings,
        public=public_embeddings,
        candidates=candidates_of(rounds, round_embeddings),
    )
    return {**found, "floor": released.floor(public_embeddings)}


def report_evaluation_privacy(
    ledger: Ledger, release_history: tuple[Spent, ...], corpus: Corpus, privacy: Privacy
) -> dict[str, Any]:
    """Report the privacy cost of the held-out figures to the test clients, this run's and all on record."""
    return privacy_report(ledger, history=release_history, allowance=Allowance.of(corpus, privacy))


def _features_query(embedding_dim: int, evaluation: Evaluation) -> EvaluationQuery:
    width = private_evaluation.feature_width(
        embedding_dim, features=evaluation.random_features, axes=evaluation.main_axes
    )
    return EvaluationQuery(FEATURES, width, private_evaluation.CLIP_NORM)


def _feature_map(public_embeddings: np.ndarray, evaluation: Evaluation) -> private_evaluation.FeatureMap:
    return private_evaluation.FeatureMap.of(
        public_embeddings,
        features=evaluation.random_features,
        axes=evaluation.main_axes,
        seed=derived_seed(evaluation.seed, "test features"),
    )

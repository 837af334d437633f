"""The nodes of the privately trained classifier: thin, pure calls into fedtext.algorithms.dp_classifier."""

import numpy as np
import pandas as pd

from fedtext.algorithms import dp_classifier as algorithm
from fedtext.evaluation.classification import View, class_codes, class_scores, evaluate_with_parts
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import Population
from fedtext.models.encoder import Encoder
from fedtext.params.corpus import Corpus
from fedtext.params.dp_classifier import DpClassifier
from fedtext.params.privacy import Privacy
from fedtext.params.task import Task
from fedtext.pipelines.clients.nodes import embed_private_samples
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey

Arrays = dict[str, np.ndarray]


def open_dp_classifier_ledger(
    population: Population, classifier: Encoder, dp_classifier: DpClassifier, task: Task, privacy: Privacy
) -> Ledger:
    """Open an empty ledger, after checking that classes are declared and all steps fit the declared budget."""
    return algorithm.planned_ledger(population.training, dp_classifier, task, privacy, dim=classifier.dim)


def embed_labelled_samples(private_train: pd.DataFrame, classifier: Encoder) -> Arrays:
    """Embed the clients' samples with the classifier's encoder: `features`, `client`, `record`, `label`."""
    return embed_private_samples(private_train, classifier)


def train_classifier_privately(
    private_rows: Arrays,
    private_enrolment: Arrays,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    classifier: Encoder,
    dp_classifier: DpClassifier,
    task: Task,
) -> tuple[Arrays, Ledger]:
    """Release the classifier's weights; the ledger is charged for all steps before the first."""
    samples = PrivateSamples.protected_by(ledger, private_rows, private_enrolment, task.labels)
    return algorithm.trained_classifier(
        samples, dp_classifier, task, ledger, private_noise_key, encoder=classifier.name
    )


def classify_by_trained(
    private_test_sample: pd.DataFrame, classifier: Encoder, trained: Arrays, task: Task, corpus: Corpus
) -> Arrays:
    """Classify held-out text by the released classifier; a part of a control code is that of the given code."""
    texts = private_test_sample["text"].tolist()
    embedded = classifier.encode(texts, label="held-out texts", undirected_as_zeros=True)
    found = algorithm.given_classes(trained["weights"], embedded, len(task.labels))
    given = pd.DataFrame({"label": [task.labels[code] for code in found]})

    def judged(classes: Task, view: View) -> Arrays:
        return class_scores(view(private_test_sample), classes, class_codes(view(given)["label"], classes))

    return evaluate_with_parts(judged, task, corpus.code_columns)

"""Classifiers of texts: what learns classes from labelled texts, by the name of its kind.

Classes are codes 0, ..., C - 1. One without a text to learn from has probability 0, and is never given; where only one
class has texts, every text is of that one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from jaxtyping import Float, Int

from fedtext.params.classification import ClassifierTraining, Kind
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from fedtext.models.encoder import Encoder

Probabilities = Float[np.ndarray, "text class"]
Codes = Int[np.ndarray, " text"]
ITERATIONS = 1000  # of the solver: more than any of these problems takes


class Classifier(Protocol):
    """What has learned."""

    def probabilities(self, texts: Sequence[str]) -> Probabilities:
        """Of every text, its probability of being of each class."""


def train_classifier(
    encoder: Encoder,
    texts: Sequence[str],
    codes: Codes,
    classes: int,
    training: ClassifierTraining,
    *,
    seed: int,
    label: str,
) -> Classifier:
    """A classifier of `training.kind` that has learned from labelled texts.

    Args:
        encoder: What embeds, or is fine-tuned; TF-IDF does without.
        texts: To learn from, none of them empty.
        codes: The class of each.
        classes: How many there are, C.
        training: Which kind, and how it learns.
        seed: Of what is drawn.
        label: Names progress bars.

    Raises:
        ValueError: no text, or one of no class.
    """
    if len(texts) == 0:
        raise InputError(f"{label}: no labelled texts to learn from; check task.labels and how the texts were written")
    if codes.min() < 0 or codes.max() >= classes:
        raise InputError(f"{label}: a text has class {codes.max()} or less than 0, of {classes} classes: drop it")
    present = np.unique(codes)
    if present.size == 1:
        return Constant(int(present[0]), classes)
    return KINDS[training.kind](encoder, texts, codes, classes, training, seed=seed, label=label)


class Constant:
    """Gives every text the one class that there was."""

    def __init__(self, code: int, classes: int) -> None:
        self._row = np.eye(classes)[code]

    def probabilities(self, texts: Sequence[str]) -> Probabilities:
        """The same row for every text."""
        return np.tile(self._row, (len(texts), 1))


class Logistic:
    """Multinomial logistic regression of features of texts, or of whatever stands for texts.

    Args:
        features: Of texts, a row each; what it depends on was fitted on the training texts alone.
        classes: How many there are.
        penalty: C, the inverse weight of the L2 penalty.
    """

    def __init__(self, features: Callable[[Sequence[Any]], Any], classes: int, penalty: float) -> None:
        from sklearn.linear_model import LogisticRegression

        self._features, self._classes = features, classes
        self._regression = LogisticRegression(C=penalty, max_iter=ITERATIONS)

    def fit(self, texts: Sequence[Any], codes: Codes) -> Logistic:
        """Itself, after learning."""
        self._regression.fit(self._features(texts), codes)
        return self

    def probabilities(self, texts: Sequence[Any]) -> Probabilities:
        """Of every class; 0 for those that were not learned."""
        found = np.zeros((len(texts), self._classes))
        if len(texts):
            found[:, self._regression.classes_] = self._regression.predict_proba(self._features(texts))
        return found


def _on_tfidf(
    encoder: Encoder, texts: Sequence[str], codes: Codes, classes: int, training: ClassifierTraining, **_: Any
) -> Classifier:
    """Words and pairs of words, weighed by how rare they are in the training texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b|[^\w\s]")
    words.fit(texts)
    return Logistic(words.transform, classes, training.penalty).fit(texts, codes)


def _on_embeddings(
    encoder: Encoder,
    texts: Sequence[str],
    codes: Codes,
    classes: int,
    training: ClassifierTraining,
    *,
    label: str,
    **_: Any,
) -> Classifier:
    """Unit embeddings of a frozen encoder."""

    def embedded(given: Sequence[str]) -> np.ndarray:
        return encoder.encode(given, label=f"classifier, {label}", undirected_as_zeros=True)

    return Logistic(embedded, classes, training.penalty).fit(texts, codes)


def _fine_tuned(
    encoder: Encoder, texts: Sequence[str], codes: Codes, classes: int, *given: Any, **more: Any
) -> Classifier:
    """The encoder itself with a linear head, in `training.fine_tuned_classifier`."""
    from fedtext.training.fine_tuned_classifier import fine_tuned

    return fine_tuned(encoder, texts, codes, classes, *given, **more)


KINDS: dict[Kind, Callable[..., Classifier]] = {
    "tfidf": _on_tfidf,
    "embeddings": _on_embeddings,
    "fine_tuned": _fine_tuned,
}

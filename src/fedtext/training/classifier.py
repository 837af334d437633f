"""Classifiers of texts: what learns classes from labelled texts, by the name of its kind.

Classes are codes 0, ..., C - 1. One without a text to learn from has probability 0, and is never given; where only one
class has texts, every text is of that one.

An encoder with a linear head on its sentence embedding, all of it trained on labelled texts.

The papers fine-tune BERT-base, whose head reads the state of the first token. Here the head reads whatever the encoder
makes its sentence embedding of, before it is scaled to norm 1; of a plain BERT that is the mean of the tokens' states.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from jaxtyping import Float, Int

from fedtext.params.evaluation import ClassifierTraining, Kind
from fedtext.seeding import derived_seed
from fedtext.system.errors import InputError
from fedtext.training.encoder_steps import train_steps

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor, nn

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
    """The encoder itself with a linear head, in `training.classifier`."""
    return fine_tuned(encoder, texts, codes, classes, *given, **more)


KINDS: dict[Kind, Callable[..., Classifier]] = {
    "tfidf": _on_tfidf,
    "embeddings": _on_embeddings,
    "fine_tuned": _fine_tuned,
}


JUDGED_AT_ONCE = 64


class FineTuned:
    """A trained encoder and its head; it has its own copy of the weights."""

    def __init__(self, model: SentenceTransformer, head: nn.Linear, length: int) -> None:
        self._model, self._head, self._length = model, head, length

    def logits(self, texts: Sequence[str]) -> Tensor:
        """Of every class, before normalisation."""
        from sentence_transformers.util import batch_to_device

        model, padding = self._model, {"padding": True, "truncation": True, "max_length": self._length}
        features: dict[str, Any] = model.preprocess(list(texts), processing_kwargs={"text": padding})
        features = batch_to_device(features, model.device)
        for module in model:
            if type(module).__name__ != "Normalize":  # the head finds its own scale
                features = module(features)
        logits: Tensor = self._head(features["sentence_embedding"])
        return logits

    def probabilities(self, texts: Sequence[str]) -> Float[np.ndarray, "text class"]:
        """Of every text, its probability of being of each class."""
        import torch

        found = [np.zeros((0, self._head.out_features))]
        with torch.inference_mode():
            for first in range(0, len(texts), JUDGED_AT_ONCE):
                rows = self.logits(texts[first : first + JUDGED_AT_ONCE]).float()
                found.append(rows.softmax(dim=1).cpu().numpy().astype(np.float64))
        return np.concatenate(found)


def fine_tuned(
    encoder: Encoder,
    texts: Sequence[str],
    codes: Int[np.ndarray, " text"],
    classes: int,
    training: ClassifierTraining,
    *,
    seed: int,
    label: str,
) -> FineTuned:
    """A copy of the encoder with a new head, trained by AdamW: linear warm-up, cosine decay, gradients clipped to 1.

    A class without texts is learned as one that never occurs: its probability is small, and not 0.

    Raises:
        ValueError: the loss is not finite.
    """
    import torch
    from torch.nn.functional import cross_entropy

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed(seed, "classifier") % 2**63)  # the head, and dropout
        head = torch.nn.Linear(encoder.dim, classes).to(encoder.model.device)
        model = FineTuned(copy.deepcopy(encoder.model).float().train(), head, training.length)

        def loss(rows: Int[np.ndarray, " batch"]) -> Tensor:
            logits = model.logits([texts[row] for row in rows])
            return cross_entropy(logits.float(), torch.from_numpy(codes[rows]).to(logits.device))

        weights = [*model._model.parameters(), *head.parameters()]
        train_steps(loss, weights, len(texts), training.fine_tuning, seed=seed, label=f"classifier, {label}")
    model._model.eval()
    return model

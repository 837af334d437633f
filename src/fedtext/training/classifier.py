"""Text classifiers of each kind in `ClassifierTraining.kind`: on TF-IDF, on frozen embeddings, or a fine-tuned encoder.

Classes are codes 0, ..., C - 1. A class without a training text has probability 0 and is never predicted. Where only
one class has texts, every text gets that class.

A text's probabilities depend on that text alone, to the bit, whatever texts are classified with it: a test client sends
which of its texts got the right class, and a text on the border of two classes must not move with another client.

The fine-tuned encoder has a linear head, and all of its weights are trained. The head reads the encoder's sentence
embedding before it is scaled to norm 1, for a plain BERT the mean of the tokens' states; or, as in the papers that
fine-tune BERT-base, the state of the first token.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from jaxtyping import Float, Int

from fedtext.embedding.exact_product import exact_product
from fedtext.params.evaluation import ClassifierTraining, Kind
from fedtext.system.cores import over_cores
from fedtext.system.errors import InputError
from fedtext.training.encoder_steps import Rows, fine_tune

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor, nn

    from fedtext.models.encoder import Encoder


Probabilities = Float[np.ndarray, "text class"]
Codes = Int[np.ndarray, " text"]
ITERATIONS = 1000  # limit of the solver: more than any of these problems takes


class Classifier(Protocol):
    """A trained classifier of texts."""

    def probabilities(self, texts: Sequence[str]) -> Probabilities:
        """Compute the probability of each class for every text."""


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
    """Train a classifier of `training.kind` on labelled texts.

    Args:
        encoder: The encoder that embeds texts or is fine-tuned; TF-IDF does not use it.
        texts: Training texts, none of them empty.
        codes: Class of each text.
        classes: Number of classes, C.
        training: Kind of classifier, and how it is trained.
        seed: Seed of initialisation and shuffles.
        label: Name in progress bars.

    Raises:
        ValueError: there is no text, or one of no class.
    """
    if len(texts) == 0:
        raise InputError(
            f"{label}: no labelled texts to learn from; check task.labels and how the texts were written",
            code="no-labelled-texts",
        )
    if codes.min() < 0 or codes.max() >= classes:
        raise InputError(
            f"{label}: a text has class {codes.max()} or less than 0, of {classes} classes: drop it",
            code="class-out-of-range",
        )
    present = np.unique(codes)
    if present.size == 1:
        return Constant(int(present[0]), classes)
    return KINDS[training.kind](encoder, texts, codes, classes, training, seed=seed, label=label)


class Constant:
    """Classifier that predicts the only class that had training texts."""

    def __init__(self, code: int, classes: int) -> None:
        self._row = np.eye(classes)[code]

    def probabilities(self, texts: Sequence[str]) -> Probabilities:
        """Return the same row for every text."""
        return np.tile(self._row, (len(texts), 1))


class Logistic:
    """Multinomial logistic regression on features of texts, or of other objects.

    Args:
        features: Maps texts to rows of features; whatever it is fitted on is the training texts alone.
        classes: Number of classes.
        penalty: C, the inverse weight of the L2 penalty.
    """

    def __init__(self, features: Callable[[Sequence[Any]], Any], classes: int, penalty: float) -> None:
        from sklearn.linear_model import LogisticRegression

        self._features, self._classes = features, classes
        self._regression = LogisticRegression(C=penalty, max_iter=ITERATIONS)

    def fit(self, texts: Sequence[Any], codes: Codes) -> Logistic:
        """Fit the regression and return it."""
        self._regression.fit(self._features(texts), codes)
        return self

    def probabilities(self, texts: Sequence[Any]) -> Probabilities:
        """Compute the probability of each class for every text; 0 for a class without training texts."""
        found = np.zeros((len(texts), self._classes))
        if len(texts):
            found[:, self._regression.classes_] = self._of_rows(self._features(texts))
        return found

    def _of_rows(self, rows: Any) -> Probabilities:
        """Compute what `predict_proba` does, but for the rounding of its products, which depends on other rows."""
        from scipy.sparse import issparse
        from scipy.special import softmax

        weights = self._regression.coef_.T.astype(np.float64)
        scores = rows @ weights if issparse(rows) else exact_product(rows.astype(np.float64), weights)
        scores = scores + self._regression.intercept_
        if scores.shape[1] == 1:  # of two classes it has the scores of the second alone
            scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
        return np.asarray(softmax(scores, axis=1))


def _on_tfidf(
    encoder: Encoder, texts: Sequence[str], codes: Codes, classes: int, training: ClassifierTraining, **_: Any
) -> Classifier:
    """Train on words and word pairs, weighted by their inverse document frequency in the training texts."""
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
    """Train on unit embeddings of a frozen encoder."""

    def embedded(given: Sequence[str]) -> np.ndarray:
        return encoder.encode(given, label=f"classifier, {label}", undirected_as_zeros=True)

    return Logistic(embedded, classes, training.penalty).fit(texts, codes)


def _fine_tuned(
    encoder: Encoder, texts: Sequence[str], codes: Codes, classes: int, *given: Any, **more: Any
) -> Classifier:
    """Fine-tune the encoder itself with a linear head."""
    return fine_tuned(encoder, texts, codes, classes, *given, **more)


KINDS: dict[Kind, Callable[..., Classifier]] = {
    "tfidf": _on_tfidf,
    "embeddings": _on_embeddings,
    "fine_tuned": _fine_tuned,
}


class FineTuned:
    """A fine-tuned encoder and its head, which reads the first token or the sentence; its weights are its own."""

    def __init__(self, model: SentenceTransformer, head: nn.Linear, length: int, *, first_token: bool) -> None:
        import torch

        self.modules = torch.nn.ModuleList([model, head])
        self._model, self._head, self._length, self._first_token = model, head, length, first_token

    def logits(self, texts: Sequence[str]) -> Tensor:
        """Compute the logit of each class for every text."""
        return self._read(self._tokens(texts))

    def _tokens(self, texts: Sequence[str]) -> dict[str, Any]:
        padding = {"padding": True, "truncation": True, "max_length": self._length}
        features: dict[str, Any] = self._model.preprocess(list(texts), processing_kwargs={"text": padding})
        return features

    def _read(self, features: dict[str, Any]) -> Tensor:
        from sentence_transformers.util import batch_to_device

        model = self._model
        features = batch_to_device(features, model.device)
        for module in [model[0]] if self._first_token else model:
            if type(module).__name__ != "Normalize":  # the head learns its own scale
                features = module(features)
        logits: Tensor = self._head(_first_states(features) if self._first_token else features["sentence_embedding"])
        return logits

    def probabilities(self, texts: Sequence[str]) -> Float[np.ndarray, "text class"]:
        """Compute the probability of each class for every text, each by itself: a batch is as wide as its longest."""
        alone = (self._tokens([text]) for text in texts)  # in this thread: tokenizers are not made for several
        rows = over_cores(self._odds, alone, len(texts), self._model.device)
        return np.concatenate([np.zeros((0, self._head.out_features)), *rows])

    def _odds(self, features: dict[str, Any]) -> Float[np.ndarray, "text class"]:
        import torch

        with torch.inference_mode():
            return np.asarray(self._read(features).float().softmax(dim=1).cpu().numpy(), dtype=np.float64)


def _first_states(features: Mapping[str, Any]) -> Tensor:
    """Return the state of each text's first token.

    Raises:
        InputError: the encoder has no states of tokens.
    """
    if "token_embeddings" not in features:
        raise InputError(
            "classification.training.head_reads is first_token, and models.classifier has no states of tokens: name a "
            "transformer, or let the head read the sentence",
            code="encoder-without-token-states",
            parameter="classification.training.head_reads",
            value="first_token",
        )
    states: Tensor = features["token_embeddings"][:, 0]
    return states


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
    """Fine-tune a copy of the encoder with a new head: AdamW, linear warm-up, cosine decay, clipping to norm 1.

    A class without texts is trained as one that never occurs: its probability is small, and not 0.

    Raises:
        ValueError: the loss is not finite.
    """
    import torch
    from torch.nn.functional import cross_entropy

    def build() -> FineTuned:
        first_token = training.head_reads == "first_token"
        width = int(encoder.model[0].get_embedding_dimension()) if first_token else encoder.dim
        head = torch.nn.Linear(width, classes).to(encoder.model.device)
        return FineTuned(copy.deepcopy(encoder.model).float(), head, training.length, first_token=first_token)

    def loss_of(model: FineTuned, rows: Rows) -> Tensor:
        logits = model.logits([texts[row] for row in rows])
        return cross_entropy(logits.float(), torch.from_numpy(codes[rows]).to(logits.device))

    return fine_tune(build, loss_of, len(texts), training.fine_tuning, seed=seed, name="classifier", label=label)

"""FuseGen (Zou et al., EMNLP 2024): generators learn from each other's texts, by classifiers and without private text.

Every generator k has a classifier m_k, trained on the texts that it wrote. For a text with class y,

    variability  = standard deviation over k of m_k(y | text)
    influence    = mean over k of g_k(text) . (mean over all texts of g_k)

where g_k is the gradient of m_k's loss: a step on an influential text lowers the loss of all texts most. Of a class's
texts, those of least and of greatest variability are candidates, and the most influential of them are shown to all
generators in the next round. Influence is ours, to first order: exact and cheap for a logistic regression, whose g is
the outer product of (probabilities - one-hot class) and features.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fedtext.params.labelled import Fusegen
from fedtext.system.errors import InputError
from fedtext.training.classifier import Logistic

Features = Float[np.ndarray, "text dim"]
Codes = Int[np.ndarray, " text"]
Probabilities = Float[np.ndarray, "generator text class"]


def validate_generator_count(generators: Sequence[str]) -> None:
    """Raise ValueError for fewer than two generators: disagreement needs two."""
    if len(generators) < 2:
        raise InputError(
            f"fusegen lets generators learn from each other, and models.plms names {len(generators)}: name two or more "
            "(docs/generators.md), or run zero_shot",
            code="too-few-generators",
            parameter="models.plms",
            value=len(generators),
        )


def classifier_probabilities(
    writers: Sequence[str], features: Features, codes: Codes, classes: int, *, penalty: float
) -> Probabilities:
    """Compute the class probabilities of all texts by the classifier of each generator that wrote any text.

    A generator whose texts are all of one class has no classifier, and is left out.

    Raises:
        ValueError: fewer than two generators have a classifier.
    """
    wrote, probs = np.asarray(writers), []
    for name in sorted(set(writers)):
        own = np.flatnonzero(wrote == name)
        if len(np.unique(codes[own])) > 1:
            learner = Logistic(lambda rows: features[np.asarray(rows)], classes, penalty)
            probs.append(learner.fit(own.tolist(), codes[own]).probabilities(range(len(features))))
    if len(probs) < 2:
        raise InputError(
            f"fusegen: {len(probs)} of {len(set(writers))} generators wrote usable texts of two classes, and two are "
            "needed: name other generators (models.plms), or run zero_shot",
            code="too-few-usable-generators",
        )
    return np.stack(probs)


def variability(probs: Probabilities, codes: Codes) -> Float[np.ndarray, " text"]:
    """Compute the standard deviation over classifiers of the probability of each text's own class, from 0 to 1/2."""
    found: np.ndarray = probs[:, np.arange(len(codes)), codes].std(axis=0)
    return found


def influence(probs: Probabilities, features: Features, codes: Codes) -> Float[np.ndarray, " text"]:
    """Compute how much a step on each text lowers the loss of all texts, to first order, averaged over classifiers."""
    errors = probs - np.eye(probs.shape[2])[codes]
    mean_gradients = np.einsum("ktc,td->kcd", errors, features) / len(features)
    found: np.ndarray = np.einsum("ktc,kcd,td->kt", errors, mean_gradients, features, optimize=True).mean(axis=0)
    return found


def chosen_examples(
    texts: pd.DataFrame, features: Features, codes: Codes, classes: int, fusegen: Fusegen
) -> pd.DataFrame:
    """Select the texts that the next round shows, for every class that has any.

    Args:
        texts: All texts so far: `text`, `label`, `generator`.
        features: Their embeddings.
        codes: Their classes.
        classes: Number of classes.
        fusegen: Numbers of candidates and of shown texts.

    Returns:
        Columns `text`, `label`, `generator`, `variability`, `influence`; the most influential of a class first.
    """
    probs = classifier_probabilities(texts["generator"].tolist(), features, codes, classes, penalty=fusegen.penalty)
    differ, pull = variability(probs, codes), influence(probs, features, codes)
    rows = [
        row
        for code in range(classes)
        for row in _shown(np.flatnonzero(codes == code), differ, pull, fusegen.candidates, fusegen.shown)
    ]
    judged = texts.assign(variability=differ, influence=pull)
    return judged.iloc[rows][["text", "label", "generator", "variability", "influence"]].reset_index(drop=True)


def _shown(
    own: Int[np.ndarray, " text"],
    differ: Float[np.ndarray, " text"],
    pull: Float[np.ndarray, " text"],
    candidates: int,
    shown: int,
) -> Int[np.ndarray, " shown"]:
    """Return the most influential of a class's rows of least and of greatest variability, the first of equals."""
    order = own[np.argsort(differ[own], kind="stable")]
    if len(order) > candidates:
        order = np.concatenate([order[: candidates // 2], order[-(candidates // 2) :]])
    order = np.sort(order)
    return order[np.argsort(-pull[order], kind="stable")[:shown]]

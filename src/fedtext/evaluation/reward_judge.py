"""A judge that learned from validation pairs, by features that no scorer of this project sees.

Scorers are linear in a sentence embedding. A judge by the same embedding would share their blind spots, so this one
reads words and pairs of words (`fedtext.embedding.words`) and the length. It is a logistic regression without an
intercept on differences: Bradley and Terry's model with a linear reward. What it is worth is measured on test pairs,
which nobody trained on, and stands beside each of its verdicts. On people's choices such a judge is weak (about 60% on
hh-rlhf); a win rate by it can say no more than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from fedtext.embedding.words import bucket_features, word_grams
from fedtext.evaluation.pairwise import rightly_ordered
from fedtext.evaluation.ratios import Ratio, clustered_ratio
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

BUCKETS = 1024
SEED = 0  # of the hash: public, and no part of a run
INVERSE_PENALTY = 1.0


@dataclass(frozen=True)
class RewardJudge:
    """A linear reward of an answer's words and length, and how often it ordered test `pairs` rightly."""

    weights: Float[np.ndarray, " feature"]
    tested: Ratio
    pairs: int

    @property
    def told(self) -> str:
        """What it is, and its own accuracy."""
        low, high = (100 * end for end in (self.tested.low, self.tested.high))
        right = f"{100 * self.tested.estimate:.0f}% ({low:.0f} to {high:.0f})"
        return f"a reward model by words, right on {right} of {self.pairs} test pairs"

    def first_wins(
        self, prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str]
    ) -> Float[np.ndarray, " pair"]:
        """Bradley and Terry's probability; prompts are not read."""
        from scipy.special import expit

        return np.asarray(expit((_features(firsts) - _features(seconds)) @ self.weights))


def learned_judge(validation: pd.DataFrame, test: pd.DataFrame) -> RewardJudge:
    """Learned from the pairs `validation` and measured on `test`; both have `chosen` and `rejected`.

    The interval of what it is worth is over the clients of `test` (`client_id`), whose pairs are alike.

    Raises:
        ValueError: either has no pair.
    """
    from sklearn.linear_model import LogisticRegression

    for name, pairs in (("validation", validation), ("test", test)):
        if pairs.empty:
            raise InputError(f"no {name} pairs: a reward model needs both to learn from and to be tested on")
    gaps = _gaps(validation)
    model = LogisticRegression(C=INVERSE_PENALTY, fit_intercept=False, max_iter=1000)
    model.fit(np.concatenate([gaps, -gaps]), np.repeat([1, 0], len(gaps)))
    weights = np.asarray(model.coef_[0], dtype=np.float64)
    right = rightly_ordered(_gaps(test) @ weights)
    clients = np.unique(test["client_id"], return_inverse=True)[1]
    return RewardJudge(weights, clustered_ratio(right, np.ones(len(right)), clients), len(right))


def _gaps(pairs: pd.DataFrame) -> Float[np.ndarray, "pair feature"]:
    return np.asarray(_features(pairs["chosen"].tolist()) - _features(pairs["rejected"].tolist()))


def _features(texts: Sequence[str]) -> Float[np.ndarray, "text feature"]:
    """Words and pairs of words in buckets, and the logarithm of the length in characters."""
    words = bucket_features(word_grams(texts, buckets=BUCKETS, seed=SEED), BUCKETS)
    return np.column_stack([words, np.log1p([len(text) for text in texts])])

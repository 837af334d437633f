"""Judges of two answers to one query: a language model, or a model that learned from pairs.

A language model as a judge: it is shown a query and two answers and says which one is better.

As in DPPrefSyn's appendix C.3, which follows Rafailov et al. (NeurIPS 2023): one sentence of comparison first, then
the letter alone. The words are ours. A model's preference for the first or the second place cancels where both orders
are asked (`fedtext.evaluation.win_rate`); an answer without a verdict is a tie, and how many there were is told.

Queries and answers leave this machine where the judge is a server. Give it public or released prompts only; a node
that reads private data has no network and refuses it.

A judge that learned from validation pairs, by features that no scorer of this project sees.

Scorers are linear in a sentence embedding. A judge by the same embedding would share their blind spots, so this one
reads words and pairs of words (`fedtext.embedding.words`) and the length. It is a logistic regression without an
intercept on differences: Bradley and Terry's model with a linear reward. What it is worth is measured on test pairs,
which nobody trained on, and stands beside each of its verdicts. On people's choices such a judge is weak (about 60% on
hh-rlhf); a win rate by it can say no more than that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from fedtext.embedding.words import bucket_features, word_grams
from fedtext.evaluation.pairwise import rightly_ordered
from fedtext.evaluation.ratios import Ratio, clustered_ratio
from fedtext.models.generator import Framing, Generator
from fedtext.params.generation import Sampler
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


MORE = "more helpful"
# The last line that is a letter alone, or one after a colon, in quotation marks or not: "Better: B", 'A', **B**. Not
# whatever ends in a letter: "Response A is better than response B" names the worse one last.
VERDICT = re.compile(r"^(?:.*:)?[\s*\"'“(]*([AB])[\s.*\"'”)]*$", re.MULTILINE)
UNTOLD = np.nan


@dataclass
class ModelJudge:
    """Asks a generator, as it was trained: in messages where `chat`, else as the beginning of a text.

    Attributes:
        model: Who judges.
        sampler: How its verdicts are drawn; as greedy as it goes is best.
        better: What makes an answer the better one, as "more helpful and harmless".
        chat: Whether the model answers messages.
        seed: Of the draws.
        untold: Share of the last comparisons that had no verdict.
    """

    model: Generator
    sampler: Sampler
    better: str = MORE
    chat: bool = True
    seed: int = 0
    untold: float = field(default=0.0, init=False)

    @property
    def told(self) -> str:
        """Which model, and how often it did not say."""
        return f"{self.model.identity}, {100 * self.untold:.0f}% of its answers without a verdict"

    def first_wins(
        self, prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str]
    ) -> Float[np.ndarray, " pair"]:
        """1 where the model says A, 0 where it says B, 1/2 where it says neither."""
        asked = [
            request(prompt, first, second, self.better)
            for prompt, first, second in zip(prompts, firsts, seconds, strict=True)
        ]
        answers = self.model.write(
            asked, framing=Framing(chat=self.chat), responses=1, sampler=self.sampler, seed=self.seed, label="judge"
        )
        said = np.array([verdict(answer) for (answer,) in answers])
        self.untold = float(np.isnan(said).mean()) if len(said) else 0.0
        return np.where(np.isnan(said), 0.5, said)


def request(query: str, first: str, second: str, better: str = MORE) -> str:
    """The question to the judge, with the answers as A and B."""
    return (
        f"Somebody asked a chatbot the query below. Which of the two responses is {better}?\n\n"
        f"Query: {query.strip()}\n\nResponse A: {first.strip()}\n\nResponse B: {second.strip()}\n\n"
        f"First compare the two in one sentence. Then write, on a line of its own, only the letter of the response "
        f"that is {better}: A or B."
    )


def verdict(answer: str) -> float:
    """1 for A, 0 for B, NaN for neither: the last line that ends in one of the letters alone."""
    found = VERDICT.findall(answer)
    return float(found[-1] == "A") if found else UNTOLD


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

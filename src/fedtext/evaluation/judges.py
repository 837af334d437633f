"""Judges that compare two answers to one query: a language model, or a reward model trained on pairs.

`ModelJudge` shows a language model a query and two answers, and asks which is better. The format is that of DPPrefSyn's
appendix C.3, after Rafailov et al. (NeurIPS 2023): one sentence of comparison first, then the letter alone. The wording
is ours. Asking in both orders cancels a preference for the first or the second place (`fedtext.evaluation.win_rate`).
An answer without a verdict is a tie, and the share of these is reported.

Queries and answers leave this machine if the judge is a server. Use it with public or released prompts only; a node
that reads private data has no network access, and the request fails there.

`RewardJudge` is trained on validation pairs, with features that no scorer of this project uses. Scorers are linear in a
sentence embedding, and a judge with the same embedding would share their errors. This one uses words and pairs of words
(`fedtext.embedding.words`) and the length. It is a logistic regression without an intercept on feature differences: a
Bradley-Terry model with a linear reward. Its accuracy is measured on separate test pairs and is reported with each
verdict. On human choices it is weak (about 60% on hh-rlhf), and its win rates are no more reliable than that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from fedtext.embedding.words import bucket_features, word_grams
from fedtext.evaluation.pairwise import correctly_ordered
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
    """A judge that prompts a generator, with messages if `chat`, else as the beginning of a text.

    Attributes:
        model: The generator that judges.
        sampler: How its verdicts are sampled; nearly greedy is best.
        better: The criterion, such as "more helpful and harmless".
        summaries: Whether it is asked about summaries of posts, else about responses to queries.
        chat: Whether the model answers messages.
        seed: Seed of the sampling.
        untold: Share of the last comparisons that had no verdict.
    """

    model: Generator
    sampler: Sampler
    better: str = MORE
    summaries: bool = False
    chat: bool = True
    seed: int = 0
    undecided_share: float = field(default=0.0, init=False)

    @property
    def description(self) -> str:
        """The model's name, and how often it gave no verdict."""
        return f"{self.model.identity}, {100 * self.undecided_share:.0f}% of its answers without a verdict"

    def first_wins(
        self, prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str]
    ) -> Float[np.ndarray, " pair"]:
        """Return 1 where the model answers A, 0 where it answers B, 1/2 where it answers neither."""
        asked = [
            request(prompt, first, second, self.better, summaries=self.summaries)
            for prompt, first, second in zip(prompts, firsts, seconds, strict=True)
        ]
        answers = self.model.write(
            asked, framing=Framing(chat=self.chat), responses=1, sampler=self.sampler, seed=self.seed, label="judge"
        )
        said = np.array([verdict(answer) for (answer,) in answers])
        self.undecided_share = float(np.isnan(said).mean()) if len(said) else 0.0
        return np.where(np.isnan(said), 0.5, said)


def request(query: str, first: str, second: str, better: str = MORE, *, summaries: bool = False) -> str:
    """Return the prompt to the judge, with the two answers as A and B."""
    asked, shown, answer = (
        ("The post below was summarised twice.", "Post", "summary")
        if summaries
        else ("Somebody asked a chatbot the query below.", "Query", "response")
    )
    name = answer.capitalize()
    return (
        f"{asked} Which of the two {'summaries' if summaries else 'responses'} is {better}?\n\n"
        f"{shown}: {query.strip()}\n\n{name} A: {first.strip()}\n\n{name} B: {second.strip()}\n\n"
        f"First compare the two in one sentence. Then write, on a line of its own, only the letter of the {answer} "
        f"that is {better}: A or B."
    )


def verdict(answer: str) -> float:
    """Return 1 for A, 0 for B, NaN for neither, read from the last line that ends in one of the letters alone."""
    found = VERDICT.findall(answer)
    return float(found[-1] == "A") if found else UNTOLD


BUCKETS = 1024
SEED = 0  # seed of the hash: public, the same in every run
INVERSE_PENALTY = 1.0


@dataclass(frozen=True)
class RewardJudge:
    """A linear reward of an answer's words and length, with the share of test `pairs` that it ordered correctly."""

    weights: Float[np.ndarray, " feature"]
    tested: Ratio
    pairs: int

    @property
    def description(self) -> str:
        """A description with the judge's own test accuracy."""
        low, high = (100 * end for end in (self.tested.low, self.tested.high))
        right = f"{100 * self.tested.estimate:.0f}% ({low:.0f} to {high:.0f})"
        return f"a reward model by words, right on {right} of {self.pairs} test pairs"

    def first_wins(
        self, prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str]
    ) -> Float[np.ndarray, " pair"]:
        """Return the Bradley-Terry win probabilities; prompts are not used."""
        from scipy.special import expit

        return np.asarray(expit((_features(firsts) - _features(seconds)) @ self.weights))


def learned_judge(validation: pd.DataFrame, test: pd.DataFrame) -> RewardJudge:
    """Train a reward judge on the pairs `validation` and measure it on `test`; both have `chosen` and `rejected`.

    The interval of its accuracy is clustered by the clients of `test` (`client_id`), whose pairs are correlated.

    Raises:
        ValueError: either has no pair.
    """
    from sklearn.linear_model import LogisticRegression

    for name, pairs in (("validation", validation), ("test", test)):
        if pairs.empty:
            raise InputError(
                f"no {name} pairs: a reward model needs both to learn from and to be tested on",
                code="no-pairs-to-judge-by",
                value=name,
            )
    gaps = _gaps(validation)
    model = LogisticRegression(C=INVERSE_PENALTY, fit_intercept=False, max_iter=1000)
    model.fit(np.concatenate([gaps, -gaps]), np.repeat([1, 0], len(gaps)))
    weights = np.asarray(model.coef_[0], dtype=np.float64)
    right = correctly_ordered(_gaps(test) @ weights)
    clients = np.unique(test["client_id"], return_inverse=True)[1]
    return RewardJudge(weights, clustered_ratio(right, np.ones(len(right)), clients), len(right))


def _gaps(pairs: pd.DataFrame) -> Float[np.ndarray, "pair feature"]:
    return np.asarray(_features(pairs["chosen"].tolist()) - _features(pairs["rejected"].tolist()))


def _features(texts: Sequence[str]) -> Float[np.ndarray, "text feature"]:
    """Return hashed counts of words and pairs of words, and the logarithm of the length in characters."""
    words = bucket_features(word_grams(texts, buckets=BUCKETS, seed=SEED), BUCKETS)
    return np.column_stack([words, np.log1p([len(text) for text in texts])])

"""Simulated annotators with known preferences: preference pairs whose win rates can be computed exactly.

Published pairs name no annotators, so disagreement between groups cannot be seen in them. Here two groups disagree by
construction. Every question is "Explain what NAME does.", with a NAME of the standard library for private pairs and of
third-party packages for public ones; an annotator sees two answers of a generator. Of three annotators two are
*practical*, who prefer answers of a usual length in the terms of programming, and one is *plain*, who prefers one short
sentence. Both prefer the question's words, and dislike repeated words.

The utility of an answer to a group is a rule on its words. A model can be trained to maximise it, so empty answers must
never be preferred: an answer without words has the least utility for both groups, and one that repeats itself has
little.

The groups' preferences must be visible in an embedding, or no scorer of embeddings could learn them from pairs. Terms
of programming are, and lengths hardly (docs/decisions/0031-tastes-that-an-embedding-shows.md).

A choice between two answers follows Bradley and Terry (Biometrika 1952): P(a over b) = sigmoid(s (worth(a) -
worth(b))). The sharpness s is set on public answers so that the Bayes-optimal predictor has a given accuracy
(`sharpness_for`).

An annotator is a function of its own number: no other one changes its preferences, its questions or its choices. A
question goes to one annotator alone, so that a split of the annotators is a split of the questions too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

import numpy as np
import pandas as pd
from jaxtyping import Float

from fedtext.corpora.preferences import PAIR_COLUMNS
from fedtext.corpora.public import explanation_of
from fedtext.seeding import stream
from fedtext.system.errors import InputError

WORD = re.compile(r"[^\W_]+")  # a name's parts are words: add_argument has two
PAIRS = 8  # an annotator ranks 1 to this many pairs
BRIEF, USUAL = 12, 24  # words: lengths count in doublings of what a group likes
ECHO, VARIETY = 1.0, 2.0  # utilities in doublings of length: all of the question's words, no repeated word
SINGULAR = (  # terms of programming
    "argument attribute boolean call class code constructor dictionary exception file function import instance integer "
    "iterator list method module object parameter return string tuple type value variable"
)
TERMS = frozenset(f"{SINGULAR} {SINGULAR.replace(' ', 's ')}s called classes dictionaries python returned".split())
ENOUGH = 6  # terms; more add nothing, or a list of terms would be preferred most
SHARPEST = 2.0**20


class PreferenceProfile(StrEnum):
    """What an annotator prefers."""

    PRACTICAL = "practical"
    PLAIN = "plain"


SHARES: Mapping[PreferenceProfile, float] = {PreferenceProfile.PRACTICAL: 2 / 3, PreferenceProfile.PLAIN: 1 / 3}


@dataclass(frozen=True)
class Annotator:
    """One annotator: its name in the table, its preferences, and the range of its questions in the list."""

    client_id: str
    taste: PreferenceProfile
    questions: range


def annotators(number: int, seed: int) -> list[Annotator]:
    """Return `number` annotators; together they need as many questions as the end of the last one's range.

    Raises:
        ValueError: There are fewer than two.
    """
    if number < 2:
        raise InputError(
            f"{number} annotators: preferences of one person protect nobody, so ask for at least 2",
            code="too-few-annotators",
            parameter="annotators",
            value=number,
        )
    drawn = [stream(seed, "annotator", one) for one in range(number)]
    tastes = [
        PreferenceProfile.PRACTICAL if draw.random() < SHARES[PreferenceProfile.PRACTICAL] else PreferenceProfile.PLAIN
        for draw in drawn
    ]
    ends = list(accumulate(int(draw.integers(1, PAIRS + 1)) for draw in drawn))
    places = [range(first, end) for first, end in zip([0, *ends], ends, strict=False)]
    return [
        Annotator(f"annotator {one:04d}", taste, own)
        for one, (taste, own) in enumerate(zip(tastes, places, strict=True))
    ]


def questions(names: Sequence[str], count: int, seed: int) -> list[str]:
    """Return `count` different questions about names drawn at random.

    Raises:
        ValueError: There are fewer names.
    """
    distinct = sorted(set(names))
    if len(distinct) < count:
        raise InputError(
            f"{count} questions of {len(distinct)} names: give more names, or have fewer annotators",
            code="too-few-names",
            value=count,
        )
    drawn = stream(seed, "questions").choice(len(distinct), count, replace=False)
    return [explanation_of(distinct[one]) for one in drawn]


def utility(question: str, answer: str, taste: PreferenceProfile) -> float:
    """Return the utility of an answer to a preference profile, in doublings of its length.

    With n words, v the share of them that differ, e the share of the question's words that are among them, and t
    different terms of programming, 6 at most: 2 v + e + log2(1 + t) - |log2((1 + n) / 25)| if practical,
    2 v + e - |log2((1 + n) / 13)| if plain.
    """
    said = [word.casefold() for word in WORD.findall(answer)]
    words, asked = set(said), {word.casefold() for word in WORD.findall(question)}
    varied = VARIETY * len(words) / max(len(said), 1)
    echoed = ECHO * len(asked & words) / max(len(asked), 1)
    terms, liked = (min(len(TERMS & words), ENOUGH), USUAL) if taste is PreferenceProfile.PRACTICAL else (0, BRIEF)
    return varied + echoed + float(np.log2(1 + terms) - abs(np.log2((1 + len(said)) / (1 + liked))))


def choice_probability(
    prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str], taste: PreferenceProfile, sharpness: float
) -> Float[np.ndarray, " pair"]:
    """Return the probability that an annotator with this profile chooses the first of two answers to each prompt."""
    return _sigmoid(sharpness * _gaps(prompts, firsts, seconds, taste))


def mean_choice_probability(
    prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str], sharpness: float
) -> Float[np.ndarray, " pair"]:
    """Return the probability that a random annotator chooses the first answer: both groups, by their shares."""
    each = [share * choice_probability(prompts, firsts, seconds, taste, sharpness) for taste, share in SHARES.items()]
    return np.asarray(sum(each))


def sharpness_for(prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str], accuracy: float) -> float:
    """Return the sharpness at which the better answer is chosen with probability `accuracy`.

    The probability is a mean over profiles and pairs. It is the Bayes accuracy of a predictor that knows the rule and
    the annotator's profile. The pairs are public.

    Raises:
        ValueError: No sharpness gives it: it is not above a half, or too many answers have the same utility.
    """
    gaps = np.array([np.abs(_gaps(prompts, firsts, seconds, taste)) for taste in SHARES])
    weights = np.array(list(SHARES.values()))

    def reached(sharpness: float) -> float:
        return float(weights @ _sigmoid(sharpness * gaps).mean(axis=1))

    if gaps.size == 0 or not 0.5 < accuracy < reached(SHARPEST):
        raise InputError(
            f"annotators cannot be predicted with accuracy {accuracy}: choose one above 0.5 and below the share of "
            "answers that differ in worth, such as 0.775",
            code="accuracy-out-of-reach",
            parameter="accuracy",
            value=accuracy,
        )
    from scipy.optimize import brentq

    return float(brentq(lambda sharpness: reached(sharpness) - accuracy, 0.0, SHARPEST, xtol=1e-9))


def preferences(
    people: Sequence[Annotator],
    asked: Sequence[str],
    answers: Sequence[tuple[str, str]],
    *,
    sharpness: float,
    seed: int,
) -> pd.DataFrame:
    """Return the pairs of all annotators in `PAIR_COLUMNS`: each question with its two answers, the chosen one first.

    Raises:
        ValueError: There are fewer questions than the annotators need, or not two answers to each.
    """
    needed = max((one.questions.stop for one in people), default=0)
    if not needed <= len(asked) == len(answers):
        raise InputError(
            f"{len(asked)} questions and {len(answers)} pairs of answers for annotators who need {needed}: give each "
            "question its pair",
            code="too-few-answers",
            value=len(answers),
        )
    rows = []
    for one in people:
        drawn = stream(seed, "choices", one.client_id).random(len(one.questions))
        for place, draw in zip(one.questions, drawn, strict=True):
            first, second = answers[place]
            likely = choice_probability([asked[place]], [first], [second], one.taste, sharpness)[0]
            chosen, rejected = (first, second) if draw < likely else (second, first)
            rows.append((asked[place], chosen, rejected, one.client_id))
    return pd.DataFrame(rows, columns=list(PAIR_COLUMNS), dtype=object)


def _gaps(
    prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str], taste: PreferenceProfile
) -> Float[np.ndarray, " pair"]:
    return np.array(
        [
            utility(prompt, first, taste) - utility(prompt, second, taste)
            for prompt, first, second in zip(prompts, firsts, seconds, strict=True)
        ]
    )


def _sigmoid(values: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    from scipy.special import expit

    return np.asarray(expit(values))

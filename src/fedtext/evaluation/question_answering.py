"""Exact match and F1 of answers to questions, as SQuAD scores them (Rajpurkar et al., EMNLP 2016, section 6.1).

Answers are compared after normalisation: small letters, no punctuation, none of the words a, an and the, one space
between words. A question has several reference answers, of which the best counts.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from fedtext.system.errors import InputError

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(answer: str) -> str:
    """What of an answer is compared: `The  U.S.` is `us`."""
    return " ".join(ARTICLES.sub(" ", answer.lower().translate(PUNCTUATION)).split())


def exact_match(answer: str, reference: str) -> float:
    """1 where both are the same after normalisation, else 0."""
    return float(normalised(answer) == normalised(reference))


def f1(answer: str, reference: str) -> float:
    """Harmonic mean of precision and recall of the words, each as often as it stands in both.

    An answer without a word, as "there is no answer" is given, is right if the reference has none either.
    """
    given, wanted = normalised(answer).split(), normalised(reference).split()
    if not given or not wanted:
        return float(given == wanted)
    shared = sum((Counter(given) & Counter(wanted)).values())
    return 2 * shared / (len(given) + len(wanted))


def scored_answers(answers: Mapping[str, str], references: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Means over questions: `exact_match` and `f1`, as shares, each of the best reference.

    Args:
        answers: By question. A question without an answer scores 0.
        references: Right answers by question, at least one each.

    Raises:
        ValueError: no question, one without a reference, or an answer to what is no question.
    """
    if not references:
        raise InputError("no questions: an exact match needs at least one")
    if bare := [question for question, right in references.items() if not right]:
        raise InputError(f"question {bare[0]!r} has no reference answer: give one, or leave the question out")
    if strange := sorted(answers.keys() - references.keys()):
        raise InputError(f"answer to {strange[0]!r}, which is none of the {len(references)} questions: check the ids")
    return {
        "exact_match": _mean_of_best(exact_match, answers, references),
        "f1": _mean_of_best(f1, answers, references),
    }


def _mean_of_best(
    score: Callable[[str, str], float], answers: Mapping[str, str], references: Mapping[str, Sequence[str]]
) -> float:
    best = [
        max(score(answers[question], right) for right in references[question]) if question in answers else 0.0
        for question in references
    ]
    return sum(best) / len(best)

"""Exact match and F1 of answers to questions, as SQuAD scores them (Rajpurkar et al., EMNLP 2016, section 6.1).

Answers are compared after normalisation: small letters, no punctuation, none of the words a, an and the, one space
between words.
"""

from __future__ import annotations

import re
import string
from collections import Counter

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

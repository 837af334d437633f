"""Share of distinct n-grams of words in a set of texts: lower where a generator says little in many ways.

Li et al., "A Diversity-Promoting Objective Function for Neural Conversation Models", NAACL 2016 (distinct-n). The share
falls as a set grows, so it is taken of the set's first `AMONG` n-grams. A set that has fewer looks more varied than it
is; compare it with sets of its own size alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice

from fedtext.evaluation.measures.measure import SHARE, Direction, OfTexts

AMONG = 10_000


def distinct_share(texts: Sequence[str], n: int, among: int = AMONG) -> float:
    """Distinct n-grams over n-grams among the first `among` of the texts; none spans two texts, letter case is ignored.

    Returns:
        A share in [0, 1]; 0 where no text has `n` words.
    """
    words = (text.casefold().split() for text in texts)
    every = (tuple(one[start : start + n]) for one in words for start in range(len(one) - n + 1))
    ngrams = list(islice(every, among))
    return len(set(ngrams)) / len(ngrams) if ngrams else 0.0


DISTINCT_2 = OfTexts(
    name="distinct_2",
    title="share of distinct pairs of words",
    column="distinct 2-grams",
    direction=Direction.HIGHER,
    unit=SHARE,
    decimals=1,
    value=partial(distinct_share, n=2),
)

"""Properties of a set of texts by itself: repetition, diversity and legibility.

- Share of a set's texts that say again what an earlier text said: a generator that collapses repeats itself.
- Share of a set's texts that no person would have written (`generation.cleaning`).

Share of distinct n-grams of words in a set of texts: lower where a generator says little in many ways.

Li et al., "A Diversity-Promoting Objective Function for Neural Conversation Models", NAACL 2016 (distinct-n). The share
falls as a set grows, so it is taken of the set's first `AMONG` n-grams. A set that has fewer looks more varied than it
is; compare it with sets of its own size alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice

from fedtext.evaluation.measures.measure import SHARE, Direction, OfTexts
from fedtext.generation.cleaning import read_like_text
from fedtext.system.errors import InputError

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


def repeated_share(texts: Sequence[str]) -> float:
    """Texts less distinct texts, over texts; letter case and spacing make no difference.

    Raises:
        ValueError: there is no text.
    """
    if not texts:
        raise InputError("no texts: a share of repeated texts needs at least one")
    distinct = {" ".join(text.casefold().split()) for text in texts}
    return 1 - len(distinct) / len(texts)


REPEATED_TEXTS = OfTexts(
    name="repeated_texts",
    title="share of repeated texts",
    column="repeated texts",
    direction=Direction.LOWER,
    unit=SHARE,
    decimals=1,
    value=repeated_share,
)


def illegible_share(texts: Sequence[str]) -> float:
    """Texts that do not read like text, over texts.

    Raises:
        ValueError: there is no text.
    """
    if not texts:
        raise InputError("no texts: a share of illegible texts needs at least one")
    return read_like_text(texts).count(False) / len(texts)


ILLEGIBLE_TEXTS = OfTexts(
    name="illegible_texts",
    title="share of texts that do not read like text",
    column="illegible texts",
    direction=Direction.LOWER,
    unit=SHARE,
    decimals=1,
    value=illegible_share,
)

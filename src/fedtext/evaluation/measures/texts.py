"""Properties of a set of texts by itself: repetition, legibility and diversity.

- Repetition: share of a set's texts that repeat an earlier text. A generator that collapses repeats itself.
- Legibility: share of a set's texts that fail the quality filter of `generation.cleaning`.
- Diversity: share of distinct word n-grams (distinct-n: Li et al., "A Diversity-Promoting Objective Function for Neural
  Conversation Models", NAACL 2016).

Distinct-n falls as a set grows, so it is computed on the set's first `AMONG` n-grams. A smaller set looks more diverse
than it is; compare it only with sets of its own size.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice

from fedtext.evaluation.measures.measure import SHARE, Direction, TextProperty
from fedtext.generation.cleaning import pass_quality_filter
from fedtext.system.errors import InputError

AMONG = 10_000


def distinct_share(texts: Sequence[str], n: int, among: int = AMONG) -> float:
    """Compute distinct n-grams over n-grams, among the first `among` of the texts; case is ignored.

    No n-gram spans two texts.

    Returns:
        A share in [0, 1]; 0 where no text has `n` words.
    """
    words = (text.casefold().split() for text in texts)
    every = (tuple(one[start : start + n]) for one in words for start in range(len(one) - n + 1))
    ngrams = list(islice(every, among))
    return len(set(ngrams)) / len(ngrams) if ngrams else 0.0


DISTINCT_2 = TextProperty(
    name="distinct_2",
    title="share of distinct pairs of words",
    column="distinct 2-grams",
    direction=Direction.HIGHER,
    unit=SHARE,
    decimals=1,
    value=partial(distinct_share, n=2),
)


def repeated_share(texts: Sequence[str]) -> float:
    """Compute the share of texts that repeat an earlier one; case and spacing are ignored.

    Raises:
        ValueError: there is no text.
    """
    if not texts:
        raise InputError("no texts: a share of repeated texts needs at least one", code="no-texts-to-compare")
    distinct = {" ".join(text.casefold().split()) for text in texts}
    return 1 - len(distinct) / len(texts)


REPEATED_TEXTS = TextProperty(
    name="repeated_texts",
    title="share of repeated texts",
    column="repeated texts",
    direction=Direction.LOWER,
    unit=SHARE,
    decimals=1,
    value=repeated_share,
)


def illegible_share(texts: Sequence[str]) -> float:
    """Compute the share of texts that fail the quality filter.

    Raises:
        ValueError: there is no text.
    """
    if not texts:
        raise InputError("no texts: a share of illegible texts needs at least one", code="no-texts-to-read")
    return pass_quality_filter(texts).count(False) / len(texts)


ILLEGIBLE_TEXTS = TextProperty(
    name="illegible_texts",
    title="share of texts that do not read like text",
    column="illegible texts",
    direction=Direction.LOWER,
    unit=SHARE,
    decimals=1,
    value=illegible_share,
)

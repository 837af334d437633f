"""Share of a set's texts that no person would have written (`generation.legible`)."""

from __future__ import annotations

from collections.abc import Sequence

from fedtext.evaluation.measures.measure import SHARE, Direction, OfTexts
from fedtext.generation.legible import read_like_text
from fedtext.system.errors import InputError


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

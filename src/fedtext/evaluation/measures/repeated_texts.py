"""Share of a set's texts that say again what an earlier text said: a generator that collapses repeats itself."""

from __future__ import annotations

from collections.abc import Sequence

from fedtext.evaluation.measures.measure import SHARE, Direction, OfTexts
from fedtext.system.errors import InputError


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

"""How much of the held-out text stands in the training text too: whoever learned it there did not generalise.

Clients are split by their ids, so a text that two clients hold may fall on both sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool

WORD = re.compile(r"\w+")
PHRASE = 4  # words
NEAR = 0.8  # share of a text's phrases


def copied(train: Sequence[str], held_out: Sequence[str]) -> dict[str, Bool[np.ndarray, " text"]]:
    """Of every held-out text, whether it is `verbatim` a training text, and whether it is only `near`.

    Letter case, spaces and marks make no difference. A text is near where `NEAR` of its phrases of four words stand in
    training texts.
    """
    known = {_words(text) for text in train}
    phrases = {phrase for words in known for phrase in _phrases(words)}
    said = [_words(text) for text in held_out]
    verbatim = np.array([words in known for words in said], dtype=bool)
    near = np.array([_share(words, phrases) >= NEAR for words in said], dtype=bool)
    return {"verbatim": verbatim, "near": near & ~verbatim}


def summary(found: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """How many `samples` there are, and how many of them are `verbatim` or `near`."""
    return {"samples": len(found["verbatim"]), **{name: int(found[name].sum()) for name in ("verbatim", "near")}}


def _words(text: str) -> tuple[str, ...]:
    return tuple(WORD.findall(text.casefold()))


def _phrases(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(PHRASE)), strict=False)


def _share(words: Sequence[str], known: set[tuple[str, ...]]) -> float:
    """Share of a text's phrases that are known; 0 for a text of fewer words."""
    own = list(_phrases(words))
    return sum(phrase in known for phrase in own) / len(own) if own else 0.0

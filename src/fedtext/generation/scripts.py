"""In which writing system a text is, and which texts of a call are in one that hardly any other of them is in.

A model asked for English now and then answers in Chinese. No language is wrong by itself: what most texts of a call are
in is what was asked for, and a second language that one in twenty is in is one that the texts have.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

FEWEST = 20  # texts, below which one by itself says nothing
RARE = 1 / 20
TOGETHER = dict.fromkeys(("HIRAGANA", "KATAKANA", "HANGUL"), "CJK")  # are written side by side


def strays(texts: Sequence[str]) -> list[bool]:
    """Whether each text is in a writing system that less than a twentieth of those with letters are in.

    Fewer than 20 texts have no strays, nor has a text without letters.
    """
    scripts = [script_of(text) for text in texts]
    counts = Counter(filter(None, scripts))
    least = counts.total() * RARE if counts.total() >= FEWEST else 0
    return [script is not None and counts[script] < least for script in scripts]


def script_of(text: str) -> str | None:
    """The writing system of most of its letters, as Unicode names it ("LATIN", "CJK"); None: it has no letters."""
    counts = Counter(_script(letter) for letter in text if letter.isalpha())
    return counts.most_common(1)[0][0] if counts else None


def _script(letter: str) -> str:
    first = unicodedata.name(letter, "UNNAMED").partition(" ")[0]
    return TOGETHER.get(first, first)

"""The script that a text is written in, and what is rare among the scripts or languages of many texts."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence

FEWEST_TEXTS = 20  # texts; fewer are too few to call one an exception
RARE = 1 / 20
TOGETHER = dict.fromkeys(("HIRAGANA", "KATAKANA", "HANGUL"), "CJK")  # are written side by side


def common_labels(labels: Collection[str | None]) -> set[str] | None:
    """Return the labels that at least one in twenty has, of those that have one; None if fewer than 20 have one."""
    counts = Counter(label for label in labels if label is not None)
    if counts.total() < FEWEST_TEXTS:
        return None
    return {label for label, count in counts.items() if count >= counts.total() * RARE}


def minority_script_mask(texts: Sequence[str]) -> list[bool]:
    """Return whether each text is in a script that less than a twentieth of the texts with letters have.

    No text is marked among fewer than 20, and no text without letters.
    """
    scripts = [script_of(text) for text in texts]
    common = common_labels(scripts)
    return [common is not None and script is not None and script not in common for script in scripts]


def script_of(text: str) -> str | None:
    """Return the script of most of the text's letters, as Unicode names it ("LATIN", "CJK"); None without letters."""
    counts = Counter(_script(letter) for letter in text if letter.isalpha())
    return counts.most_common(1)[0][0] if counts else None


def _script(letter: str) -> str:
    first = unicodedata.name(letter, "UNNAMED").partition(" ")[0]
    return TOGETHER.get(first, first)

"""Keywords by tf-idf: the words that tell a text, or the texts of a topic, from all public texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from fedtext.embedding.words import WORD

SEEN = 2  # least number of public texts with a keyword: a word of one text alone is no topic's


class Keywords:
    """The vocabulary of public texts, and the share of them that each word is in.

    Args:
        texts: Public texts.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        held = _held(texts)
        self._share = {word: number / len(texts) for word, number in held.items() if number >= SEEN}

    def of(self, texts: Sequence[str], count: int) -> tuple[str, ...]:
        """Return the `count` words of these texts with the largest tf-idf, the largest first.

        A word's tf is the mean over the texts of 1 + log n, where it is in a text n times. Its idf is the log of the
        share of these texts that have it over the share of all public texts that do: for one text the usual one, and 0
        for a word that a topic has as often as others. Of equal words the first in the alphabet is first.

        Returns:
            Fewer words than `count` where fewer are in `SEEN` public texts and more frequent here than elsewhere.
        """
        held, tf = _held(texts), Counter[str]()
        for text in texts:
            tf.update({word: 1 + math.log(number) for word, number in Counter(_words(text)).items()})
        known = [word for word in held if word in self._share]
        weight = {word: tf[word] * math.log(held[word] / len(texts) / self._share[word]) for word in known}
        telling = [word for word in known if weight[word] > 0]
        return tuple(sorted(telling, key=lambda word: (-weight[word], word))[:count])


def _held(texts: Sequence[str]) -> Counter[str]:
    """Count the texts that each word is in."""
    return Counter(word for text in texts for word in set(_words(text)))


def _words(text: str) -> list[str]:
    return [word for word in WORD.findall(text.casefold()) if word.isalpha()]

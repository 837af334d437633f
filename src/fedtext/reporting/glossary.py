"""The report's own words, explained where they stand (hover) and once more at its end."""

from __future__ import annotations

import re

from markupsafe import Markup

WORDS = {
    "ε": "privacy loss: how much likelier one unit's text can make what was released; the smaller, the better",
    "δ": "the probability with which ε may be exceeded",
    "on-device model": "the small language model that clients would use; it is trained on the texts, and judged",
    "next-token accuracy": "how often the model's first guess of the next token is right",
    "held-out": "of clients that took no part in anything that was made",
    "gap closed": "share of the way from the public model to one that is trained on the private text itself",
    "FID": "distance of two sets of texts, by the mean and spread of their embeddings; 0: alike",
    "MMD": "maximum mean discrepancy: distance of two sets of texts by all that a kernel sees; 0: alike",
    "mean gap": "distance of the mean embeddings of two sets of texts; 0: alike",
    "medoid": "the most central text: the one that is nearest to all others",
    "zero-out": "neighbouring data: one unit contributes nothing",
    "add-remove": "neighbouring data: one unit is left out or added",
    "replace-one": "neighbouring data: one unit holds other text",
}
EVERYWHERE = ("ε", "δ")  # a mark at each would be in the way
_MARKED = re.compile(f"({'|'.join(sorted(map(re.escape, WORDS.keys() - set(EVERYWHERE)), key=len))})")
_MARK = Markup('<abbr title="{}">{}</abbr>')


def explained(text: str) -> Markup:
    """`text` as HTML, escaped, its first mention of each word with the explanation that a pointer brings up."""
    parts: list[str] = _MARKED.split(text)
    words = parts[1::2]  # every second part is one
    for word in dict.fromkeys(words):
        parts[1 + 2 * words.index(word)] = _MARK.format(WORDS[word], word)
    return Markup().join(parts)


def used_words(page: str) -> dict[str, str]:
    """The words that `page` uses, with their explanations."""
    return {word: meaning for word, meaning in WORDS.items() if word in page}

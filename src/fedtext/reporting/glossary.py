"""The report's own words, explained where they stand (hover) and once more at its end."""

from __future__ import annotations

import re
from html import escape

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
_MARKED = re.compile("|".join(sorted((re.escape(word) for word in WORDS.keys() - set(EVERYWHERE)), key=len)))


def explained(text: str) -> str:
    """`text` as HTML, escaped, its first mention of each word with the explanation that a pointer brings up."""
    seen: set[str] = set()

    def mark(found: re.Match[str]) -> str:
        word = found[0]
        if word in seen:
            return word
        seen.add(word)
        return f'<abbr title="{escape(WORDS[word])}">{word}</abbr>'

    return _MARKED.sub(mark, escape(text))


def glossary(page: str) -> str:
    """Explanations of the words that `page` uses, as HTML."""
    used = {word: meaning for word, meaning in WORDS.items() if word in page}
    entries = "".join(f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>" for word, meaning in used.items())
    return f"<dl>{entries}</dl>" if used else ""

"""Which texts read like text at all: a look at the words alone, which costs no privacy and needs no model.

Small models now and then fall into a loop, hold a key down, leave a form's gap unfilled, talk to whoever asked, or
write in another writing system than in all their other texts (generation/scripts.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fedtext.generation.scripts import strays

HELD_KEY = re.compile(r"(\S)\1{5}")  # the same mark six times running
GAP = re.compile(r"(?<!\w)(?:\[[a-z'’ ]+\]|\{[a-z'’ ]+\}|<[a-z'’ ]+>)", re.I)  # "Dear [Your Name]"
TALK = re.compile(r"\s*(sure[,!]|(here (is|are)|here's|certainly|of course|i'm sorry|i am sorry|as an ai)\b)", re.I)
SELF = re.compile(
    r"\bSmolLM|\bHugging Face\b|\bas an AI\b|\blanguage model\b"
)  # the model speaks of itself, or to itself
WORD = re.compile(r"[^\W_]+")  # of a name in code, each of its words
PHRASE = 3  # words
LOOP = 0.2  # share of a text's phrases that stood in it before
FEWEST = 8  # words, below which a phrase may well come twice


def read_like_text(texts: Sequence[str]) -> list[bool]:
    """Whether each text of a call is legible, and in a writing system that others of them are in."""
    return [is_legible(text) and not stray for text, stray in zip(texts, strays(texts), strict=True)]


def is_legible(text: str) -> bool:
    """Whether a text has a word, no held key, no unfilled gap, no talk with whoever asked, and is in no loop."""
    if not WORD.search(text):
        return False
    talk = TALK.match(text) or SELF.search(text)
    return not (talk or HELD_KEY.search(text) or GAP.search(text) or repeated_share(text) > LOOP)


def repeated_share(text: str) -> float:
    """Share of the phrases of three words that stood in the text before; 0 for a text of a few words."""
    words = WORD.findall(text.casefold())
    if len(words) < FEWEST:
        return 0.0
    phrases = [tuple(words[k : k + PHRASE]) for k in range(len(words) - PHRASE + 1)]
    return 1 - len(set(phrases)) / len(phrases)

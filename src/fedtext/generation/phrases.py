"""Patterns of phrases, and what a chat model says around a text instead of the text: one list for all filters."""

from __future__ import annotations

import re


def saying(*phrases: str) -> re.Pattern[str]:
    """Return a pattern that finds any of the phrases, as whole words, ignoring case."""
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b", re.IGNORECASE)


def starting_with(*phrases: str) -> re.Pattern[str]:
    """Return a pattern that matches a text that starts with any of the phrases."""
    return re.compile(rf"\s*(?:{'|'.join(phrases)})", re.IGNORECASE)


def whole_words(*phrases: str) -> str:
    """Return a pattern of the phrases as whole words: "hi" is in "Hi all", and not in "His" or "Hi-fi"."""
    return rf"(?:{'|'.join(phrases)})(?!\w|['’-]\w)"


KINDS = "(?:message|text|note|review|post|email|letter|example|paragraph|question|abstract)"
TO_THE_USER = starting_with(
    r"sure[,!]", r"(?:here (?:is|are)|here's|certainly|of course|i'm sorry|i am sorry|as an ai)\b"
)
OF_ITSELF = saying(r"smollm\w*", "hugging face", "as an ai", "language model")
OF_THE_TEXT = saying(
    f"(?:this|the (?:above|following)) {KINDS} (?:is|was|should|provides|shows|describes|highlights|captures)",
    "here(?:'s| is| are) (?:a|an|one|the|my|some)",
    f"(?:sample|example) {KINDS}s?",
    "please write",
)


def addresses_the_user(text: str) -> bool:
    """Return whether a text begins with a word to the user, or the model speaks of itself in it."""
    return bool(TO_THE_USER.match(text) or OF_ITSELF.search(text))

"""Half surrogate pairs: escapes of JSON and of Python can write them, and no Unicode text may hold one.

Neither a file in UTF-8 nor a tokenizer takes such a text.
"""

from __future__ import annotations

import re

LONE = re.compile("[\ud800-\udfff]")  # a whole pair is one character of a Python text
REPLACEMENT = "\ufffd"  # as decoders write it for bytes that are no character


def has_lone_surrogate(text: str) -> bool:
    """Return whether the text holds half a surrogate pair."""
    try:
        text.encode("utf-8")  # several times as fast as a search
    except UnicodeEncodeError:
        return True
    return False


def without_lone_surrogates(text: str) -> str:
    """Return the text with the replacement character for every half surrogate pair."""
    return LONE.sub(REPLACEMENT, text)

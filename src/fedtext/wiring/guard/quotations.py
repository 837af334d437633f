"""Whether strings quote one of many texts, whole or in part; capitals, spaces and punctuation do not count.

The texts are looked through once, however many strings there are.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

PIECE = 24  # letters in a row that no figure's wording has in common with a text by chance
STEP = 6  # so that of PIECE + STEP letters in a row some piece is compared
SHORT = PIECE + STEP
COMPARED = 8  # letters: a text of fewer is compared as it is
MARKS = "▁ġċ"  # of tokenizers, for spaces and line ends
LEFT_OUT = str.maketrans("", "", string.punctuation + string.whitespace + "\u00a0\u202f\u200b“”„‘’…–—" + MARKS)


def comparable(text: str) -> str:
    """Return a text's letters and digits without capitals; a short text as it is."""
    letters = text.casefold().replace("<br>", "").translate(LEFT_OUT)
    return letters if len(letters) >= COMPARED else text


def quotes(shown: Iterable[str], texts: Collection[str]) -> bool:
    """Return whether one of the strings is a text, or shares SHORT letters in a row with one.

    Args:
        shown: Any strings.
        texts: Texts that `comparable` returned.
    """
    whole = {comparable(one) for one in shown}
    pieces = {one[at : at + PIECE] for one in whole for at in range(len(one) - PIECE + 1)}
    if not whole.isdisjoint(texts):
        return True
    return bool(pieces) and any(
        text[at : at + PIECE] in pieces for text in texts for at in range(0, len(text) - PIECE + 1, STEP)
    )


def strings(value: Any) -> Iterator[str]:
    """Yield the strings of an evaluation's output, plotly's numbers apart."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from strings(key)
            if key != "bdata":  # plotly's numbers
                yield from strings(inner)
    elif _is_row(value):
        for inner in value:
            yield from strings(inner)
    elif hasattr(value, "to_plotly_json"):
        yield from strings(value.to_plotly_json())


def joined(value: Any) -> set[str]:
    """Return what the short strings of each list or mapping in an output are together: a text may be cut into words."""
    found = set[str]()
    _short_strings(value, found)
    return found


def _short_strings(value: Any, found: set[str]) -> list[str]:
    """Return the short strings in a value, in order and without keys; add what they are together to `found`."""
    if isinstance(value, str):
        return [value] if len(value) < SHORT else []
    if hasattr(value, "to_plotly_json"):
        value = value.to_plotly_json()
    if isinstance(value, Mapping):
        found.add("".join(key for key in value if isinstance(key, str)))
        inside = [one for key, inner in value.items() if key != "bdata" for one in _short_strings(inner, found)]
    elif _is_row(value):
        inside = [one for inner in value for one in _short_strings(inner, found)]
    else:
        return []
    if len(inside) > 1:
        found.add("".join(inside))
    return inside


def _is_row(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype.kind in "OUS")

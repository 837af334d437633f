"""Errors meant for users: what is wrong, with its value, what helps, and what may have been meant.

Errors meant for users: each says what is wrong, with its value, and what helps.

Whoever starts a run is told the sentence alone (fedtext.system.refusal); any other error is a fault, in this package or
in a library, and keeps its traceback. Each kind is also the built-in error that Python's own habits ask for.

What a misspelt name was meant to be, for the sentence that refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches


class FedtextError(Exception):
    """Base of all of them."""


class InputError(FedtextError, ValueError):
    """A parameter, an argument or what a file holds cannot be used as it is."""


class UnreadableFileError(FedtextError, OSError):
    """A file, a model or a disk that a run needs cannot be read or written."""


class MissingFileError(UnreadableFileError, FileNotFoundError):
    """It is not where it was looked for."""


LISTED = 20  # names; more of them help nobody
ALIKE, AS_NEAR = 0.6, 0.1  # of difflib's ratio: what is near, and how much less than the nearest is as near


def meant(name: object, known: Iterable[str], otherwise: str = "correct it") -> str:
    """The remedy: the known names nearest to `name`; where none is near, all of them, or `otherwise` if too many."""
    names = {one.casefold(): one for one in sorted({str(one) for one in known})}
    word = str(name).casefold()
    if near := get_close_matches(word, names, n=3, cutoff=ALIKE):
        enough = _alike(word, near[0]) - AS_NEAR
        return f"did you mean {' or '.join(repr(names[one]) for one in near if _alike(word, one) >= enough)}?"
    return f"choose one of {', '.join(names.values())}" if 0 < len(names) <= LISTED else otherwise


def _alike(word: str, other: str) -> float:
    return SequenceMatcher(None, other, word).ratio()

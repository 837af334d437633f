"""Errors meant for users: what is wrong, with its value, and what helps.

The user who starts a run sees that sentence alone (fedtext.system.refusal). Any other error is a fault, in this package
or in a library, and keeps its traceback. Each class also derives from the built-in error that Python programmers
expect.

`did_you_mean` suggests the known names nearest to a misspelt one.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches


class FedtextError(Exception):
    """Base of all errors that are meant for users."""


class InputError(FedtextError, ValueError):
    """A parameter, an argument or the content of a file that cannot be used as it is."""


class UnreadableFileError(FedtextError, OSError):
    """A file, a model or a disk that a run needs and that cannot be read or written."""


class MissingFileError(UnreadableFileError, FileNotFoundError):
    """A file that is not at the expected place."""


LISTED = 20  # names; a longer list is not read
ALIKE, AS_NEAR = 0.6, 0.1  # difflib ratios: least for a near name, and the tolerance below the nearest


def did_you_mean(name: object, known: Iterable[str], otherwise: str = "correct it") -> str:
    """Return a remedy for a misspelt name: the known names nearest to `name`.

    If none is near: all known names, or `otherwise` if there are too many to list.
    """
    names = {one.casefold(): one for one in sorted({str(one) for one in known})}
    word = str(name).casefold()
    if near := get_close_matches(word, names, n=3, cutoff=ALIKE):
        enough = _alike(word, near[0]) - AS_NEAR
        return f"did you mean {' or '.join(repr(names[one]) for one in near if _alike(word, one) >= enough)}?"
    return f"choose one of {', '.join(names.values())}" if 0 < len(names) <= LISTED else otherwise


def _alike(word: str, other: str) -> float:
    return SequenceMatcher(None, other, word).ratio()

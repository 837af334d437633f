"""Errors meant for users: what is wrong, with its value, and what helps.

The user who starts a run sees that sentence alone (fedtext.system.refusal). Any other error is a fault, in this package
or in a library, and keeps its traceback. Each class also derives from the built-in error that Python programmers
expect. The sentence stands where it is raised; `tests/<package>/sentences.txt` lists all of a package by their codes.

`did_you_mean` suggests the known names nearest to a misspelt one.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from typing import Any


class FedtextError(Exception):
    """Base of all errors that are meant for users.

    The sentence is for people, and may be worded better at any time. What a program needs is beside it: tests, and code
    that tells one fault from another, compare the code.

    Attributes:
        code: Name of the kind of fault, such as `unknown-column`; each sentence of a package has its own.
        parameter: Dotted name of the parameter, or name of the argument, that is at fault; None if it is none.
        value: What is wrong there, if it is public. Nothing that came from a record may be kept here: errors are
            logged and sent between processes.
    """

    def __init__(self, message: str, *, code: str, parameter: str | None = None, value: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.parameter = parameter
        self.value = value

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args), self._state()

    def _state(self) -> dict[str, object]:
        return dict(self.__dict__)


def _restored(kind: type[FedtextError], arguments: tuple[object, ...]) -> FedtextError:
    """Return an error as unpickling begins with it: without `__init__`, whose arguments each kind chooses itself."""
    built_in = OSError if issubclass(kind, OSError) else Exception  # what decides how the object is laid out
    error = built_in.__new__(kind)
    error.args = arguments
    return error


class InputError(FedtextError, ValueError):
    """A parameter, an argument or the content of a file that cannot be used as it is."""


class UnreadableFileError(FedtextError, OSError):
    """A file, a model or a disk that a run needs and that cannot be read or written.

    `errno` is the operating system's number of the fault, where it has one.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        parameter: str | None = None,
        value: object = None,
        errno: int | None = None,
    ) -> None:
        super().__init__(message, code=code, parameter=parameter, value=value)
        self.errno = errno

    def _state(self) -> dict[str, object]:
        return super()._state() | {"errno": self.errno}  # an OSError keeps it elsewhere


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

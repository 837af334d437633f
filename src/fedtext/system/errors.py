"""Errors meant for users: each says what is wrong, with its value, and what helps.

Whoever starts a run is told the sentence alone (fedtext.system.refusal); any other error is a fault, in this package or
in a library, and keeps its traceback. Each kind is also the built-in error that Python's own habits ask for.
"""

from __future__ import annotations


class FedtextError(Exception):
    """Base of all of them."""


class InputError(FedtextError, ValueError):
    """A parameter, an argument or what a file holds cannot be used as it is."""


class UnreadableFileError(FedtextError, OSError):
    """A file, a model or a disk that a run needs cannot be read or written."""


class MissingFileError(UnreadableFileError, FileNotFoundError):
    """It is not where it was looked for."""

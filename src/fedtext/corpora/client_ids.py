"""Which spellings of an id are one client: capitals, width, invisible characters, spaces and numbers decide.

Who is protected is what the id column says. `C021` and `c021`, or one name in two of Unicode's normal forms, are mostly
one person, who would be two clients, and half protected. Nobody but the user knows. So ids are compared as they look,
and two that look alike end the run, unless `corpus.client_ids` says that they are one (`folded`) or two (`exact`).

Letters of several alphabets that look alike, and typing errors, are not compared.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from fedtext.params.corpus import ClientIds
from fedtext.system.errors import InputError

# What nothing shows besides "format" and "control": Unicode's Default_Ignorable_Code_Point.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]")
_FORMAT, _CONTROL = "Cf", "Cc"
_WHOLE = re.compile(r"(-?)0*([0-9]+)(?:\.0*)?")


def folded(one: str) -> str:
    """The id as it looks: without capitals, width, spaces and invisible characters; `007` and `7.0` are `7`."""
    looks = ""
    while looks != one:  # a step may make room for another: a space that goes lets an accent join its letter
        looks, one = one, _step(one)
    number = _WHOLE.fullmatch(looks)
    return number[1] + number[2] if number else looks


def _step(one: str) -> str:
    shown = (c for c in _INVISIBLE.sub("", one) if c.isspace() or unicodedata.category(c) not in (_FORMAT, _CONTROL))
    return "".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", "".join(shown)).casefold()).split())


def client_ids(given: Sequence[str], mode: ClientIds, where: str) -> list[str]:
    """The ids of clients that `given` ones, read in `where`, are of.

    Raises:
        ValueError: two look alike and nobody says whether they are one, or nothing of one can be seen.
    """
    if mode == "exact":
        return list(given)
    refuse_alike(given, mode, where)
    looks = {one: folded(one) if mode == "folded" else one for one in set(given)}
    return [looks[one] for one in given]


def named_owners(owners: Sequence[str | None], digests: Sequence[str], mode: ClientIds, where: str) -> list[str]:
    """The clients of rows: their owners, or the digest of a row that nobody owns; errors as for `client_ids`."""
    ids = iter(client_ids([owner for owner in owners if owner is not None], mode, where))
    return [digest if owner is None else next(ids) for owner, digest in zip(owners, digests, strict=True)]


def refuse_alike(ids: Iterable[str], mode: ClientIds, where: str) -> None:
    """Raise ValueError if two different ids look alike and `corpus.client_ids` does not say whether they are one.

    The error names both to whoever runs this on a table of their own, in ASCII, so that every difference shows.
    """
    seen: dict[str, str] = {}
    for one in dict.fromkeys(ids) if mode != "exact" else ():
        looks = folded(one)
        if not looks:
            raise InputError(f"{where}: an id of invisible characters alone, {one!a}: give its rows an id")
        other = seen.setdefault(looks, one)
        if other != one and mode is None:
            first, second = sorted([other, one])
            raise InputError(
                f"{where}: the ids {first!a} and {second!a} look alike, and as two clients one person would be half "
                "protected: set corpus.client_ids=folded if such ids are one client, or corpus.client_ids=exact if "
                "they are two"
            )

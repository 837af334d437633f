"""Column names: which words are usual ones, and which suggest whose a row is."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

_HEADINGS = (
    "text txt label date client client_id body content message comment review question answer sentence utterance query "
    "document title category class intent topic sentiment target id user user_id author author_id customer "
    "customer_id patient_id speaker name created_at timestamp time split source index"
)
HEADINGS = frozenset(_HEADINGS.split())  # usual column names
# Whom a heading may mean, alone or as `patient_id`, `UserName`, `nr_kunde`; and whose id does not say whose a row is.
_OWNERS = (
    "client user patient person author writer customer member speaker sender owner worker annotator employee student "
    "participant respondent rater labeler labeller reviewer subscriber account login handle email mrn "
    "kunde kunden klient patientin patienten nutzer benutzer mitarbeiter utilisateur cliente usuario paciente"
)
_NOT_OWNERS = (
    "row record text document doc item sample example entry line index pair prompt question answer message comment "
    "review note post sentence utterance label class category intent topic"
)
_IDENTIFIERS = "id ids no nr num number nummer code uuid guid key hash name ref numero"
OWNERS, NOT_OWNERS = frozenset(_OWNERS.split()), frozenset(_NOT_OWNERS.split())
IDENTIFIERS = frozenset(_IDENTIFIERS.split())
_BETWEEN_WORDS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")


def is_heading(cell: str) -> bool:
    """Return whether a cell holds a usual column name and no value."""
    return cell.strip().casefold() in HEADINGS or looks_like_owner(cell)


def owner_columns(names: Sequence[str], used: Collection[str]) -> list[str]:
    """Return those of a file's columns that may say whose a row is, besides the columns that are `used`."""
    return [name for name in names if name not in used and looks_like_owner(name)]


def looks_like_owner(heading: str) -> bool:
    """Return whether a column name suggests the owner of a row: `patient_id`, `ClientNo`, `author`; not `text_id`."""
    words = [word.casefold() for word in _BETWEEN_WORDS.split(heading) if word]
    whom = [one for word in words if word not in IDENTIFIERS and (one := _without_identifier(word))]
    if whom and all(word in OWNERS or word.removesuffix("s") in OWNERS for word in whom):
        return True
    if "." in heading and looks_like_owner(heading.rpartition(".")[2]):
        return True
    return len(words) > 1 and words[-1] == "id" and "".join(words[:-1]) not in NOT_OWNERS


def _without_identifier(word: str) -> str:
    """Return `user` for `userid`, and a word that ends in no identifier as it is."""
    ends = (end for end in sorted(IDENTIFIERS, key=len, reverse=True) if word.endswith(end))
    return word.removesuffix(next(ends, ""))

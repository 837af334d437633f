"""Telephone numbers and e-mail addresses in texts, found by pattern: said in a column, taken out by option.

Official records hold few, mostly in printed notices. Names of speakers are the record's subject and stay.
"""

from __future__ import annotations

import re

from fedtext.largefedbench.clients import Client
from fedtext.largefedbench.counts import SourceCounts
from fedtext.largefedbench.turns import n_words

_EMAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
# North America with an area code, Britain from the zero, any country from the plus, and seven digits after a word that
# says what they are.
_PHONE = (
    r"(?<![\w.$£-])(?:"
    r"(?:\+?1[ .-]?)?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}"
    r"|\(?0\d{2,4}\)?[ -]\d{3,4}[ -]?\d{3,4}"
    r"|\+\d{1,3}(?:[ .-]?\(?\d{1,4}\)?){2,5}"
    r"|(?<=\bcall )\d{3}-\d{4}|(?<=\bphone )\d{3}-\d{4}|(?<=\bphone: )\d{3}-\d{4}|(?<=\bfax )\d{3}-\d{4}"
    r")(?![\w-])"
)
_ANY = re.compile(rf"(?P<email>{_EMAIL})|(?P<telephone>{_PHONE})")
_GROUPS = re.compile(r"[0-9][0-9]\)? ?[ .-][0-9]{3}")  # most texts end with this pass: years and sums do not match


def kinds_in(text: str) -> str:
    """`email`, `telephone`, both in that order, or nothing."""
    if "@" not in text and "+" not in text and not _GROUPS.search(text):
        return ""
    return " ".join(sorted({str(match.lastgroup) for match in _ANY.finditer(text)}))


def without_personal_data(client: Client, counts: SourceCounts) -> Client:
    """The client with every address and number replaced by its kind in brackets; each is counted."""
    if not kinds_in(client.text):
        return client
    for match in _ANY.finditer(client.text):
        counts.remove(f"personal_data_{match.lastgroup}", n_words(match.group()))
    text = _ANY.sub(lambda match: f"[{match.lastgroup}]", client.text)
    words = n_words(text) - n_words(client.text)
    counts.words_kept += words
    counts.words += words + sum(n_words(match.group()) for match in _ANY.finditer(client.text))
    return client._replace(text=text)

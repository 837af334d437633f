"""Who is in the chair at Westminster: the source gives personal names, not offices.

Three signs, any of them enough: the name is an office ("Madam Deputy Speaker"); the person held the Speaker's or a
deputy's office that day; a notice on the page ("[Sir Roger Gale in the Chair]") puts the person there until the
next notice.
"""

from __future__ import annotations

import re

OFFICE = re.compile(
    r"(?:Mr|Madam|Mrs|Ms|The|Several|Hon) ?(?:[A-Z][\w]* ){0,3}(?:Speaker|Chair(?:man|woman)?|Chairs?)\b.*"
    r"|(?:Several |Some )?[Hh]on\.? [Mm]embers?"
    r"|The (?:Chairman of Ways and Means|Lord Speaker|Temporary Chair\w*|Clerk\b.*)|Noble Lords"
)
NOTICE = re.compile(r"\[\s*(?P<name>[^\[\]]{3,60}?) in the Chair\s*\]")
_TITLES = re.compile(r"^(?:(?:Mr|Mrs|Ms|Miss|Dr|Sir|Dame|Rt Hon|The Rt Hon)\.? )+")

# Name without title, first day, last day as Speaker or deputy of the Commons. To be checked against the House's own
# list, and continued there, by whoever first builds from live pages.
HOLDERS = (
    ("Lindsay Hoyle", "2010-06-08", "9999-12-31"),
    ("John Bercow", "2009-06-22", "2019-10-31"),
    ("Eleanor Laing", "2013-10-16", "2024-05-30"),
    ("Nigel Evans", "2020-01-08", "2024-05-30"),
    ("Rosie Winterton", "2017-06-28", "2024-05-30"),
    ("Roger Gale", "2022-12-19", "2024-05-30"),
    ("Nusrat Ghani", "2024-07-23", "9999-12-31"),
    ("Judith Cummins", "2024-07-23", "9999-12-31"),
    ("Caroline Nokes", "2024-07-23", "9999-12-31"),
)


class Chairs:
    """The occupants of the chair on one day, updated by the page's own notices."""

    def __init__(self, date: str) -> None:
        self._officers = {name for name, first, last in HOLDERS if first <= date <= last}
        self._noticed = ""

    def notice(self, text: str) -> None:
        """Take note of a "[... in the Chair]" in `text`, if there is one."""
        match = NOTICE.search(text)
        if match:
            self._noticed = bare(match["name"])

    def has(self, speaker: str) -> bool:
        """Whether `speaker` speaks from the chair."""
        name = bare(speaker)
        return bool(OFFICE.fullmatch(speaker)) or name in self._officers or name == self._noticed


def bare(name: str) -> str:
    """The name without its titles."""
    return _TITLES.sub("", name.strip())

"""Who is in the chair at Westminster: the source gives personal names, not offices.

Any of four signs is enough: the name is an office ("Madam Deputy Speaker"); the person held the Speaker's or a
deputy's office that day; a notice on the page ("[Sir Roger Gale in the Chair]") puts the person there until the next
notice; in the Lords, where deputies are many and speak for themselves as well, a short turn says what only the chair
says ("My Lords, the time allowed for this Question has elapsed.").
"""

from __future__ import annotations

import re

OFFICE = re.compile(
    r"(?:Mr|Madam|Mrs|Ms|The|Several|Hon)\.? ?(?:[A-Z][\w]* ){0,3}(?:Speaker|Chair(?:man|woman)?|Chairs?)\b.*"
    r"|(?:Several |Some )?[Hh]on\.? [Mm]embers?"
    r"|The (?:(?:First |Second )?(?:Deputy )?Chairman of (?:Ways and Means|Committees)"
    r"|Lord (?:Speaker|Chancellor in the Chair)|Lord on the Woolsack|Temporary Chair\w*|Clerk\b.*)"
    r"|(?:Senior )?Deputy (?:Lord )?Speaker\b.*"
    r"|(?:A )?[Nn]oble Lords?"
    r"|.+\((?:in|In) the Chair\)"
)
LORDS_FORMULA = re.compile(
    r"\b(?:the )?time (?:allowed|allotted) for (?:this|the) [\w ]{0,30}(?:has|is) (?:now )?(?:elapsed|up|over)"
    r"|\bsupplementary questions have (?:now )?been asked"
    r"|\bWe (?:now )?come (?:now )?to (?:the (?:group|first group|20 minutes)|Amendments?\b)"
    r"|\brequests? (?:so far,? )?to speak after the Minister"
    r"|\bI (?:\w+ )?call the (?:noble|Minister|right reverend)"
    r"|\bThe Question is (?:that|whether)|\bAs many as are of that opinion"
    r"|\bif (?:this )?[Aa]mendment \w+ is agreed to,? I (?:cannot|will not|shall not) (?:be able to )?call"
)
LORDS_FORMULA_WORDS = 150  # the most a chair's announcement runs to
NOTICE = re.compile(r"\[\s*(?P<name>[^\[\]]{3,60}?) in the Chair\.?\s*\]")
_TITLES = re.compile(r"^(?:(?:Mr|Mrs|Ms|Miss|Dr|Sir|Dame|Rt Hon|The Rt Hon)\.? )+")

# Name without title, first day, last day as Speaker or deputy of either House. To be checked against the House's own
# list, and continued there, by whoever first builds from live pages.
HOLDERS = (
    ("Betty Boothroyd", "1992-04-27", "2000-10-22"),
    ("Michael Martin", "1997-05-14", "2009-06-21"),
    ("Alan Haselhurst", "1997-05-14", "2010-04-12"),
    ("Michael Lord", "1997-05-14", "2010-04-12"),
    ("Sylvia Heal", "2000-10-23", "2010-04-12"),
    ("Nigel Evans", "2010-06-08", "2013-09-10"),
    ("Dawn Primarolo", "2010-06-08", "2015-03-30"),
    ("Natascha Engel", "2015-06-03", "2017-05-03"),
    ("Baroness Hayman", "2006-07-04", "2011-08-31"),
    ("Baroness D’Souza", "2011-09-01", "2016-08-31"),
    ("Lord Fowler", "2016-09-01", "2021-04-30"),
    ("Lord McFall of Alcluith", "2016-09-01", "2026-01-31"),
    ("Lord Gardiner of Kimble", "2021-05-11", "9999-12-31"),
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

    def __init__(self, date: str, *, lords: bool = False) -> None:
        self._lords = lords
        self._officers = {name for name, first, last in HOLDERS if first <= date <= last}
        self._noticed = ""

    def notice(self, text: str) -> None:
        """Take note of a "[... in the Chair]" in `text`, if there is one."""
        match = NOTICE.search(text)
        if match:
            self._noticed = bare(match["name"])

    def has(self, speaker: str, text: str = "") -> bool:
        """Whether `speaker` says `text` from the chair; the text matters where deputies speak for themselves too."""
        name = bare(speaker)
        return (
            bool(OFFICE.fullmatch(speaker))
            or name in self._officers
            or name == self._noticed
            or (self._lords and len(text.split()) <= LORDS_FORMULA_WORDS and bool(LORDS_FORMULA.search(text)))
        )


def bare(name: str) -> str:
    """The name without its titles."""
    return _TITLES.sub("", name.strip()).replace("'", "’")

"""Who speaks in the Congressional Record: the labels that open a turn, and the names of `mods.xml` behind them.

Surnames are set in capitals, which no running text does: "  Mr. KOHL. Mr. President, ...". A label may stand alone on
its line. Managers and counsel of an impeachment trial and guests who address a joint meeting speak like members.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fedtext.largefedbench.turns import CHAIR_TURN, COLLECTIVE, NOT_SPOKEN, SPEECH

_PERSONAL = r"(?:Mr|MR|Mrs|MRS|Ms|MS|Miss|MISS|Dr|DR)\.?(?: (?:Manager|Counsel))?"
_OFFICES = (
    r"(?:Chairman|Chairwoman|Senator|Congressman|Congresswoman|Delegate|Representative|(?:Vice )?President"
    r"|Prime Minister|Premier|Taoiseach|Chancellor|King|Queen|Prince|Princess|(?:His Holiness )?Pope"
    r"|Governor|Ambassador|Secretary(?:[ -]General)?|General|Admiral|Colonel|Captain|Major|Sultan|Emperor|Minister)"
)
_CAPITAL = "[A-ZÀ-Þ]"
_NAME = (
    rf"(?:De |La |Van |de la )*(?:{_CAPITAL}[a-zA-ZÀ-ÿ'’-]*{_CAPITAL}{{2,}}(?:{_CAPITAL}|['’-])*"
    rf"|{_CAPITAL}{{2,}}|ST\.|(?:{_CAPITAL}\.)+)"
)
_STATE = r"(?: of (?:the )?[A-Z][a-z]+(?: [A-Z][a-z]+)*)?"
_ASIDE = r"(?: [(\[][^()\[\]]*[)\]])*"  # "(during the vote)", "[Mr. Brownback]"
_ADDRESS = r"(?:Mr|Madam|Ms|Mrs)\.? (?:(?:Vice|Acting) )?(?:Speaker|President|Chair|Chief Justice)"
# The full stop that ends a label, or the comma set for it by mistake before an address to the chair.
_STOP = rf"(?:\.(?:\s+|$)|[,:;]? (?={_ADDRESS}))"
MEMBER = re.compile(
    rf"(?P<bullet>[•●]\s*)?(?P<name>(?:{_PERSONAL}|{_OFFICES}) {_NAME}(?: {_NAME})*{_STATE}){_ASIDE}{_STOP}"
)
# The President of the United States, before a joint session; nobody is called so while Congress sits alone.
GUEST = re.compile(rf"(?P<name>The (?:PRESIDENT(?! pro)|QUEEN|KING|POPE|PRIME MINISTER)){_ASIDE}\.(?:\s+|$)")
CHAIR = re.compile(
    r"(?P<name>T(?:he|HE) (?:A(?:cting|CTING) )?(?:(?:D(?:eputy|EPUTY)|A(?:ssistant|SSISTANT)|R(?:eading|EADING)) )?"
    r"(?:SPEAKER|PRESIDING OFFICER|VICE PRESIDENT|PRESIDENT|CHIEF JUSTICE"
    r"|(?:T(?:emporary|EMPORARY) |V(?:ice|ICE) )?C(?:hairman|HAIRMAN|HAIRWOMAN|HAIR)|C(?:lerk|LERK)"
    r"|C(?:haplain|HAPLAIN)|P(?:arliamentarian|ARLIAMENTARIAN)"
    r"|S(?:ergeant|ERGEANT) (?:at|AT) A(?:rms|RMS)|DOORKEEPER)"
    rf"(?: pro tempore| PRO TEMPORE)?){_ASIDE}\.(?:\s+|$)"
)
CROWD = re.compile(
    r"(?P<name>(?:(?:S(?:everal|EVERAL)|S(?:ome|OME)|M(?:any|ANY)) )"
    r"(?:M(?:embers|EMBERS)|S(?:enators|ENATORS)|V(?:oices|OICES)))\.(?:\s+|$)"
)

SHORTEST_TYPO = len("mr. smith")  # Reed and Reid are two senators: short names are taken as printed


class Label(NamedTuple):
    """A speaker's label at the start of a paragraph: the name as printed, the kind of turn it opens, where it ends."""

    name: str
    kind: str
    end: int


class Person(NamedTuple):
    """A member's full name and Biographical Directory id; the id is empty for a guest."""

    name: str
    id: str


def label(text: str) -> Label | None:
    """The speaker's label that `text` opens with, or None."""
    for pattern, kind in ((MEMBER, SPEECH), (GUEST, SPEECH), (CHAIR, CHAIR_TURN), (CROWD, COLLECTIVE)):
        match = pattern.match(text)
        if match:
            handed_in = pattern is MEMBER and match["bullet"]
            return Label(match["name"], NOT_SPOKEN if handed_in else kind, match.end())
    return None


class Roll:
    """The members that `mods.xml` names, by printed name: those who speak in a granule first, then the day's."""

    def __init__(self, granule: Mapping[str, Person], day: Mapping[str, Person]) -> None:
        self._lists = (granule, day)

    def find(self, printed: str) -> Person:
        """Who a printed name is; a typo is read as the only name one edit away; a stranger keeps the printed name."""
        key = _key(printed)
        for names in self._lists:
            if key in names:
                return names[key]
        for names in self._lists if len(key) >= SHORTEST_TYPO else ():
            near = {person for name, person in names.items() if one_edit_apart(key, name)}
            if len(near) == 1:
                return near.pop()
        return Person(printed, "")


def roll_of(names: Iterable[tuple[str, Person]]) -> dict[str, Person]:
    """Printed names to persons; a name that stands for two persons is nobody's."""
    roll: dict[str, Person | None] = {}
    for printed, person in names:
        key = _key(printed)
        roll[key] = person if roll.get(key, person) == person else None
    return {key: person for key, person in roll.items() if person is not None}


def _key(printed: str) -> str:
    return re.sub(r"(?i)\b(manager|counsel) ", "", printed).lower()


def one_edit_apart(a: str, b: str) -> bool:
    """Whether one letter inserted, left out or changed, or two neighbours swapped, makes `b` of `a`."""
    if a == b or abs(len(a) - len(b)) > 1:
        return False
    if len(a) > len(b):
        a, b = b, a
    start = next((place for place in range(len(a)) if a[place] != b[place]), len(a))
    if len(a) < len(b):
        return a[start:] == b[start + 1 :]
    swapped = a[start : start + 2] == b[start : start + 2][::-1]
    return a[start + 1 :] == b[start + 1 :] or (swapped and a[start + 2 :] == b[start + 2 :])

"""House of Commons (Canada) Hansard, one XML file a sitting: `ca/**/*.xml[.gz]`.

`HansardBody/OrderOfBusiness/SubjectOfBusiness/SubjectOfBusinessContent/Intervention/{PersonSpeaking,Content}`; a
paragraph that holds a bold label ("<B>Some hon. members:</B>") changes speaker there. Text spoken in French is the
official translation: `floor_language` says so. The French edition of a sitting and the evidence of a committee have the
same form and the same ids: they are left aside by name. Licence: Speaker's Permission.

Who speaks in a Canadian intervention: inner labels, the chair, collective voices, the clerk's motions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from fedtext.largefedbench.raw_pages import RawPage, RawPageError, SkippedPageError, parse_xml, possible_date, reading
from fedtext.largefedbench.turns import (
    CHAIR_TURN,
    COLLECTIVE,
    SPEECH,
    SPOKEN,
    UNKNOWN_ELEMENT,
    Paragraph,
    Turn,
    UniqueIds,
    Unknown,
    joined,
)
from fedtext.system.errors import InputError

CHAIR = re.compile(
    r"(?:The )?(?:Assistant |Acting |Deputy |Law )*(?:Speaker|Chair|Chairman|Chairwoman|Chairperson|Presiding Officer"
    r"|Clerk|Usher of the Black Rod|Sergeant-at-Arms)\b|(?:Mr\.?|Madam) (?:Deputy |Acting )?(?:Speaker|Chair\w*)\b"
    r"|L[ea] (?:vice-|V)?[Pp]résidente?\b|L[ea] [Gg]reffi[eè]re?\b"
)
CROWD = re.compile(
    r"(?!minister of)(?:(?:Some|An?|Several|Another|Many|Other|Certain|Various|One) )?(?:unidentified |other )?"
    r"(?:hon(?:ou?rable)?\.? )?(?:members?|senators?|voices?|ministers?)"
    r"(?: and (?:hon\.? )?(?:members|senators|ministers))?(?: (?:opposite|on|from|of|in)\b.*)?"
    r"|(?:Des|Certain(?:e)?s|Plusieurs|Quelques|Une?|Un(?:e)? autre|D[’']autres) (?:hon(?:orables)?\.? )?"
    r"(?:voix|députée?s?|sénat(?:eur|rice)s?)",
    re.I,
)
PERSON = re.compile(
    r"(?:(?:The )?(?:Right |Rt\.? )?Hon\b|Mr|Mrs|Ms|Miss|Dr|Mx|M|Mme|Mlle|L[’']hon|Le très hon"
    r"|Senator|Général|General|His|Her)\b",
    re.I,
)
SAID = re.compile(r"\s*(?:He|She|They|The (?:hon\. )?(?:member|minister)) said:\s*")


class Segment(NamedTuple):
    """A run of text after a bold label (None: no label yet in this paragraph)."""

    label: str | None
    text: str


_NAMED = re.compile(r"\s*(?P<name>[^:,;!?]{3,50}):\s")  # a name and a colon, as a label would have them


def segments(paragraph: Any) -> Iterator[Segment | Unknown]:
    """Yield the paragraph's text, cut where a bold label names another speaker, or a plain one the chair or a crowd.

    A person's name and a colon in plain type may be a label or a quotation: the name is yielded as unknown.
    """
    label: str | None = None
    parts: list[str] = [paragraph.text or ""]
    opening = _NAMED.match("".join(paragraph.itertext()))
    plain = joined(opening["name"]) if opening else ""
    opens = [child for child in paragraph[:1] if child.tag == "B" and not joined(paragraph.text)]
    if not opens and plain and (CROWD.fullmatch(plain) or CHAIR.fullmatch(plain)):
        yield Segment(plain, joined(joined(*paragraph.itertext()).partition(":")[2]))
        return
    if not opens and PERSON.match(plain):
        yield Unknown("label", plain)
    for bold in opens:
        if PERSON.match(joined(*bold.itertext())) and not _is_label(bold):
            yield Unknown("label", joined(*bold.itertext()))
    for child in paragraph:
        tail = child.tail or ""
        if _is_label(child):
            bold = joined(*child.itertext())
            if label is not None or joined(*parts):
                yield Segment(label, joined("".join(parts)))
            label, parts = bold.rstrip(": "), [tail.lstrip().removeprefix(":")]
        else:
            parts += ["".join(child.itertext()), tail]
    yield Segment(label, joined("".join(parts)))


def _is_label(element: Any) -> bool:
    """Return whether an element is bold and ends in a colon, or has one after it."""
    bold = joined(*element.itertext()) if element.tag == "B" else ""
    return bold.endswith(":") or (bool(bold) and (element.tail or "").lstrip().startswith(":"))


def bare_name(name: str) -> str:
    """Return the speaker without the riding, party or office in brackets, however they are nested."""
    return joined(_outside_brackets(name).partition(" (")[0]).rstrip(" :")


def _outside_brackets(text: str) -> str:
    """Return the text without its bracketed parts; a bracket without its partner stays. In one pass over the text."""
    opened, parts = list[int](), list[tuple[int, int]]()
    for bracket in re.finditer(r"[()]", text):
        if bracket.group() == "(":
            opened.append(bracket.start())
        elif opened:
            first = opened.pop()
            while parts and parts[-1][0] > first:
                parts.pop()  # it lies inside this one
            parts.append((first, bracket.end()))
    ends = [0, *(last for _, last in parts)]
    starts = [*(first for first, _ in parts), len(text)]
    return "".join(text[end:start].rstrip() for end, start in zip(ends, starts, strict=True))


def turn_kind(speaker: str) -> str:
    """Return `chair`, `collective` ("Some hon. members"), `speech`, or `no_speaker` where the page names nobody."""
    if not speaker:
        return "no_speaker"
    if CHAIR.match(speaker):
        return CHAIR_TURN
    return COLLECTIVE if CROWD.fullmatch(speaker) else SPEECH


def mark_motion(paragraphs: list[Paragraph]) -> list[Paragraph]:
    """Mark the clerk's wording of a motion: a turn that opens with "moved", up to "She said:" or the first vocative."""
    opening = next((p.text for p in paragraphs if p.kind == SPOKEN), "")
    if not opening.startswith("moved"):
        return paragraphs
    marked: list[Paragraph] = []
    for index, (text, kind) in enumerate(paragraphs):
        said = SAID.match(text) if kind == SPOKEN else None
        if said:
            words = Paragraph(said.group().strip(), "motion_text")
            return [*marked, words, Paragraph(text[said.end() :]), *paragraphs[index + 1 :]]
        if kind == SPOKEN and text.startswith(("Mr. Speaker", "Madam Speaker")):
            return [*marked, *paragraphs[index:]]
        marked.append(Paragraph(text, "motion_text" if kind == SPOKEN else kind))
    return marked


LICENSE = "speakers_permission_ca"

# Pages of another kind, with the reason that the list of pages gives for each.
LEFT_ASIDE = {
    "french_edition": "the French edition of a sitting: fetch the English one (HAN...-E.XML)",
    "committee_evidence": "evidence of a committee, not a sitting of the House",
}
PAGE_FACTS = frozenset({"ExtractedInformation", "StartPageNumber", "DocumentTitle"})
FLOORS = {"EN": "en", "FR": "fr"}
HEADINGS = frozenset({"OrderOfBusinessTitle", "SubjectOfBusinessTitle", "SubjectOfBusinessQualifier", "CatchLine"})
# Elements with text that is not spoken in the chamber, by the kind they are counted under.
UNSPOKEN = {
    "Prayer": "prayer",
    "Timestamp": "time_mark",
    "FloorLanguage": "language_mark",
    "ProceduralText": "procedural_text",
    "Division": "division",
    "WrittenQuestionResponse": "written_answer",
    "ParaText": "procedural_text",  # outside an intervention it is the clerk's
} | dict.fromkeys(HEADINGS, "heading")


@dataclass
class Sitting:
    """State of the walk over a page, from one element to the next."""

    date: str
    url: str
    chamber: str
    title: str = ""
    order: str = ""  # the title of the order of business, which a subject without a title of its own has
    floor: str = "en"
    unspoken: int = 0
    ids: UniqueIds = field(default_factory=UniqueIds)


def parse(page: RawPage) -> Iterator[Turn | RawPageError]:
    """Yield every turn and every unspoken piece of one sitting, in document order.

    No turn of another kind of page is speech.
    """
    root = parse_xml(page.name, page.read(), root="Hansard")
    with reading(page.name):
        if root.find("HansardBody") is None:
            raise InputError("no <HansardBody>", code="no-hansard-body")
        items = {item.get("Name"): joined(*item.itertext()) for item in root.iter("ExtractedItem")}
        sitting, other = _sitting(items), _other_page(root, items)
        if other is None:
            yield from _outside(root, sitting)
            return
        yield SkippedPageError(page.name, LEFT_ASIDE[other], code="kind-left-aside")
        yield from (replace(turn, kind=other, unknown=()) for turn in _outside(root, sitting))


def _other_page(root: Any, items: dict[str | None, str]) -> str | None:
    """Return why the page is not the English record of a sitting of the House, as a key of `LEFT_ASIDE`, or None."""
    category = items.get("MetaDocumentCategory", "").upper()
    if category.startswith("COMMITTEE") or "COMMITTEE" in items.get("InstitutionDebateEn", "").upper():
        return "committee_evidence"
    language = root.get("{http://www.w3.org/XML/1998/namespace}lang", "")
    french = language.upper().startswith("FR") or (not language and items.get("Institution", "").startswith("CHAMBRE"))
    return "french_edition" if french else None


def _sitting(items: dict[str | None, str]) -> Sitting:
    number = items.get("MetaNumberNumber", "")
    session = f"{items.get('ParliamentNumber', '')}{items.get('SessionNumber', '')}"
    date = possible_date(*(int(items[f"MetaDateNum{part}"]) for part in ("Year", "Month", "Day")))
    url = f"https://www.ourcommons.ca/Content/House/{session}/Debates/{number:0>3}/HAN{number:0>3}-E.XML"
    return Sitting(date=date, url=url, chamber=items.get("Institution", "HOUSE OF COMMONS"))


def _outside(root: Any, sitting: Sitting) -> Iterator[Turn]:
    """Yield the turns of every body, and the text beside it; the page's facts (`ExtractedInformation`) are no text."""
    for child in root:
        if child.tag == "HansardBody":
            yield from _walk(child, sitting)
        elif child.tag not in PAGE_FACTS and joined(*child.itertext()):
            yield _unspoken(UNKNOWN_ELEMENT, joined(*child.itertext()), sitting, str(child.tag))
        if joined(child.tail):
            yield _unspoken(UNKNOWN_ELEMENT, joined(child.tail), sitting, f"text after {child.tag}")


def _walk(element: Any, sitting: Sitting) -> Iterator[Turn]:
    for child in element:
        tag = child.tag
        if tag == "Intervention":
            yield from _intervention(child, sitting)
        elif tag in UNSPOKEN:
            _note_state(child, sitting)
            yield _unspoken(UNSPOKEN[tag], joined(*child.itertext()), sitting)
        else:
            if joined(child.text):
                yield _unspoken(UNKNOWN_ELEMENT, joined(child.text), sitting, str(tag))
            _begin(str(tag), sitting)
            yield from _walk(child, sitting)
        if joined(child.tail):
            yield _unspoken(UNKNOWN_ELEMENT, joined(child.tail), sitting, f"text after {tag}")


def _begin(tag: str, sitting: Sitting) -> None:
    """End the title of the business before."""
    if tag == "OrderOfBusiness":
        sitting.title = sitting.order = ""
    elif tag == "SubjectOfBusiness":
        sitting.title = sitting.order


def _note_state(element: Any, sitting: Sitting) -> None:
    if element.tag in HEADINGS and element.tag != "SubjectOfBusinessQualifier":
        sitting.title = joined(*element.itertext()) or sitting.title
        sitting.order = sitting.title if element.tag == "OrderOfBusinessTitle" else sitting.order
    if element.tag == "FloorLanguage":
        sitting.floor = FLOORS.get((element.get("language") or "").upper(), sitting.floor)


def _unspoken(kind: str, text: str, sitting: Sitting, unknown: str = "") -> Turn:
    """Return a piece that nobody speaks; `unknown` is the name of an element that is not known."""
    sitting.unspoken += 1
    return Turn(
        f"{sitting.date}.ca.unspoken.{sitting.unspoken}", "ca", kind, sitting.date, (Paragraph(text, kind),),
        unknown=(Unknown("element", unknown),) if unknown else (),
    )  # fmt: skip


def _intervention(element: Any, sitting: Sitting) -> Iterator[Turn]:
    """Yield the turns of one intervention: its own speaker's, then those of other speakers labelled inside it."""
    # Of several affiliations the first that has a name is the speaker's; one without a name comes before it at times.
    affiliations = element.findall("PersonSpeaking/Affiliation")
    affiliation = next((one for one in affiliations if joined(*one.itertext())), next(iter(affiliations), None))
    speaker_id = affiliation.get("DbId", "") if affiliation is not None else ""
    printing = affiliation if affiliation is not None and len(affiliations) > 1 else element.find("PersonSpeaking")
    printed = "".join(printing.itertext()) if printing is not None else ""
    main = bare_name(printed)
    groups: list[tuple[str, list[Paragraph]]] = [(main, [])]
    floors: set[str] = set()
    labelled = False
    unknown = list[Unknown]()
    current = groups[0]
    for paragraph in _content(element, sitting):
        if isinstance(paragraph, Unknown):
            unknown.append(paragraph)
            continue
        if isinstance(paragraph, Paragraph):
            current[1].append(paragraph)
            continue
        floors.add(sitting.floor)
        if paragraph.label is not None:
            labelled = True
            current = _speaker_group(groups, bare_name(paragraph.label), other=_is_another(paragraph.label, printed))
        if paragraph.text:
            current[1].append(Paragraph(paragraph.text))
    floor = "mixed" if len(floors) > 1 else next(iter(floors), sitting.floor)
    for speaker in [main, *dict.fromkeys(name for name, _ in groups[1:])]:
        if not (PERSON.match(speaker) or CHAIR.match(speaker) or CROWD.fullmatch(speaker)):
            unknown.append(Unknown("label", speaker or f"no name, affiliation {speaker_id or 'without an id'}"))
    base = sitting.ids.unique(f"{sitting.date}.ca.{element.get('id') or 'without-id'}")
    for number, (speaker, paragraphs) in enumerate(groups):
        yield Turn(
            client_id=base if number == 0 else f"{base}.{number + 1}", source="ca", kind=turn_kind(speaker),
            date=sitting.date, paragraphs=tuple(mark_motion(paragraphs)), country="CA", chamber=sitting.chamber,
            speaker=speaker, speaker_id=speaker_id if number == 0 else "", title=sitting.title, url=sitting.url,
            license=LICENSE, floor_language=floor, label="CA", labelled=labelled,
            unknown=tuple(unknown) if number == 0 else (),
        )  # fmt: skip


def _is_another(label: str, printed: str) -> bool:
    """Return whether a label has a riding or an office that is not the main speaker's: two members may share a name."""
    own, main = (joined(name.partition("(")[2]).rstrip(" :)") for name in (label, printed))
    return bool(own and main) and own != main


def _speaker_group(
    groups: list[tuple[str, list[Paragraph]]], speaker: str, *, other: bool
) -> tuple[str, list[Paragraph]]:
    """Return the group that a label opens: the main speaker's, the last one if its speaker is equal, or a new one.

    With `other` the speaker is not the main one, whatever the name.
    """
    if speaker == groups[0][0] and not other:
        return groups[0]
    if groups[-1][0] != speaker or len(groups) == 1:
        groups.append((speaker, []))
    return groups[-1]


def _content(element: Any, sitting: Sitting) -> Iterator[Paragraph | Segment | Unknown]:
    """Yield unspoken pieces as `Paragraph`s and spoken ones as `Segment`s, in order; updates the floor language."""
    for content in element:
        if content.tag == "PersonSpeaking":
            yield from _beside(content.tail)
            continue
        if content.tag != "Content":
            yield from _not_asked_for(content, sitting)
            yield from _beside(content.tail)
            continue
        yield from _beside(content.text)
        for child in content:
            if child.tag == "ParaText":
                yield from segments(child)
            else:
                yield from _not_asked_for(child, sitting)
            yield from _beside(child.tail)
        yield from _beside(content.tail)


def _not_asked_for(element: Any, sitting: Sitting) -> Iterator[Paragraph | Unknown]:
    """Yield an element that is no paragraph of a speech, under its kind if that is known, and else its name too."""
    text = joined(*element.itertext())
    if element.tag in UNSPOKEN:
        _note_state(element, sitting)
        yield Paragraph(text, UNSPOKEN[element.tag])
    else:
        yield Paragraph(text, UNKNOWN_ELEMENT)
        yield Unknown("element", str(element.tag))


def _beside(text: str | None) -> Iterator[Paragraph | Unknown]:
    """Yield text that stands outside any element."""
    if joined(text):
        yield Paragraph(joined(text), UNKNOWN_ELEMENT)
        yield Unknown("element", "text outside any element")

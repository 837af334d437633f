"""Further inputs for who speaks, who is in the chair, and whose name is whose: ten and more of each, none seen before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fedtext.largefedbench.clients import Text, unit_of
from fedtext.largefedbench.sources.us_labels import MemberNames, Person, members_by_name
from fedtext.largefedbench.tokens import ChunkTokenizer

from .pages import CANADA, US_DATE
from .test_counted_and_named import IN_THE_CHAIR, LATER, ORDER, Read, read, spoken, uk, write

# --- labels

MODS = """<mods xmlns="http://www.loc.gov/mods/v3"><relatedItem type="constituent"><titleInfo><title>PIERS</title></titleInfo>
<extension><granuleClass>HOUSE</granuleClass><accessId>CREC-{date}-pt1-PgH3001</accessId>{members}</extension></relatedItem></mods>"""
MEMBER = (
    '<congMember role="SPEAKING" bioGuideId="{id}"><name type="parsed">{parsed}</name>'
    '<name type="authority-fnf">{full}</name></congMember>'
)


def us_day(tmp_path: Path, words: ChunkTokenizer, *lines: str, **members: str) -> Read:
    """A day whose House granule has these lines; `members` are printed names by id."""
    day = tmp_path / f"us/CREC-{US_DATE}"
    listed = "".join(MEMBER.format(id=one, parsed=name, full=name.title()) for one, name in members.items())
    write(day / "mods.xml", MODS.format(date=US_DATE, members=listed))
    text = "\n".join(f"  {line}" for line in lines)
    page = f"<html><body><pre>\n[House]\n\n                                PIERS\n\n{text}\n\n</pre></body></html>"
    write(day / f"html/CREC-{US_DATE}-pt1-PgH3001.htm", page)
    return read(tmp_path, "us", words)


OPENING, SAID = "Mr. ALDER. Mr. Speaker, the pier fell in March.", "The lamps of the harbour burn."


def fate(found: Read, name: str) -> str:
    """What became of the words after a label: the chair's, a speaker's own, or another's with the label named."""
    whose = [one.speaker for one in found.clients if SAID in one.text]
    if not whose:
        return next(rule for rule in found.rules() if rule in ("chair", "collective", "not_spoken"))
    if whose == ["Mr. Alder"]:
        return "named" if any(name.startswith(label) for label in found.counts.unknown.get("label", {})) else "SILENT"
    return "own"


@pytest.mark.parametrize(
    ("label", "becomes"),
    [
        ("The SPEAKER pro temp.", "chair"),
        ("The SPEAKER protempore.", "chair"),
        ("Mr. SPEAKER (pro tempore).", "chair"),
        ("The PRESIDING OFFICER [Mr. ELM in the chair].", "chair"),
        ("The CHAIRMAN of the Committee.", "chair"),
        ("The Chairman pro tempore of the Committee.", "named"),
        ("The CHIEF JUSTICE of the United States.", "chair"),
        ("The ACTING CHAIR pro tempore.", "chair"),
        ("The Second Reading Clerk.", "named"),
        ("The Presiding Officer, Mrs. OAK.", "named"),
        ("Several MEMBERS on both sides.", "collective"),
        ("A VOICE FROM THE GALLERY.", "collective"),
        ("Some Honorable Members.", "collective"),
        ("Senator-elect OAK.", "own"),
        ("Lt. Col. OAK.", "own"),
        ("Mr. VAN DER OAK.", "own"),
        ("Mr. Van der OAK.", "own"),
        ("Mr. D'OAK-ELM of the Virgin Islands.", "own"),
        ("Mr. OAK (continuing).", "own"),
        ("Mr. OAK (for himself and Ms. ELM).", "own"),
        ("Ms. OAK of North Carolina (during the vote).", "own"),
        ("Mr. OAK.--", "own"),
        ("Representative-elect OAK of Ohio.", "own"),
        ("The Honorable Ann Oak.", "named"),
        ("The gentleman from Ohio.", "named"),
        ("General of the Army OAK.", "own"),
        ("Ms. OAK;", "own"),
    ],
)
def test_labels_of_the_us_record(tmp_path: Path, words: ChunkTokenizer, label: str, becomes: str) -> None:
    gap = "" if label.endswith("--") else " "
    found = us_day(tmp_path, words, OPENING, f"{label}{gap}Madam Speaker, {SAID}", A1="Mr. ALDER")
    assert fate(found, label.rstrip(".;")) == becomes


@pytest.mark.parametrize(
    "text",
    [
        "The gentleman from Ohio is right. He rows.",
        "The Members of the House know it. They voted.",
        "General Motors. That is who built it.",
        "Ms. Oak; Mr. Elm; and Ms. Ash came.",
        "The Honorable thing. It was done.",
        "Several Members on both sides spoke. I thank them.",
        "A voice from the gallery said no. It was mine.",
        "The Senator from Tennessee (Mr. Hagerty).",
        "The chairman of the committee, Mr. Elm, agrees. So do I.",
    ],
)
def test_running_text_of_the_us_record(tmp_path: Path, words: ChunkTokenizer, text: str) -> None:
    found = us_day(tmp_path, words, OPENING, text, A1="Mr. ALDER")
    assert [one.speaker for one in found.clients] == ["Mr. Alder"]
    assert found.clients[0].text.endswith(text.replace(" (Mr. Hagerty)", ""))
    assert set(found.counts.unknown.get("label", {})) <= {"General Motors", "The Honorable"}


@pytest.mark.parametrize(
    "name",
    [
        "Mr Deputy Speaker (Mr Roger Oak)", "The Temporary Chair (Dr Ann Oak)", "Madam Chair", "The Chairman of Committees",
        "The Deputy Speaker (Lord Oak)", "Deputy Chairman of Committees (Lord Oak)", "The Senior Deputy Speaker",
        "The Lord Speaker (Lord Oak)", "The First Deputy Chairman", "A noble Baroness", "Several noble Lords",
        "Noble Lords", "Hon. Members on both sides", "Several right hon. Members", "The Chair of Ways and Means",
        "Members of the House",
    ],
)  # fmt: skip
def test_chairs_and_crowds_of_westminster(tmp_path: Path, words: ChunkTokenizer, name: str) -> None:
    write(
        tmp_path / "uk/debates2024-05-14a.xml", uk(spoken(1, name, "Order, order."), spoken(2, "Ann Alder", "Thanks."))
    )
    found = read(tmp_path, "uk", words)
    assert [one.speaker for one in found.clients] == ["Ann Alder"]


@pytest.mark.parametrize(
    "name",
    [
        "An hon. member opposite", "Some hon. members and ministers", "Another hon. member", "Some honourable members",
        "Many hon. members", "Several voices", "The Assistant Deputy Chair (Mr. Oak)", "The Deputy Speaker (Mrs. Oak)",
        "Le président suppléant", "La présidente adjointe", "Certains députés", "Plusieurs députés", "An unidentified voice",
        "Hon. members on both sides",
    ],
)  # fmt: skip
def test_chairs_and_crowds_of_ottawa(raw: Path, words: ChunkTokenizer, name: str) -> None:
    page = CANADA.replace("<B>An hon. member:</B> Not true.", f"<B>{name}:</B> Not true.")
    write(raw / "ca/HAN096-E.XML.xml", page)
    found = read(raw, "ca", words)
    assert name not in {one.speaker for one in found.clients}
    assert not any("Not true" in one.text for one in found.clients)


# --- state


def nobody(text: str) -> str:
    return f'<speech nospeaker="true"><p class="italic">{text}</p></speech>'


@pytest.mark.parametrize(
    ("notice", "chairs"),
    [
        ("[Mr Tom Cedar takes the Chair]", True),
        ("[Mr Tom Cedar took the Chair]", True),
        ("Mr Tom Cedar in the Chair", True),
        ("[Tom Cedar was in the Chair]", True),
        ("[Relevant document: Paper 1.] [Rt Hon Tom Cedar in the Chair]", True),
        ("[TOM CEDAR in the Chair]", True),
        ("[Mr. Tom Cedar, in the Chair.]", True),
        ("Tom Cedar asked who was in the Chair.", False),
        ("[Ann Alder in the Chair, in place of Tom Cedar]", False),
    ],
)
def test_who_is_put_in_the_chair(tmp_path: Path, words: ChunkTokenizer, notice: str, chairs: bool) -> None:
    write(
        tmp_path / "uk/westminster2024-05-14a.xml",
        uk(nobody(notice), spoken(3, "Tom Cedar", "The pier in my town fell.")),
    )
    assert bool(read(tmp_path, "uk", words).clients) != chairs


@pytest.mark.parametrize(
    "between",
    [
        nobody("[Ann Alder in the Chair]"),
        nobody("Mr Cedar left the Chair."),
        nobody("The Chair was vacated."),
        nobody("The Speaker resumed the Chair"),
        nobody("Bill, as amended, reported."),
        nobody("Progress reported; Committee to sit again tomorrow."),
        nobody("House resumed."),
        nobody("The House adjourned at ten o'clock."),
        "<major-heading>Business of the House</major-heading>",
        "<oral-heading>Oral Answers</oral-heading>",
        spoken(9, "Mr Speaker", "Order. We move on."),
        spoken(9, "Madam Deputy Speaker (Ms Oak)", "Order. We move on."),
    ],
)
def test_who_has_left_the_chair(tmp_path: Path, words: ChunkTokenizer, between: str) -> None:
    write(tmp_path / "uk/debates2024-05-14a.xml", uk(IN_THE_CHAIR, ORDER, between, LATER))
    assert [one.text for one in read(tmp_path, "uk", words).clients] == ["The pier in my town fell."]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("debates2024-05-14a.xml", "debates2024-05-14b.XML"),
        ("debates2024-05-14z.xml", "debates2024-05-14aa.xml"),
        ("new/debates2024-05-14a.xml", "debates2024-05-14b.xml"),
        ("debates2024-05-14.xml", "old/debates2024-05-14a.xml"),
        ("Debates2024-05-14a.xml", "debates2024-05-14b.xml"),
    ],
)
def test_of_two_revisions_the_later_counts(tmp_path: Path, words: ChunkTokenizer, older: str, newer: str) -> None:
    for name, text in ((older, "Until June."), (newer, "Until July.")):
        write(tmp_path / "uk" / name, uk(spoken(1, "Ann Alder", text)))
    assert [one.text for one in read(tmp_path, "uk", words).clients] == ["Until July."]


def test_a_title_ends_with_its_order_of_business(raw: Path, words: ChunkTokenizer) -> None:
    more = """<OrderOfBusiness><SubjectOfBusiness><SubjectOfBusinessContent><Intervention id="200"><PersonSpeaking>
    <Affiliation DbId="8">Mr. Paul Lee</Affiliation></PersonSpeaking><Content><ParaText>It snows.</ParaText></Content>
    </Intervention></SubjectOfBusinessContent></SubjectOfBusiness></OrderOfBusiness></HansardBody>"""
    write(raw / "ca/HAN096-E.XML.xml", CANADA.replace("</HansardBody>", more))
    (late,) = (one for one in read(raw, "ca", words).clients if one.text == "It snows.")
    assert late.title == ""


# --- identities


@pytest.mark.parametrize(
    ("printed", "listed", "person"),
    [
        ("Mr. GARCIA", {"Mr. GARCÍA": "G1"}, ""),
        ("Mr. HARPER", {"Ms. HARPER": "H1"}, ""),
        ("Mr. ELMSON", {"Mr. ELMSEN": "E1"}, ""),
        ("Mr. OAK", {"Mr. OAK of Ohio": "O1"}, ""),
        ("Mr. OAK", {"Mr. OAK of Ohio": "O1", "Mr. OAK of Iowa": "O2"}, ""),
        ("Mr. OAK of Iowa", {"Mr. OAK of Ohio": "O1"}, ""),
        ("Ms. OAK of Ohio", {"Mr. OAK of Ohio": "O1"}, ""),
        ("Mr. OAKS", {"Mr. OAK": "O1"}, ""),
        ("Mr. DEOAK", {"Mr. DE OAK": "D1"}, ""),
        ("Mr. OAK, Jr.", {"Mr. OAK": "O1"}, ""),
        ("Senator OAK", {"Mr. OAK": "O1"}, ""),
        ("Mr. McOAK", {"Mr. McOAK": "M1"}, "M1"),
        ("Mr. MCOAK", {"Mr. McOAK": "M1"}, "M1"),
        ("Mr. O’OAK", {"Mr. O'OAK": "O1"}, "O1"),
        ("Mr.  OAK  of  Ohio", {"Mr. OAK of Ohio": "O1"}, "O1"),
    ],
)
def test_nobody_is_taken_for_another(printed: str, listed: dict[str, str], person: str) -> None:
    roll = members_by_name((name, Person(name.title(), one)) for name, one in listed.items())
    assert MemberNames(roll, {}).find(printed).id == person


def test_two_of_one_printed_name_are_neither(tmp_path: Path, words: ChunkTokenizer) -> None:
    found = us_day(tmp_path, words, OPENING, A1="Mr. ALDER", A2="Mr. ALDER")
    assert [one.speaker_id for one in found.clients] == [""]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Hon. Anne Roy", "Hon. Anne-Roy"),
        ("Mr. José Elm", "Mr. Jos Elm"),
        ("Ms. Élise Oak", "Ms. Lise Oak"),
        ("Mr. O'Oak", "Mr. O Oak"),
        ("李明", "李 明"),
    ],
)
def test_two_names_are_two_clients(one: str, other: str) -> None:
    keys = {unit_of(Text("x", "ca", "2024-05-14", name, "7"), "speaker") for name in (one, other)}
    assert len(keys) == 2


def test_an_inner_label_of_another_riding_is_another_person(raw: Path, words: ChunkTokenizer) -> None:
    page = CANADA.replace("<B>Mr. Paul Lee:</B> They are", "<B>Mr. Paul Lee (Prairie East, NDP):</B> They are")
    write(raw / "ca/HAN096-E.XML.xml", page)
    said = {one.speaker_id: one.text for one in read(raw, "ca", words).clients if one.speaker == "Mr. Paul Lee"}
    assert json.dumps(said, sort_keys=True) == json.dumps(
        {"": "They are late every day, and I asked why. No.", "8": "The member knows the ferries are late."},
        sort_keys=True,
    )

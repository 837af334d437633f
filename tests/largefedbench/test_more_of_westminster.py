"""More inputs of Westminster: who is in the chair, who has left it, and what of a speech is a motion in print."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedtext.largefedbench.tokens import ChunkTokenizer

from .test_counted_and_named import IN_THE_CHAIR, LATER, ORDER, read, spoken, uk, write
from .test_further_speakers import nobody


@pytest.mark.parametrize(
    "notice",
    [
        "[MR TOM CEDAR in the Chair]", "[Mr Tom Cedar in the Chair—", "[in the Chair: Mr Tom Cedar]", "[Chair: Tom Cedar]",
        "Tom Cedar (in the Chair)", "[Mr Tom Cedar took the Chair at 2.30 pm]", "[Mr Tom Cedar MP in the Chair]",
        "[The Right Honourable Tom Cedar in the Chair]", "[Mr Tom Cedar presiding]", "The Committee met; Mr Tom Cedar in the Chair.",
        "[Ann Alder in the Chair; Tom Cedar took the Chair at 3 pm]", "Mr Tom Cedar resumed the Chair", "[Rev. Tom Cedar in the Chair]",
        "[Mr Tom Cedar continued in the Chair]", "[Tom Cedar in the Chair for the rest of the sitting]",
    ],
)  # fmt: skip
def test_who_is_put_in_the_chair_in_other_words(tmp_path: Path, words: ChunkTokenizer, notice: str) -> None:
    page = uk(nobody(notice), spoken(3, "Tom Cedar", "Order. We begin."), spoken(4, "Bea Birch", "It fell in March."))
    write(tmp_path / "uk/westminster2024-05-14a.xml", page)
    assert [one.speaker for one in read(tmp_path, "uk", words).clients] == ["Bea Birch"]


@pytest.mark.parametrize(
    "between",
    [
        nobody("The Deputy Speaker resumed the Chair."), nobody("Progress reported."), nobody("Bill read the Third time and passed."),
        nobody("Third Reading"), nobody("Rosie Ash resumed the Chair"), "<minor-heading>Third Reading</minor-heading>",
        "<minor-heading>Consideration of Bill, as amended</minor-heading>",
    ],
)  # fmt: skip
def test_who_has_left_the_chair_in_other_words(tmp_path: Path, words: ChunkTokenizer, between: str) -> None:
    write(tmp_path / "uk/debates2024-05-14a.xml", uk(IN_THE_CHAIR, ORDER, between, LATER))
    assert [one.text for one in read(tmp_path, "uk", words).clients] == ["The pier in my town fell."]


@pytest.mark.parametrize(
    "name",
    [
        "Chair", "Second Deputy Chairman", "Lord in the Chair", "Opposition Members", "A Government Member", "Black Rod", "The Reading Clerk",
        "Hon. Friends", "Hon. and right hon. Members", "Voices", "Lords", "THE CHAIRMAN", "MR. SPEAKER", "HON. MEMBERS", "The Chairperson",
        "Lord Oak (The Lord Speaker)", "Ann Ash (in the chair)", "Speaker", "Several Hon. Members: rose", "Deputy Chairman (Lord Elm)",
    ],
)  # fmt: skip
def test_more_chairs_and_crowds_of_westminster(tmp_path: Path, words: ChunkTokenizer, name: str) -> None:
    page = uk(
        spoken(1, name, "Order, order."), spoken(2, "Lord Chair-Elm", "Thanks."), spoken(3, "Ann Memberly", "Yes.")
    )
    write(tmp_path / "uk/debates2024-05-14a.xml", page)
    assert [one.speaker for one in read(tmp_path, "uk", words).clients] == ["Lord Chair-Elm", "Ann Memberly"]


MOVED = '<p pwmotiontext="yes">I beg to move, That the Bill be now read a Third time.</p>'
SAID = "The river is wide."


@pytest.mark.parametrize(
    ("paragraphs", "kept"),
    [
        (f'{MOVED}<p pwmotiontext="yes">We have waited for it.</p>', "We have waited for it."),
        (f'{MOVED}<p pwmotiontext="yes">This Bill mends the pier. It is old.</p>', "This Bill mends the pier. It is old."),
        (f'{MOVED}<p pwmotiontext="yes">It is a pleasure to serve.</p>', "It is a pleasure to serve."),
        ('<p pwmotiontext="no">The pier is old.</p>', "The pier is old."),
        ('<p pwmotiontext="yes">Copy of the Bill</p><p pwmotiontext="yes">Resolved, That we row.</p>', ""),
        ("<p>Amendment proposed: 189, page 2, line 3, at end insert—</p><p>“(1A) No boats.”—(Ann Oak.)</p>", ""),
        ("<p>I beg to move amendment 1, in page 1, line 2, leave out “boats”.</p>", ""),
        ("<p>Motion made, and Question proposed, That this House adjourn.—(Ann Oak.)</p>", ""),
        ("<p>Amendments 3 and 4 mend the pier (Clause 5).</p>", "Amendments 3 and 4 mend the pier (Clause 5)."),
        ("<p>The pier<br/>is old.</p>", "The pier is old."),
    ],
)  # fmt: skip
def test_what_is_a_motion_in_print(tmp_path: Path, words: ChunkTokenizer, paragraphs: str, kept: str) -> None:
    speech = spoken(1, "Ann Alder", SAID).replace("</speech>", f"{paragraphs}</speech>")
    write(tmp_path / "uk/debates2024-05-14a.xml", uk(speech))
    (one,) = read(tmp_path, "uk", words).clients
    assert one.text == f"{SAID} {kept}".strip()

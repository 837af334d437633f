"""More inputs for who speaks in the US record: officers, misprinted labels, and labels that lack their indent."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedtext.largefedbench.sources import us_lines
from fedtext.largefedbench.tokens import ChunkTokenizer

from .test_further_speakers import OPENING, SAID, fate, us_day


@pytest.mark.parametrize(
    "label",
    [
        "The SPEAKER pro tempore --", "The SPEAKER pro tempore,", "The SPEAKER pro tempore", "The SPEAKER pro tempore .",
        "The SPEAKER pro tempore(Mr. Elm).", "The SPEAKER pro tempore (Mr. Elm (OH)).", "The SPEAKER pro temproe.",
        "The SPEAKER pro tempore (Mr. Elm)", "Mr. Speaker pro tempore.", "SPEAKER.", "The PRESIDENT pro tempore laid this before us.",
        "The TELLER.", "The COUNSEL.", "The PRESIDlNG OFFICER.",
    ],
)  # fmt: skip
def test_an_officer_in_capitals_speaks_for_no_member(tmp_path: Path, words: ChunkTokenizer, label: str) -> None:
    assert fate(us_day(tmp_path, words, OPENING, f"{label} {SAID}", A1="Mr. ALDER"), label) == "chair"


def test_an_officer_whom_nobody_knows_is_named(tmp_path: Path, words: ChunkTokenizer) -> None:
    found = us_day(tmp_path, words, OPENING, f"The TELLER. {SAID}", "The CLERK. Aye.", A1="Mr. ALDER")
    assert found.counts.unknown == {"label": {"The TELLER": 1}}


@pytest.mark.parametrize(
    ("label", "listed"),
    [
        ("Mr. CEDAR of Ohio .", "Mr. CEDAR of Ohio"), ("Mr. CEDAR ofOhio.", "Mr. CEDAR of Ohio"), ("Mr. cEDAR of Ohio.", "Mr. CEDAR of Ohio"),
        ("Mr. da CEDAR.", "Mr. DA CEDAR"), ("Mr. CEDAR Jr. of Ohio.", "Mr. CEDAR Jr. of Ohio"), ("Mr. O`CEDAR.", "Mr. O'CEDAR"),
        ("Ms. Oʻo-CEDAR.", "Ms. O'o-CEDAR"), ("Leader CEDAR.", "Leader CEDAR"), ("Mr. Leader CEDAR.", "Mr. Leader CEDAR"),
        ("Manager CEDAR.", "Manager CEDAR"), ("Mr. President CEDAR.", "Mr. President CEDAR"), ("Counsel CEDAR.", "Counsel CEDAR"),
        ("Mr. CEDAR, of Ohio.", "Mr. CEDAR of Ohio"), ("Mr. van der CEDAR.", "Mr. VAN DER CEDAR"),
        ("The HONORABLE CEDAR.", "The HONORABLE CEDAR"),
    ],
)  # fmt: skip
def test_a_member_in_another_print_is_the_member(
    tmp_path: Path, words: ChunkTokenizer, label: str, listed: str
) -> None:
    found = us_day(tmp_path, words, OPENING, f"{label} {SAID}", A1="Mr. ALDER", C1=listed)
    assert [(one.speaker_id, one.text) for one in found.clients][1:] == [("C1", SAID)]


SPOKEN = "  Mr. ALDER. The river rises.\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Mr. CEDAR. The lamps burn.\n", ["Mr. ALDER. The river rises.", "Mr. CEDAR. The lamps burn."]),
        (
            "The SPEAKER pro tempore. The lamps\nburn.\n",
            ["Mr. ALDER. The river rises.", "The SPEAKER pro tempore. The lamps burn."],
        ),
        ("\n[[Page H3002]]\n\nMr. CEDAR. Lamps burn.\n", ["Mr. ALDER. The river rises.", "Mr. CEDAR. Lamps burn."]),
        ("Mr. Cedar. He rows.\n", ["Mr. ALDER. The river rises. Mr. Cedar. He rows."]),
        ("The Chair. It is old.\n", ["Mr. ALDER. The river rises. The Chair. It is old."]),
    ],
)
def test_a_label_that_lacks_its_indent_opens_a_turn(text: str, said: list[str]) -> None:
    assert [one.text for one in us_lines.paragraphs(SPOKEN + text) if one.kind == "spoken"] == said


def test_a_list_of_names_that_is_cut_at_a_line_is_no_turn() -> None:
    (one,) = us_lines.paragraphs("  By Mr. ALDER (for himself and\nMr. CEDAR. A bill.\n")
    assert one.text == "By Mr. ALDER (for himself and Mr. CEDAR. A bill."


def test_a_sentence_cut_by_a_page_goes_on_though_indented() -> None:
    said = [one.text for one in us_lines.paragraphs("  Mr. ALDER. The river is\n\n[[Page H2]]\n\n old.\n")]
    assert said == ["[[Page H2]]", "Mr. ALDER. The river is old."]

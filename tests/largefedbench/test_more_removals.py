"""More inputs for what nobody said in a member's turn: names in brackets, and the words of clerks and reporters."""

from __future__ import annotations

import pytest

from fedtext.largefedbench.cleaning.cleaner import clean_speech

MEMBER = "We row over the river each day."


@pytest.mark.parametrize(
    "whom",
    [
        "the gentleman from St. Oak, Ohio (Mr. Elm, Jr.)", "the gentlemen from Ohio (Mr. Elm and Mr. Oak)", "the ranking member (Ms. Elm)",
        "the gentlemen from Ohio (Messrs. Elm and Oak)", "the Resident Commissioner (Miss Elm)", "the gentleman from western Ohio (Mr. Elm)",
        "the gentleman from Ohio ( Mr. Elm )", "the gentleman from Ohio(Mr. Elm)", "the gentleman from Ohio (Rep. Elm)",
        "our delegation (Mr. Elm, Ms. Oak, and Mrs. Ash)", "the gentleman from Ohio (the late Mr. Elm)", "the Speaker (Mr. Elm)",
        "the gentleman from Ohio (Mr. Elm and others)", "the gentleman from my own State (Mr. Elm of Ohio, Sr.)",
    ],
)  # fmt: skip
def test_names_in_brackets_of_the_us_record_are_the_reporters(whom: str) -> None:
    plain = whom.partition("(")[0].strip()
    assert clean_speech([f"I thank {whom} for the boat."], "us").text == f"I thank {plain} for the boat."


@pytest.mark.parametrize(
    "whom",
    [
        "my hon. Friend (Ann Elm)", "the hon. Gentleman (Mr Elm)", "the Minister (Mr Elm)", "the Secretary of State (Ms Elm)",
        "the MP for Ferry (Ann Elm)", "the Members for Ferry and for Dale (Ann Elm and Bea Oak)", "the hon. Member for Ferry [Mr Elm]",
        "the hon. Member for Ferry (Rev. Tom Elm)", "the hon. Member for Ferry (Ann van der Elm)", "the Prime Minister (Ann Elm)",
        "the hon. Member for Ferry(Mr Elm)", "the noble Lord (Viscount Elm)",
    ],
)  # fmt: skip
def test_names_in_brackets_of_westminster_are_the_reporters(whom: str) -> None:
    plain = whom.replace("[", "(").partition("(")[0].strip()
    assert clean_speech([f"I thank {whom} for the boat."], "uk").text == f"I thank {plain} for the boat."


@pytest.mark.parametrize("source", ["us", "uk"])
@pytest.mark.parametrize(
    "words",
    [
        "the Secretary of State (Foreign Affairs)", "the framework (Northern Ireland)", "the boat (it is old)", "the bill (H.R. 5)",
        "the members (Oaks and Elms)", "the law (Section 2)", "the board (CBC)",
    ],
)  # fmt: skip
def test_other_brackets_stay(source: str, words: str) -> None:
    assert clean_speech([f"I thank {words} for the boat."], source).text == f"I thank {words} for the boat."


@pytest.mark.parametrize(
    "clerk",
    [
        "The question was taken.", "The yeas and nays resulted--yeas 50, nays 45, as follows:", "[Roll No. 123]", "[Rollcall Vote No. 12 Ex.]",
        "Mr. ELM asked and was given permission to revise his remarks.", "Mr. ELM submitted the following resolution; which was referred.",
        "So (two-thirds being in the affirmative) the rules were suspended and the bill, as amended, was passed.", "Stated for:",
        "Pursuant to clause 1 of rule I, the Journal was approved.", "The information referred to follows:", "A recorded vote was refused.",
        "Accordingly (at 9 o'clock p.m.), under its previous order, the House adjourned.", "The previous question was ordered.",
        "Under clause 2 of rule XIV, the Committee rose informally.", "The joint resolution was read the second time.",
        "The nominations considered and confirmed en bloc are as follows:", "The following Senators entered and answered to their names:",
        "The Senate, at 6:30 p.m., adjourned until Thursday.", "By unanimous consent, a motion to reconsider was laid on the table.",
        "A message from the House, by Mr. Elm, announced that the House had passed the bill.", "The Clerk continued reading the amendment.",
        "The guest Chaplain offered the following prayer:", "Whereupon, the Senate recessed.", "(Mr. ELM assumed the Chair.)",
        "The Speaker laid before the House the following communication:", "(Text of Videotape presentation:)",
    ],
)  # fmt: skip
def test_a_clerks_paragraph_is_no_speech(clerk: str) -> None:
    assert clean_speech([MEMBER, clerk], "us").text == MEMBER


@pytest.mark.parametrize(
    "formula",
    [
        "We yield the balance of our time.",
        "We reserve the remainder of our time.",
        "The House managers reserve the balance of our time.",
        "We yield back 5 minutes.",
    ],
)
def test_two_who_hold_the_floor_together_yield_it_by_formula(formula: str) -> None:
    assert clean_speech([f"{MEMBER} {formula}"], "us").text == MEMBER
    assert clean_speech([f"{MEMBER} We yield to no one in this."], "us").text.endswith("no one in this.")


@pytest.mark.parametrize(
    "said",
    [
        "The question was taken from my own letter.",
        "By unanimous consent, the bill was passed, and I thank you.",
        "Mr. Elm took the chair when we asked him to.",
        "A message from the House is that we are late.",
        "The clerk continued to row although it was late.",
        "The Speaker laid it before us in May.",
        "The information that we have follows the river.",
    ],
)
def test_what_a_member_says_of_such_things_stays(said: str) -> None:
    assert clean_speech([MEMBER, said], "us").text == f"{MEMBER} {said}"

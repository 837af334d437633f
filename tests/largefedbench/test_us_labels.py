"""The labels of the US record: what is known in any spelling, and what only has a label's shape."""

from __future__ import annotations

import time

import pytest

from fedtext.largefedbench.sources.us_labels import Label, MemberNames, Person, label, unknown_label

ROLL = MemberNames({"mr. alder": Person("Ann Alder", "A1"), "ms. birch-elm": Person("Bea Birch-Elm", "B1")}, {})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The speaker pro tempore. Order.", "chair"),
        ("THE SPEAKER PRO TEMPORE. Order.", "chair"),
        ("The Speaker Pro Tem. Order.", "chair"),
        ("The SPEAKER, pro tempore. Order.", "chair"),
        ("Speaker pro tempore. Order.", "chair"),
        ("PRESIDING OFFICER. Order.", "chair"),
        ("Mr. PRESIDING OFFICER. Order.", "chair"),
        ("The ACTING PRESIDENT  pro  tempore. Order.", "chair"),
        ("The VICE-PRESIDENT. Order.", "chair"),
        ("The Vice Chair. Order.", "chair"),
        ("The Legislative clerk. Mr. Alder.", "chair"),
        ("The Sergeant-at-Arms. Madam Speaker, the President.", "chair"),
        ("The Senate Chaplain. Let us pray.", "chair"),
        ("Chaplain BLACK. Let us pray.", "chair"),
        ("A MEMBER. No.", "collective"),
        ("An HONORABLE MEMBER. No.", "collective"),
        ("Voices. No.", "collective"),
        ("Mr. GARCíA of Illinois. I rise.", "speech"),
        ("Mr. OAK, Jr. I rise.", "speech"),
        ("Mx. OAK. I rise.", "speech"),
        ("Resident Commissioner OAK. I rise.", "speech"),
        ("His Majesty King OAK. I thank you.", "speech"),
        ("Ms. Birch-Elm. I rise.", "speech"),
    ],
)
def test_a_label_in_another_spelling_is_one(text: str, kind: str) -> None:
    found = label(text, ROLL)
    assert found
    assert found.kind == kind


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The Secretary for the Majority. No.", "The Secretary for the Majority"),
        ("The Interpreter. I thank you.", "The Interpreter"),
        ("The Reverend Oak. Let us pray.", "The Reverend Oak"),
        ("Rev. Oak. Let us pray.", "Rev. Oak"),
        ("Members of the House. Aye.", "Members of the House"),
        ("Mr.CEDAR of Ohio. I rise.", "Mr.CEDAR of Ohio"),
        ("Mr, OAK. I rise.", "Mr, OAK"),
        ("Mr. OAK from Ohio. I rise.", "Mr. OAK from Ohio"),
        ("Mr. OAK--I rise.", "Mr. OAK"),
        ("[Mr. Oak]. I rise.", "Mr. Oak"),
        ("Messrs. OAK and ELM. We rise.", "Messrs. OAK and ELM"),
        ("Her Excellency OAK. I thank you.", "Her Excellency OAK"),
        ("PRESIDENT OAK: I thank you.", "PRESIDENT OAK"),
    ],
)
def test_what_has_the_shape_of_a_label_is_named(text: str, name: str) -> None:
    assert label(text, ROLL) is None
    assert unknown_label(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "Mr. JODY B. HICE of Georgia led the Pledge of Allegiance as follows:",
        "The bridge of Mr. Oak. It fell.",
        "In 2005, Mr. Oak rose.",
        "Madam Chair. I rise.",
        "I thank the Senator. He rose.",
        "Mr. Oak, Mr. Elm, and Ms. Ash changed their votes.",
    ],
)
def test_running_text_has_not(text: str) -> None:
    assert label(text, ROLL) is None
    assert unknown_label(text) == ""


@pytest.mark.parametrize(
    "text", ["Mr. " + "A" * 50_000, "The " + "Aa " * 50_000, "Mr. " + "Oak, " * 50_000, "The Acting" + " " * 50_000]
)
def test_a_name_without_end_costs_no_time(text: str) -> None:
    """The patterns were cubic in a name's length: 3,000 letters took minutes."""
    started = time.process_time()
    label(text, ROLL)
    unknown_label(text)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "text",
    [
        "The PRESDING OFFICER. Order.",
        "The PRESIDlNG OFFICER. Order.",
        "The TELLER. Order.",
        "The PRESIDENT OF THE SENATE. Order.",
    ],
)
def test_an_officer_whom_nobody_knows_is_no_member_and_is_named(text: str) -> None:
    found = label(text, ROLL)
    assert found == Label(text.partition(".")[0], "chair", len(text) - len("Order."), known=False)

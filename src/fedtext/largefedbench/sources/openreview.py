"""OpenReview, notes with their replies: `openreview/**/*.json[.gz]`, one official review a client.

API v1: `{"notes": [{"forum", "content": {...}, "details": {"directReplies": [{"id", "invitation", "cdate",
"content"}]}}]}`. API v2 (venues from 2024 on) has `invitations` and `{"value": ...}` around each field of `content`,
and may give `replies` for `directReplies`. The label is the submission's area and the review's recommendation (its
rating, in forms that ask for that), as the conditional experiments use them.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

from fedtext.largefedbench.raw_pages import RawPage, parse_json, possible_date, reading
from fedtext.largefedbench.sources.biorxiv import malformed
from fedtext.largefedbench.turns import SPEECH, Paragraph, Turn, joined

LICENSE = "cc_by_4_0"
AREAS = ("Please_choose_the_closest_area_that_your_submission_falls_into", "primary_area", "area")
RECOMMENDATIONS = ("recommendation", "rating")
# The prose of a review, in the order the forms ask for it.
PROSE = (
    "summary_of_the_paper", "summary", "strength_and_weaknesses", "strengths_and_weaknesses", "strengths",
    "weaknesses", "questions", "limitations", "clarity,_quality,_novelty_and_reproducibility",
    "summary_of_the_review", "main_review", "review",
)  # fmt: skip
REVIEW = "Official_Review"
_MISSHAPEN = (KeyError, TypeError, AttributeError, ValueError, OverflowError, OSError)


def parse(page: RawPage) -> Iterator[Turn]:
    """Yield every official review of one page; a note or a review of the wrong shape is a `malformed_row` turn."""
    value = parse_json(page.name, page.read())
    with reading(page.name):
        notes = value["notes"]
        if not isinstance(notes, list):
            raise TypeError("notes is not a list")
    for number, note in enumerate(notes):
        try:
            reviews = [reply for reply in replies(note) if is_review(reply)]
        except _MISSHAPEN:
            yield malformed(page, "openreview", number, note)
            continue
        for review in reviews:
            try:
                yield _turn(note, review)
            except _MISSHAPEN:
                yield malformed(page, "openreview", number, review)


def replies(note: dict[str, Any]) -> list[Any]:
    """Return the replies to a submission, from either API's field.

    Raises:
        KeyError, TypeError: there is no list of them.
    """
    details = note["details"]
    found = details["directReplies"] if "directReplies" in details else details["replies"]
    if not isinstance(found, list):
        raise TypeError("replies are not a list")
    return found


def is_review(reply: dict[str, Any]) -> bool:
    """Return whether a reply is an official review, by its invitation (v1) or one of its invitations (v2)."""
    names = reply["invitations"] if "invitations" in reply else [reply["invitation"]]
    return any(name.endswith(REVIEW) for name in names)


def _field(content: dict[str, Any], *names: str) -> str:
    """Return the text of the first of these fields that has any."""
    for name in names:
        value = content.get(name)
        text = value.get("value") if isinstance(value, dict) else value
        if isinstance(text, str | int) and joined(str(text)):
            return str(text)
    return ""


def _turn(note: dict[str, Any], review: dict[str, Any]) -> Turn:
    moment = datetime.datetime.fromtimestamp(int(review["cdate"]) / 1000, tz=datetime.UTC)
    content = review["content"]
    prose = tuple(Paragraph(text) for name in PROSE if (text := _field(content, name)))
    label = [joined(_field(note["content"], *AREAS)), joined(_field(content, *RECOMMENDATIONS))]
    date = possible_date(moment.year, moment.month, moment.day)
    return Turn(
        f"{date}.openreview.{review['id']}", "openreview", SPEECH if prose else "empty_abstract", date, prose,
        title=joined(_field(note["content"], "title")), license=LICENSE, floor_language="en",
        url=f"https://openreview.net/forum?id={note['forum']}&noteId={review['id']}", label=" | ".join(label),
    )  # fmt: skip

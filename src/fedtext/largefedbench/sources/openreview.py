"""OpenReview (API v1), notes with their direct replies: `openreview/**/*.json[.gz]`, one official review a client.

`{"notes": [{"forum", "content": {...}, "details": {"directReplies": [{"id", "invitation", "cdate",
"content"}]}}]}`. The label is the submission's area and the review's recommendation, as the conditional experiments
use them.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

from fedtext.largefedbench.raw_pages import RawPage, parse_json, reading
from fedtext.largefedbench.sources.biorxiv import malformed
from fedtext.largefedbench.turns import SPEECH, Paragraph, Turn, joined

LICENSE = "cc_by_4_0"
AREA = "Please_choose_the_closest_area_that_your_submission_falls_into"
# The prose of a review, in the order the form asks for it.
PROSE = (
    "summary_of_the_paper", "strength_and_weaknesses", "clarity,_quality,_novelty_and_reproducibility",
    "summary_of_the_review", "main_review", "review",
)  # fmt: skip


def parse(page: RawPage) -> Iterator[Turn]:
    """Every official review of one page."""
    value = parse_json(page.name, page.read())
    with reading(page.name):
        notes = value["notes"]
        if not isinstance(notes, list):
            raise TypeError("notes is not a list")
    for number, note in enumerate(notes):
        try:
            reviews = [
                reply for reply in note["details"]["directReplies"] if reply["invitation"].endswith("Official_Review")
            ]
            turns = [_turn(note, review) for review in reviews]
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError, OSError):
            turns = [malformed(page, "openreview", number, note)]
        yield from turns


def _turn(note: dict[str, Any], review: dict[str, Any]) -> Turn:
    moment = datetime.datetime.fromtimestamp(int(review["cdate"]) / 1000, tz=datetime.UTC)
    content = review["content"]
    prose = tuple(
        Paragraph(content[name]) for name in PROSE if isinstance(content.get(name), str) and content[name].strip()
    )
    area, recommendation = (
        joined(str(part)) for part in (note["content"].get(AREA, ""), content.get("recommendation", ""))
    )
    date = moment.date().isoformat()
    return Turn(
        f"{date}.openreview.{review['id']}", "openreview", SPEECH if prose else "empty_abstract", date, prose,
        title=joined(str(note["content"].get("title", ""))), license=LICENSE, floor_language="en",
        url=f"https://openreview.net/forum?id={note['forum']}&noteId={review['id']}",
        label=f"{area} | {recommendation}",
    )  # fmt: skip

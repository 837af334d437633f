"""OpenReview, notes with their replies: `openreview/**/*.json[.gz]`, one official review a client.

API v1: `{"notes": [{"forum", "content": {...}, "details": {"directReplies": [{"id", "invitation", "cdate",
"content"}]}}]}`. API v2 (venues from 2024 on) has `invitations` and `{"value": ...}` around each field of `content`,
and may give `replies` for `directReplies`. The label is the submission's area and the review's recommendation (its
rating, in forms that ask for that), as the conditional experiments use them.

What is deleted, or is for some readers only, on one page is so on all of them; a submission takes its reviews with it.
One that its authors withdrew does not: the reviews are the reviewers', stay public and keep their licence.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from typing import Any

from fedtext.largefedbench.raw_pages import RawPage, parse_json, possible_date, reading
from fedtext.largefedbench.sources.biorxiv import malformed
from fedtext.largefedbench.sources.notices import EMPTY, is_no_abstract
from fedtext.largefedbench.turns import SPEECH, SPOKEN, Paragraph, Retraction, Turn, Unknown, joined, n_words
from fedtext.params.task import in_one_word
from fedtext.params.task import joined as code_of

LICENSE = "cc_by_4_0"
AREAS = ("Please_choose_the_closest_area_that_your_submission_falls_into", "primary_area", "area")
BETWEEN = " | "  # area and recommendation, in a label
RECOMMENDATIONS = ("recommendation", "rating", "overall_recommendation", "overall_assessment", "overall_rating")
# The prose of a review, in the order the forms ask for it: ICLR and NeurIPS, then ICML, TMLR and ARR.
PROSE = (
    "summary_of_the_paper", "summary", "summary_and_contributions", "paper_summary",
    "summary_of_contributions", "claims_and_evidence",
    "methods_and_evaluation_criteria", "theoretical_claims", "experimental_designs_or_analyses",
    "relation_to_broader_scientific_literature", "essential_references_not_discussed", "strength_and_weaknesses",
    "strengths_and_weaknesses", "other_strengths_and_weaknesses", "strengths", "summary_of_strengths", "weaknesses",
    "summary_of_weaknesses", "supplementary_material", "other_comments_or_suggestions", "questions",
    "questions_for_authors", "requested_changes", "limitations", "limitations_and_societal_impact",
    "broader_impact_concerns", "comments_suggestions_and_typos", "comments,_suggestions_and_typos",
    "clarity,_quality,_novelty_and_reproducibility", "summary_of_the_review", "main_review", "review",
)  # fmt: skip
# Fields of the forms that are choices from a list, marks, or words for the chairs alone: none is prose of the review.
CHOICES = re.compile(
    r".*(?:rating|recommendation|confidence|assessment|score|soundness|excitement|reproducibility|presentation"
    r"|contribution|correctness|novelty|significance|flag|agreement|conduct|expertise|interests_and_expertise|audience"
    r"|datasets|software|knowledge|checklist|policy|title|code_of|acknowledg|ethics_review|time_spent|quality|clarity"
    r"|originality|suitability|best_(?:paper|award)|paper_type|special_issue).*|fit",
    re.IGNORECASE,
)
# The name of a field for prose, in forms that are not known; the first are prose though a mark is named with them.
SURELY_PROSE = re.compile(r".*(?:justification|summary_of|explanation|rationale).*")
LIKE_PROSE = re.compile(
    r"(?:.*_)?(?:pros|cons|text|notes|overview|issues|typos|critique|discussion|positives?|negatives?|prior_work"
    r"|related_work|rebuttal|evaluation|analysis|impact)(?:_.*)?|.*(?:summary|strength|weakness|comment|question|feedback|suggestion|limitation|concern|reasons?_to|review"
    r"|justification|references|paper_about|main_points|remarks|advice).*"
)
LONGEST_CHOICE = 25  # words; longer ones begin with their number
CONFIDENTIAL = re.compile(
    r".*(?:confidential|private|(?:to|for|with)_(?:the_)?(?:(?:senior|area|program|ethics|action|associate)_)*"
    r"(?:chairs?|s?acs?|pcs?|aes?|editors?|committee|organi[sz]ers?)(?![a-z])|(?:chairs?|s?acs?|pcs?|editors?)_only"
    r"|only_(?:chairs?|s?acs?|pcs?|editors?)(?![a-z])|(?<![a-z])(?:s?ac|pc|chairs?)_(?:comment|note|message|remark)).*",
    re.IGNORECASE,
)
EVERYONE = "everyone"  # the reader of whatever is public
REVIEW = "Official_Review"
REPLIES = ("directReplies", "replies")  # where a note's replies may stand
_MISSHAPEN = (KeyError, TypeError, AttributeError, ValueError, OverflowError, OSError)


def coded_label(label: str | None, columns: Sequence[str]) -> str | None:
    """Return the control code of a review's label, made of its `area`, its `recommendation` or both, each in one word.

    None where the review has not all of them.
    """
    area, _, recommendation = (label or "").partition(BETWEEN)
    values = {"area": in_one_word(area), "recommendation": in_one_word(recommendation)}
    own = [values[column] for column in columns]
    return code_of(own) if all(own) else None


def parse(page: RawPage) -> Iterator[Turn | Retraction]:
    """Yield every official review of one page; a note or a review of the wrong shape is a `malformed_row` turn.

    Yield beside them what is said of a submission or a review, whatever its shape: that it may not be read.
    """
    value = parse_json(page.name, page.read())
    with reading(page.name):
        notes = value["notes"]
        if not isinstance(notes, list):
            raise TypeError("notes is not a list")
    for number, note in enumerate(notes):
        yield from _retractions(note)
        try:
            answers = replies(note)
        except _MISSHAPEN:
            yield malformed(page, "openreview", number, note)
            continue
        for reply in answers:
            try:
                turn = _turn(note, reply) if is_review(reply) else _other_reply(page, number, reply)
            except _MISSHAPEN:
                yield malformed(page, "openreview", number, reply)
                continue
            yield turn


def replies(note: dict[str, Any]) -> list[Any]:
    """Return the replies to a submission, from either API's field.

    Raises:
        KeyError, TypeError: there is no list of them.
    """
    details = note["details"]
    fields: list[list[Any]] = [details[name] for name in REPLIES if name in details]
    if not fields or not all(isinstance(field, list) for field in fields):
        raise TypeError("replies are not a list")
    first = {str(one.get("id")) for one in fields[0] if isinstance(one, dict)} if fields[1:] else set()
    more = (one for field in fields[1:] for one in field)
    return fields[0] + [one for one in more if not (isinstance(one, dict) and str(one.get("id")) in first)]


def is_review(reply: dict[str, Any]) -> bool:
    """Return whether a reply is an official review, by its invitation (v1) or one of its invitations (v2)."""
    names = reply["invitations"] if "invitations" in reply else [reply["invitation"]]
    return any(name.rpartition("/")[2] == REVIEW for name in names)


UNKNOWN = "unknown_field"


def _part(name: str) -> str:
    """Return what a field of a review is: prose, a choice from a list, words for the chairs alone, or unknown."""
    name = name.casefold()
    if name in PROSE:
        return SPOKEN
    if CONFIDENTIAL.fullmatch(name):
        return "confidential_field"
    if CHOICES.fullmatch(name) and not SURELY_PROSE.fullmatch(name):
        return "choice"
    return SPOKEN if LIKE_PROSE.fullmatch(name) or SURELY_PROSE.fullmatch(name) else UNKNOWN


def _other(name: str, text: str) -> Paragraph:
    """Return a field that is no prose by its name; what has a choice's name and is long is no choice."""
    part = _part(name)
    chosen = text.lstrip(" (")[:1].isdigit() or n_words(text) <= LONGEST_CHOICE
    return Paragraph(text, UNKNOWN if part == "choice" and not chosen else part)


def _in_order(content: dict[str, Any]) -> list[str]:
    """Return the names of a review's prose: those of the known forms in their order, then others as they come."""
    known = {name.casefold(): name for name in content}
    first = [known[name] for name in PROSE if name in known]
    return first + [name for name in content if name not in first and _part(name) == SPOKEN]


def _other_reply(page: RawPage, number: int, reply: dict[str, Any]) -> Turn:
    """Return a reply that is no official review (a comment, a decision, an edit), to be counted with its words."""
    content = reply.get("content") or {}
    parts = tuple(Paragraph(text, "other_reply") for name in content if (text := _field(content, name)))
    return Turn(f"other.{page.name}.{number}.{reply['id']}", "openreview", "other_reply", "", parts)


def _consent(*notes: dict[str, Any]) -> str | None:
    """Return why these notes may not be read: one is deleted, or is for some readers only; None if all are public."""
    for note in notes:
        if note.get("ddate"):
            return "deleted"
        if not _public(note):
            return "not_public"
    return None


def _retractions(note: Any) -> Iterator[Retraction]:
    """Yield the notes that may not be read: a submission or a review that stands alone, and replies to it."""
    details = note.get("details") if isinstance(note, dict) else None
    fields = [details.get(name) for name in REPLIES] if isinstance(details, dict) else []
    found = [reply for field in fields if isinstance(field, list) for reply in field]
    for one in (note, *found):
        if isinstance(one, dict) and (rule := _consent(one)):
            forum = note.get("forum") or note.get("id")
            yield Retraction(_address(forum, one.get("id") or forum), rule)


def _address(forum: str, note_id: str) -> str:
    """Return the address of a submission, or of a reply to it, which begins with the submission's."""
    submission = f"https://openreview.net/forum?id={forum}"
    return submission if note_id == forum else f"{submission}&noteId={note_id}"


def _public(note: dict[str, Any]) -> bool:
    """Return whether everyone may read a note, or a field that has readers of its own."""
    readers = note.get("readers", EVERYONE)
    if note.get("nonreaders"):
        return False
    return readers == EVERYONE or (isinstance(readers, list) and EVERYONE in readers)


def _hidden(value: dict[str, Any]) -> Paragraph:
    """Return a field that has readers of its own, to be counted with its words."""
    return Paragraph(joined(str(value.get("value", ""))), "not_public_field")


def _field(content: dict[str, Any], *names: str) -> str:
    """Return the text of the first of these fields that has any."""
    for name in names:
        value = content.get(name)
        if isinstance(value, dict) and not _public(value):
            continue
        text = value.get("value") if isinstance(value, dict) else value
        if isinstance(text, list):
            text = "\n".join(str(part) for part in text if isinstance(part, str | int | float))
        if isinstance(text, str | int | float) and joined(str(text)):
            return str(text)
    return ""


def _turn(note: dict[str, Any], review: dict[str, Any]) -> Turn:
    created = review.get("cdate") or review["tcdate"]  # old notes have the time of the server's record alone
    moment = datetime.datetime.fromtimestamp(int(created) / 1000, tz=datetime.UTC)
    content = review["content"]
    names = _in_order(content)
    prose = [Paragraph(text) for name in names if (text := _field(content, name))]
    others = {name: _other(name, text) for name in content if name not in names and (text := _field(content, name))}
    unknown = [Unknown("field", name or "without a name") for name, part in others.items() if part.kind == UNKNOWN]
    hidden = [name for name, value in content.items() if isinstance(value, dict) and not _public(value)]
    kind = _consent(note, review) or (EMPTY if is_no_abstract(" ".join(p.text for p in prose)) else SPEECH)
    label = [joined(_field(note["content"], *AREAS)), joined(_field(content, *RECOMMENDATIONS))]
    date = possible_date(moment.year, moment.month, moment.day)
    return Turn(
        f"{date}.openreview.{review['id']}", "openreview", kind, date,
        (*prose, *(p for p in others.values() if p.kind != "choice"), *(_hidden(content[name]) for name in hidden)),
        title=joined(_field(note["content"], "title")), license=LICENSE, floor_language="en",
        url=_address(note["forum"], review["id"]), label=BETWEEN.join(label),
        unknown=tuple(unknown),
    )  # fmt: skip

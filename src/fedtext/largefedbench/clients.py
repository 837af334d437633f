"""A turn becomes a client, or is counted under the rule that leaves it out: two readings, filters, cleaning.

`clean`: turns of ordinary speakers, their spoken paragraphs, cleaned. `published`: what the published scraper kept,
chair's turns and all versions of a preprint included, through its own cleaner (`cleaning.published`). Faults of its
ingest (the first hundred bioRxiv rows skipped, one Canadian session only) are not of a build from pages on disk and
are not imitated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fedtext.largefedbench.cleaning.abstracts import clean_abstract
from fedtext.largefedbench.cleaning.cleaner import Cleaned, clean_speech
from fedtext.largefedbench.cleaning.published import clean_as_published, keeps_us_turn, returns_early
from fedtext.largefedbench.counts import SourceCounts
from fedtext.largefedbench.turns import INTERVENTIONS, SPEECH, SPOKEN, Turn, n_words
from fedtext.params.largefedbench import LargeFedBench

PARLIAMENTS = frozenset({"ca", "uk", "us"})
# What the published scraper kept of each source besides ordinary speeches.
PUBLISHED_KINDS = {
    "ca": {"chair", "collective"},
    "uk": {"chair", "superseded_revision"},
    "us": {"not_spoken"},
    "biorxiv": {"later_version", "withdrawn"},
    "medrxiv": {"later_version", "withdrawn"},
}


PUBLISHED_REMOVED = frozenset({"speaker_label", "page_mark"})  # all else of a turn stayed in its text


class Client(NamedTuple):
    """A row of the clients table before chunking and splitting."""

    client_id: str
    source: str
    country: str
    chamber: str
    date: str
    speaker: str
    speaker_id: str
    title: str
    url: str
    license: str
    floor_language: str
    label: str
    text: str


def clients_of(turns: Iterable[Turn], params: LargeFedBench, counts: SourceCounts) -> Iterator[Client]:
    """The clients among `turns`, in order; everything else goes into `counts`."""
    for turn in turns:
        paragraph_words = [n_words(paragraph.text) for paragraph in turn.paragraphs]
        words = sum(paragraph_words)
        counts.turns += 1
        counts.words += words
        if turn.kind in INTERVENTIONS and turn.source in PARLIAMENTS:
            counts.note("interventions")
        rule = _left_out(turn, params)
        if rule:
            counts.leave_out(rule, words)
            continue
        if not _is_unicode(turn):
            counts.leave_out("not_unicode_text", words)
            continue
        cleaned = _cleaned(turn, paragraph_words, params, counts)
        if not cleaned.text.strip():
            counts.leave_out("nothing_left_after_cleaning", 0)
            continue
        counts.clients += 1
        counts.words_kept += n_words(cleaned.text)
        yield _client(turn, cleaned.text)


def _is_unicode(turn: Turn) -> bool:
    """Whether every string of the turn can be written: JSON may hold half a surrogate pair."""
    try:
        "".join(
            [turn.client_id, turn.title, turn.url, turn.license, turn.label, *(p.text for p in turn.paragraphs)]
        ).encode()
    except UnicodeEncodeError:
        return False
    return True


def _client(turn: Turn, text: str) -> Client:
    return Client(
        turn.client_id, turn.source, turn.country, turn.chamber, turn.date, turn.speaker, turn.speaker_id, turn.title,
        turn.url, turn.license, turn.floor_language, turn.label, text,
    )  # fmt: skip


def _left_out(turn: Turn, params: LargeFedBench) -> str | None:
    """The rule that leaves this turn out, or None."""
    if turn.kind != SPEECH and (params.cleaning == "clean" or turn.kind not in PUBLISHED_KINDS.get(turn.source, set())):
        return turn.kind
    if params.cleaning == "published" and not _published_keeps(turn):
        return "published_selection"
    if turn.license in params.exclude_licenses:
        return f"license_{turn.license}"
    return _left_out_by_date(turn.date, params)


def _left_out_by_date(date: str, params: LargeFedBench) -> str | None:
    asked = {
        "before_from_date": params.from_date,
        "after_to_date": params.to_date,
        "not_after_cutoff": params.model_cutoff,
    }
    if not any(asked.values()):
        return None
    if not date:
        return "undated"
    if params.from_date and date < params.from_date.isoformat():
        return "before_from_date"
    if params.to_date and date > params.to_date.isoformat():
        return "after_to_date"
    return "not_after_cutoff" if params.model_cutoff and date <= params.model_cutoff.isoformat() else None


def _published_keeps(turn: Turn) -> bool:
    if turn.source == "us":
        return keeps_us_turn(_published_text(turn))
    return not turn.labelled  # a Canadian intervention with another speaker's label was skipped whole


def _published_text(turn: Turn) -> str:
    return " ".join(p.text for p in turn.paragraphs if p.kind not in PUBLISHED_REMOVED)


def _cleaned(turn: Turn, paragraph_words: list[int], params: LargeFedBench, counts: SourceCounts) -> Cleaned:
    """The turn's text under the chosen reading, with every removal counted."""
    if params.cleaning == "published":
        cleaned = _as_published(turn, counts)
    else:
        words = 0
        for paragraph, number in zip(turn.paragraphs, paragraph_words, strict=True):
            if paragraph.kind == SPOKEN:
                words += number
            else:
                counts.remove(paragraph.kind, number)
        spoken = [p.text for p in turn.paragraphs if p.kind == SPOKEN]
        if turn.source in PARLIAMENTS:
            cleaned = clean_speech(spoken, turn.source, params.min_letter_share)
        else:
            cleaned = clean_abstract(spoken, turn.source)
        made = cleaned.words_read - words  # by spelling: a fraction becomes two words
        if made:
            counts.words += made
            counts.note("words_made_by_spelling", made)
    for removal in cleaned.removed:
        counts.remove(removal.rule, n_words(removal.text))
    return cleaned


def _as_published(turn: Turn, counts: SourceCounts) -> Cleaned:
    text = _published_text(turn)
    for paragraph in turn.paragraphs:
        if paragraph.kind in PUBLISHED_REMOVED:
            counts.remove(paragraph.kind, n_words(paragraph.text))
    if turn.source not in PARLIAMENTS:
        return Cleaned(" ".join(text.split()), [])
    if returns_early(text):
        counts.note("never_sanitised")
        counts.note("words_never_sanitised", n_words(text) - 2)
    return clean_as_published([text])

"""Conversion of turns into clients: two readings, filters, cleaning, and the meaning of a client.

A turn becomes a client or is counted under the rule that leaves it out. The reading `clean` takes turns of ordinary
speakers, their spoken paragraphs, cleaned. The reading `published` takes what the published scraper kept, chair's turns
and all versions of a preprint included, through its own cleaner (`cleaning.published`). Faults of its ingest (the first
hundred bioRxiv rows skipped, one Canadian session only) do not occur in a build from pages on disk, and are not
imitated.

A client is a speech (as in the paper), a speaker's speeches of one day, or all of a speaker's. The texts of a client
follow one another by date, a line each; no chunk crosses from one into the next. A text without a named speaker (an
abstract, a review) is a client of its own under every meaning.

Telephone numbers and e-mail addresses in texts are found by pattern. A column names their kinds, and an option removes
them. Official records hold few, mostly in printed notices. Names of speakers are the record's subject and stay.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from fedtext.largefedbench.cleaning.abstracts import UNKNOWN_MARKUP, clean_abstract, unknown_markup
from fedtext.largefedbench.cleaning.cleaner import Cleaned, clean_speech
from fedtext.largefedbench.cleaning.published import clean_as_published, keeps_us_turn, returns_early
from fedtext.largefedbench.counts import SourceCounts
from fedtext.largefedbench.snapshot import Row
from fedtext.largefedbench.turns import INTERVENTIONS, SPEECH, SPOKEN, Turn, n_words
from fedtext.params.largefedbench import ClientUnit, LargeFedBench
from fedtext.system.surrogates import has_lone_surrogate

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
    """Yield the clients among `turns`, in order; everything else is added to `counts`."""
    for turn in turns:
        paragraph_words = [n_words(paragraph.text) for paragraph in turn.paragraphs]
        words = sum(paragraph_words)
        counts.turns += 1
        counts.words += words
        for one in turn.unknown:
            counts.note_unknown(*one)
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
    """Return whether every string of the turn can be written as UTF-8: JSON may hold half a surrogate pair."""
    strings = (turn.client_id, turn.title, turn.url, turn.license, turn.label, *(p.text for p in turn.paragraphs))
    return not any(map(has_lone_surrogate, strings))


def _client(turn: Turn, text: str) -> Client:
    return Client(
        turn.client_id, turn.source, turn.country, turn.chamber, turn.date, turn.speaker, turn.speaker_id, turn.title,
        turn.url, turn.license, turn.floor_language, turn.label, text,
    )  # fmt: skip


def keeps_kind(kind: str, source: str, params: LargeFedBench) -> bool:
    """Return whether the reading takes turns of this kind."""
    return kind == SPEECH or (params.cleaning == "published" and kind in PUBLISHED_KINDS.get(source, set()))


def _left_out(turn: Turn, params: LargeFedBench) -> str | None:
    """Return the rule that leaves this turn out, or None."""
    if not keeps_kind(turn.kind, turn.source, params):
        return turn.kind
    if params.cleaning == "published" and not _published_keeps(turn):
        return "published_selection"
    if turn.license in params.exclude_licenses:
        return f"license_{turn.license}"
    return _left_out_by_date(turn.date, params)


def _left_out_by_date(date: str, params: LargeFedBench) -> str | None:
    filters = {
        "before_from_date": params.from_date,
        "after_to_date": params.to_date,
        "not_after_cutoff": params.model_cutoff,
    }
    if not any(filters.values()):
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
    """Return the turn's text under the chosen reading, with every removal counted."""
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
            for name in unknown_markup(cleaned.text, turn.source):
                counts.note_unknown(UNKNOWN_MARKUP, name)
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


# From the beginning of a run of such signs, and no longer than an address may be: a run may be of a megabyte.
_EMAIL = r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"
# North America with an area code, Britain from the zero, any country from the plus, and seven digits after a word that
# says what they are.
_PHONE = (
    r"(?<![\w.$£-])(?:"
    r"(?:\+?1[ .-]?)?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}"
    r"|\(?0\d{2,4}\)?[ -]\d{3,4}[ -]?\d{3,4}"
    r"|\+\d{1,3}(?:[ .-]?\(?\d{1,4}\)?){2,5}"
    r"|(?<=\bcall )\d{3}-\d{4}|(?<=\bphone )\d{3}-\d{4}|(?<=\bphone: )\d{3}-\d{4}|(?<=\bfax )\d{3}-\d{4}"
    r")(?![\w-])"
)
_ANY = re.compile(rf"(?P<email>{_EMAIL})|(?P<telephone>{_PHONE})")
_GROUPS = re.compile(r"[0-9][0-9]\)? ?[ .-][0-9]{3}")  # most texts end with this pass: years and sums do not match


def kinds_in(text: str) -> str:
    """Return the kinds of personal data in a text: `email`, `telephone`, both in that order, or nothing."""
    if "@" not in text and "+" not in text and not _GROUPS.search(text):
        return ""
    return " ".join(sorted({str(match.lastgroup) for match in _ANY.finditer(text)}))


def without_personal_data(client: Client, counts: SourceCounts) -> Client:
    """Return the client with every address and number replaced by its kind in brackets; each is counted."""
    if not kinds_in(client.text):
        return client
    for match in _ANY.finditer(client.text):
        counts.remove(f"personal_data_{match.lastgroup}", n_words(match.group()))
    text = _ANY.sub(lambda match: f"[{match.lastgroup}]", client.text)
    words = n_words(text) - n_words(client.text)
    counts.words_kept += words
    counts.words += words + sum(n_words(match.group()) for match in _ANY.finditer(client.text))
    return client._replace(text=text)


_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}\.")
_AFFILIATIONS = frozenset({"ca"})  # sources whose speaker id is of an affiliation: one person has several
_MIXED = "mixed"


class Text(NamedTuple):
    """The properties of a text that decide its client."""

    client_id: str
    source: str
    date: str
    speaker: str
    speaker_id: str


def unit_of(text: Text, unit: ClientUnit) -> str:
    """Return the key of the client that a text belongs to; its own id if it has no speaker."""
    if unit == "speech" or not text.speaker:
        return text.client_id
    known = text.speaker_id and text.source not in _AFFILIATIONS
    person = f"{text.source}.speaker.{slug(text.speaker_id if known else untitled(text.speaker, text.source))}"
    return person if unit == "speaker" else f"{text.date}.{person}"


# Before a whole name: "Mr. Lee" and "Ms. Lee" may be two members.
_TITLES = re.compile(
    r"(?:(?:(?:The )?(?:(?:Right|Rt\.?) )?Hon(?:ourable)?|Mrs?|Ms|Miss|Mx|Dr)\b\.? )+(?=\S+ \S)", re.IGNORECASE
)


def untitled(name: str, source: str) -> str:
    """Return a name by which a speaker is known in every office: a Canadian "Ms." becomes "Hon." with a ministry."""
    return _TITLES.sub("", name, count=1) if source in _AFFILIATIONS and _TITLES.match(name) else name


_PLAIN = re.compile(r"[a-z0-9. ]+")


@lru_cache(maxsize=65_536)  # a chamber's members speak thousands of times
def slug(who: str) -> str:
    """Return a name as a part of an id; signs that the id cannot show are told apart by a digest."""
    name = who.casefold()
    shown = re.sub(r"[^a-z0-9]+", "-", name).strip("-")
    if not shown:
        return who
    return shown if _PLAIN.fullmatch(name) else f"{shown}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def split_key(client_id: str, unit: ClientUnit) -> str:
    """Return the key by which a client's split is drawn.

    A speaker's key has no date, for the date would change when earlier pages are added.
    """
    return _DATE.sub("", client_id) if unit == "speaker" and ".speaker." in client_id else client_id


def combined(rows: Iterable[Row], unit: ClientUnit) -> Iterator[Row]:
    """Yield rows of texts as rows of clients, by client id.

    `speaker_day` holds one day in memory, `speaker` everything.
    """
    if unit == "speech":
        yield from rows
        return
    groups: dict[str, list[Row]] = defaultdict(list)
    day = ""
    for row in rows:
        if unit == "speaker_day" and row[4] != day:
            yield from _clients(groups, unit)
            groups.clear()
            day = row[4]
        groups[unit_of(Text(row[0], row[1], row[4], row[5], row[6]), unit)].append(row)
    yield from _clients(groups, unit)


def _clients(groups: dict[str, list[Row]], unit: ClientUnit) -> Iterator[Row]:
    clients = [_client_row(key, rows, unit) for key, rows in groups.items()]
    yield from sorted(clients, key=lambda row: str(row[0]))


def _client_row(key: str, rows: list[Row], unit: ClientUnit) -> Row:
    """Return one row of several: equal values stay, others are empty; texts, tokens and spans are concatenated.

    Date and name are those of the first text.
    """
    if key == rows[0][0]:
        return rows[0]
    client_id = f"{rows[0][4]}.{key}" if unit == "speaker" else key
    values = [column[0] if len(set(column)) == 1 else "" for column in zip(*(row[1:12] for row in rows), strict=True)]
    values[3:5] = rows[0][4:6]
    values[9] = values[9] or _MIXED  # floor_language
    starts, ends, lengths, offset = list[int](), list[int](), list[int](), 0
    for *_, text, _n, _kinds, own_starts, own_ends, own_lengths, _signature in rows:
        starts += [offset + start for start in own_starts]
        ends += [offset + end for end in own_ends]
        lengths += own_lengths
        offset += len(text) + 1
    text = "\n".join(row[12] for row in rows)
    return (client_id, *values, text, sum(row[13] for row in rows), kinds_in(text), starts, ends, lengths, None)

"""No text takes more than linear time, whatever it repeats: a page of one mark hung a build for minutes."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from fedtext.largefedbench.cleaning.abstracts import clean_abstract, unknown_markup
from fedtext.largefedbench.cleaning.cleaner import clean_speech
from fedtext.largefedbench.clients import kinds_in
from fedtext.largefedbench.sources import canada, uk, us_lines
from fedtext.largefedbench.sources.notices import is_no_abstract, notice
from fedtext.largefedbench.sources.us_labels import label, unknown_label

CHARACTERS = 30_000
SECONDS = 4  # where a quadratic rule took 10 and more
MARKS = [
    "<!--", "<script>", "O_SCPLOW", "O_FIG ", "O_ST_ABS", "[Formula", "{superscript ", "(", "[", "“", "Mr. ", "Mr. Speaker, ",
    "<p ", '<a x="', "I yield ", "=== NOTE ===", "The ", "A. ", "1/", "\\1/", "--", "…", "I ask unanimous consent because ",
    "(Mr. Oak asked and ", "Member for A, ", "for A (Ann Oak), ", ". . ", ".”", "a", "@", "a@", "a.", "1 ", "202-555-", "+1 ",
    "=", "_", "S. 1. A bill ", "[Member spoke in X as follows:] ", "Results", "Results and ", "METHODS ", "&amp;", "{beta}",
    "withdraw ", "this paper ", "x<y ", "That ", "q", "see ", "the text ", " ", "\n", "é", "ᐅ", "“Mr. Speaker",
    "I yield to the gentleman from Oak, ", "the gentleman from Oak Island, ", "Lt. ",
]  # fmt: skip
READERS: dict[str, Callable[[str], object]] = {
    "us": lambda text: clean_speech([text], "us"),
    "uk": lambda text: clean_speech([text], "uk"),
    "ca": lambda text: clean_speech([text], "ca"),
    "abstract": lambda text: unknown_markup(clean_abstract([text], "biorxiv").text, "biorxiv"),
    "personal data": kinds_in,
    "notices": lambda text: (notice(text, text), is_no_abstract(text)),
    "notices' ends": lambda text: (notice("", f"Boats (retracted{text}"), is_no_abstract(f"NA{text}")),
    "names": canada.bare_name,
    "labels": lambda text: (label(text), unknown_label(text)),
    "lines": lambda text: us_lines.read_aloud(us_lines.paragraphs(f"  {text}\n  {text}")),
    "chairs": lambda text: (uk.Chairs("2024-01-01", chamber="House of Commons").notice(text), uk.OFFICE.fullmatch(text)),
}  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_a_text_of_one_mark_takes_no_time(reader: str) -> None:
    for mark in MARKS:
        started = time.process_time()
        READERS[reader](mark * (CHARACTERS // len(mark)) + "@x ")
        assert time.process_time() - started < SECONDS, repr(mark)


def test_brackets_in_brackets_take_no_time() -> None:
    started = time.process_time()
    assert canada.bare_name(f"Mr. Lee {'(' * CHARACTERS}{')' * CHARACTERS}") == "Mr. Lee"
    assert time.process_time() - started < SECONDS

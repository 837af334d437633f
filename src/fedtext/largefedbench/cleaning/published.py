"""The published scraper's cleaner, fault included, so that the fault can be shown and old numbers compared.

A text that opens with an address to the chair loses that address and is returned at once: no other rule ever sees
it. US turns are kept only if they open so, hence the 30% rule never touched US text. Sentences are cut at a full
stop and a space, abbreviations and all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fedtext.largefedbench.cleaning.cleaner import MIN_LETTER_SHARE, Cleaned, Removal

OPENINGS = ("Mr. Speaker,", "Madam Speaker,", "Mr. President,", "Madam President,")
PHRASES = ("I declare the motion carried. ", "Mr. Speaker, I reserve the balance of my time. ", "The hon. Member. ")
NOTATION = re.compile(r"(?P<time_mark>\{time\}  [0-9]+)|(?P<editorial_note>=*(?: NOTE | END NOTE )=*)")
SHORT_CONSENT = 400  # characters; a shorter US turn that asks unanimous consent was left out


def clean_as_published(paragraphs: Sequence[str]) -> Cleaned:
    """Return the paragraphs as the published cleaner would clean them, joined by spaces."""
    text = " ".join(paragraphs)
    if returns_early(text):
        opening, _, rest = text.partition(",")
        return Cleaned(rest.strip(), [Removal("vocative", opening)])
    removed = [Removal("phrase", phrase.strip()) for phrase in PHRASES for _ in range(text.count(phrase))]
    for phrase in PHRASES:
        text = text.replace(phrase, "")
    removed += [Removal(match.lastgroup or "", match.group()) for match in NOTATION.finditer(text)]
    kept = []
    for sentence in NOTATION.sub("", text).split(". "):
        characters = len(sentence.replace(" ", ""))
        if characters and sum(map(str.isalpha, sentence)) / characters >= MIN_LETTER_SHARE:
            kept.append(sentence)
        elif characters:
            removed.append(Removal("not_letters", sentence))
    return Cleaned(". ".join(kept), removed)


def returns_early(text: str) -> bool:
    """Return whether the published cleaner stops at the opening address and never sanitises the rest."""
    return text.startswith(OPENINGS)


def keeps_us_turn(text: str) -> bool:
    """Return whether the published US scraper made this turn a client."""
    consent = "I ask unanimous consent that" in text and len(text) < SHORT_CONSENT
    return returns_early(text) and "pro tempore" not in text and not consent

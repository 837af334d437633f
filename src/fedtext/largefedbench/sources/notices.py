"""Notices that a publisher sets in an abstract's place, and texts that are no abstract: withdrawn, corrected, absent.

Many an abstract is about withdrawal or retraction: a notice is known by the words that its title or its text opens
with, or, in a short text, by what is withdrawn: an article, a manuscript, a preprint.
"""

from __future__ import annotations

import re

from fedtext.largefedbench.turns import n_words

WITHDRAWN, RETRACTED, CORRECTION, CONCERN = "withdrawn", "retracted", "correction_notice", "expression_of_concern"
EMPTY = "empty_abstract"
LONGEST_NOTICE = 120  # words
_THING = r"(?:article|manuscript|pre-?print|paper|submission|work|posting)"
_MARK = r"\s*[:\]—–]"  # after the notice's own word in a title
_HEADS = (
    (
        WITHDRAWN,
        rf"\W*(?:withdrawn\b|(?:article|preprint) withdrawn|removed\s*[:\]]|removal notice"
        rf"|(?:notice of |statement of )?withdrawal(?:{_MARK}|\s*(?:notice|statement)|\s+of (?:the |this )?{_THING}))",
    ),
    (
        RETRACTED,
        rf"\W*(?:retracted(?: article)?{_MARK}|this retracts the article"
        rf"|(?:notice of |statement of )?retraction(?:{_MARK}|\s*(?:notice|statement|note)))",
    ),
    (
        CORRECTION,
        rf"\W*(?:this (?:corrects|updates) the article"
        rf"|(?:(?:publisher|author) )?"
        rf"(?:correction|corrigend(?:um|a)|errat(?:um|a)|addendum)(?: (?:to|for)\b|{_MARK}))",
    ),
    (CONCERN, r"\W*(?:editorial )?expression of concern\b"),
)
_TAKEN_BACK = re.compile(
    rf"\bwithdr(?:aw|awn|ew|awing|awal of) (?:(?:this|the|their|our|its|his|her|a) )?(?:\w+ )?{_THING}\b"
    rf"|\b{_THING}\b(?: \w+)?,? (?:has|have|is|was|were|had)(?: (?:been|being|now|hereby))*"
    rf" (?:withdrawn|removed by|retracted)\b"
    rf"|\b(?:withdrawal|retraction) statement\b|\bstatement of (?:withdrawal|retraction)\b"
    rf"|\b(?:take|taken|took|taking) back (?:this|the|their|our) (?:\w+ )?{_THING}\b"
    rf"|\b(?:wish|request|requested|decided|asked)(?:es)? (?:to|for)(?: \w+)? (?:withdraw|retract|remove)",
    re.IGNORECASE,
)
_NO_ABSTRACT = re.compile(
    r"\W*(?:(?:n\W{0,2}a|none|null|nil|nan|tba|tbd|abstract|not applicable|not provided"
    r"|(?:there is )?no abstract(?: (?:is |was )?(?:available|provided|supplied|given|required|submitted|needed))?"
    r"|(?:the )?abstract (?:is |was )?(?:not|un)\s?-?(?:available|provided|supplied)"
    r"|without abstract)\W*)?",
    re.IGNORECASE,
)


def notice(title: str, text: str, *heads: str) -> str | None:
    """Return what kind of notice stands in an abstract's place, None for an abstract.

    `heads` are further fields that may say so, such as a type of article.
    """
    for kind, pattern in _HEADS:
        if any(re.match(pattern, head, re.IGNORECASE) for head in (title, text, *heads)):
            return kind
    return WITHDRAWN if n_words(text) <= LONGEST_NOTICE and _TAKEN_BACK.search(text) else None


def is_no_abstract(text: str) -> bool:
    """Return whether a text says no more than that there is none ("NA", "No abstract available.", a dash)."""
    return _NO_ABSTRACT.fullmatch(text.strip()) is not None

"""Notices that a publisher sets in an abstract's place, and texts that are no abstract: withdrawn, corrected, absent.

Many an abstract is about withdrawal or retraction: a notice is known by the words that its title or its text opens
with, or, in a short text, by what is withdrawn: an article, a manuscript, a preprint.
"""

from __future__ import annotations

import re

from fedtext.largefedbench.turns import n_words

WITHDRAWN, RETRACTED, CORRECTION, CONCERN = "withdrawn", "retracted", "correction_notice", "expression_of_concern"
EMPTY = "empty_abstract"
TAKES_BACK = frozenset({WITHDRAWN, RETRACTED, CONCERN})  # what holds for a text on whichever page it stands
LONGEST_NOTICE = 120  # words
_THING = r"(?:article|manuscript|pre-?print|paper|submission|work|posting)"
_AT_THE_END = r"[\[(:—–-]"  # before the notice's own word at the end of a title
_MARK = r"\s*[:\]—–]"  # after the notice's own word in a title
_HEADS = (
    (
        WITHDRAWN,
        rf"\W*(?:withdrawn\b|{_THING} (?:is |was )?withdrawn|removed\s*[:\]]|(?:temporary|permanent) removal{_MARK}"
        r"|removal notice|withdrawal\W*$"
        rf"|notice of withdrawal|statement of withdrawal"
        rf"|withdrawal(?:{_MARK}|\s*(?:notice|statement)|\s+of (?:the |this )?{_THING}))"
        rf"|.*{_AT_THE_END}\s*withdrawn\s*[\])]?\W*$",
    ),
    (
        RETRACTED,
        rf"\W*(?:retracted(?: article)?{_MARK}|this retracts the article|notice of retraction|statement of retraction"
        rf"|retraction (?:of|in|to)\s*:|retraction(?:{_MARK}|\s*(?:notice|statement|note)))"
        rf"|.*{_AT_THE_END}\s*retracted(?: article)?\s*[\])]?\W*$",
    ),
    (
        CORRECTION,
        rf"\W*(?:this (?:corrects|updates) the article"
        rf"|in (?:the|this) (?:original(?:ly)? )?(?:version|publication) of (?:this|the) {_THING}"
        rf"|(?:the )?(?:original )?(?:version|publication) of this {_THING} (?:contained|had|has) (?:an? )?"
        r"(?:\w+ )?error"
        rf"|(?:the )?original {_THING} (?:was|has been) corrected"
        rf"|an amendment to this {_THING} has been published"
        rf"|(?:publisher|author)(?:['’]?s)? (?:correction|note)\b"
        # "Correction for guessing" is a subject; "Correction to: ..." and "Erratum for ..." are notices.
        rf"|corrections?(?:{_MARK}|\W*$| (?:(?:to|for|in)\s*[:“\"‘«]|notice\b))"
        rf"|(?:corrigend(?:um|a)|errat(?:um|a)|addendum)(?: (?:to|for|in)\b|{_MARK}|\W*$))",
    ),
    (CONCERN, r"\W*(?:editorial )?expression of concern\b"),
)
# "The paper was pulled." is of an article, "the paper strip was pulled" of paper.
_PAPER = (
    r"(?:(?:article|manuscript|pre-?print|submission|posting)\b|(?:paper|work)\b"
    r"(?=\s*(?:[.,;:)]|$|(?:and|as|at|because|by|due|after|for|from|in|is|was|were|has|have|since|to|until|while)\b)))"
)
_TAKEN_BACK = re.compile(
    rf"\b(?:withdr(?:aw|awn|ew|awing|awal of)|retract(?:ed|ing|s)?|rescind(?:ed|ing|s)?|recall(?:ed|ing)"
    rf"|remov(?:al of|ing)|(?:tak(?:e|en|ing)|took) (?:down|back)|pull(?:ed|ing)(?: down)?)"
    rf" (?:(?:this|the|their|our|its|his|her|a) )?(?:\w+ )?{_PAPER}"
    rf"|\b{_PAPER},? (?:(?:itself|above|below) )?(?:has|have|is|was|were|had|to|be)"
    rf"(?: (?:be|been|being|now|hereby|therefore|thus))*"
    rf" (?:withdrawn|removed\b(?! by hand| manually)|retracted|rescinded|recalled|taken down|pulled)\b"
    rf"|\b{_PAPER}(?: \w+)? (?:is|are) (?:no longer|not) (?:available|valid|posted|online)\b"
    rf"|\bit is no longer (?:online|posted|accessible)\b|\bno longer stands? by\b"
    rf"|\b{_PAPER}(?: \w+)? (?:posted|submitted|uploaded|published) (?:in error|by mistake)\b"
    rf"|\b(?:not|nor|don't) (?:wish|want)(?: (?:for|that))? (?:this|the|their|our) {_PAPER} (?:to|should) be cited\b"
    rf"|\bshould not be cited\b|\b(?:do|please do|must) not cite (?:this|it|the {_PAPER})\b"
    rf"|\b(?:withdrawal|retraction) statement\b|\bstatement of (?:withdrawal|retraction)\b",
    re.IGNORECASE,
)
_NO_ABSTRACT = re.compile(
    r"[\W\d_]*(?:(?:n\W{0,2}[ad]|none|null|nil|nan|tba|tbd|undefined|x+|test(?:ing)?|lorem ipsum.*|missing|empty|blank"
    r"|(?:an? |the |this )?(?:abstract|summary)(?: here| text)?"
    r"|(?:none|not) (?:available|applicable|provided|supplied|given|required|needed|submitted|yet available)"
    r"|(?:(?:there is|this (?:\w+ )?has|has|with) )?no (?:abstract|summary)(?: for this \w+)?"
    r"(?: (?:is |was )?(?:available|provided|supplied|given|required|submitted|needed))?"
    r"|(?:the )?(?:abstract|summary) (?:is |was )?(?:not|un)\s?-?"
    r"(?:available|applicable|provided|supplied|required|given)"
    r"|without (?:an )?abstract"
    r"|(?:(?:the )?(?:abstract|summary) )?(?:to (?:be added|follow)|follows|pending|forthcoming)"
    r"|[^\W\d_a-z]{1,2}"
    r"|(?:(?:please )?(?:see|refer to|consult)|(?:the )?abstract (?:is |can be )?(?:available |found |included )?in)"
    r" (?:the )?(?:attached |full )?(?:pdf|text|file|paper|manuscript|article)(?: (?:file|version))?"
    r"(?: for (?:the |an )?(?:abstract|summary))?)\W*)?",
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

"""Notices that a publisher sets in an abstract's place, and texts that are no abstract: withdrawn, corrected, absent.

Many an abstract is about withdrawal or retraction: a notice is known by the words that its title or its text opens
with, or, in a short text, by what is withdrawn: an article, a manuscript, a preprint. Texts are matched as a reader
sees them, without markup and with single spaces: so no pattern has a run of spaces to try again and again.
"""

from __future__ import annotations

import html
import re

from fedtext.largefedbench.cleaning.abstracts import BLOCKS
from fedtext.largefedbench.cleaning.cleaner import normalise
from fedtext.largefedbench.turns import joined, n_words

WITHDRAWN, RETRACTED, CORRECTION, CONCERN = "withdrawn", "retracted", "correction_notice", "expression_of_concern"
EMPTY = "empty_abstract"
TAKES_BACK = frozenset({WITHDRAWN, RETRACTED, CONCERN})  # what holds for a text on whichever page it stands
LONGEST_NOTICE = 120  # words
_THING = r"(?:article|manuscript|pre-?print|paper|submission|work|posting)"
_AT_THE_END = r"[\[(:—–-]"  # before the notice's own word at the end of a title
_MARK = r"\s*[:\]—–]"  # after the notice's own word in a title
# The same words in French, German, Spanish, Portuguese and Italian.
_THING_ABROAD = (
    r"(?:article|manuscrit|prépublication|artikel|beitrag|manuskript|preprint|arbeit|artículo|manuscrito|artigo"
    r"|articolo|manoscritto)"
)
_WITHDRAWN_ABROAD = (
    r"(?:retirée?|rétractée?|zurückgezogen|zurückgenommen|widerrufen|retirad[oa]|retractad[oa]|retratad[oa]"
    r"|ritirat[oa]|ritrattat[oa])"
)
_HEADS = (
    (
        WITHDRAWN,
        rf"\W*(?:withdrawn\b|removed\W*$|content removed\W*$|{_THING} (?:is |was )?withdrawn|removed\s*[:\]]"
        rf"|(?:temporary|permanent) removal{_MARK}"
        r"|removal notice|withdrawal\W*$"
        rf"|notice of withdrawal|statement of withdrawal"
        rf"|(?:{_WITHDRAWN_ABROAD}|rétractation|retrait|retraktion|zurückziehung|retractación|retratação){_MARK}"
        rf"|(?:avis de|notice de|aviso de) (?:retrait|rétractation|retirada|retractación|retratação)"
        rf"|retrait (?:de l['’]|du |de cet? ){_THING_ABROAD}|(?:rückzug|rücknahme) (?:des|dieses) {_THING_ABROAD}s"
        rf"|withdrawal(?:{_MARK}|\s*(?:notice|statement)|\s+of (?:the |this )?{_THING}))"
        rf"|.*{_AT_THE_END}\s*withdrawn\s*[\])]?\W*$",
    ),
    (
        RETRACTED,
        rf"\W*(?:retracted(?: article| and re\w+)?(?:{_MARK}|\W*$)|article retracted{_MARK}"
        rf"|this retracts the article|notice of retraction|statement of retraction"
        r"|retraction (?:of|in|to|for)\s*[:“\"‘«]|retraction (?:of|to|for) .{2,80}?\bet al\b"
        r"|retraction (?:and replacement|of publication)\b"
        rf"|retraction(?:{_MARK}|\s*(?:notice|statement|note)))"
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
        rf"|corrections?(?:{_MARK}|\W*$| (?:(?:to|for|in)\s*[:“\"‘«]|notice\b|(?:to|for) .{{2,80}}?\bet al\b))"
        rf"|(?:corrigend(?:um|a)|errat(?:um|a)|addendum)(?: (?:to|for|in)\b|{_MARK}|\W*$))",
    ),
    (
        CONCERN,
        r"\W*(?:(?:notice of |interim |editorial )*expression of (?:editorial )?concern\b"
        rf"|(?:notice|statement|note|letter) of (?:editorial )?concern{_MARK})",
    ),
)
# "The paper was pulled." is of an article, "the paper strip was pulled" of paper.
_PAPER = (
    r"(?:(?:article|manuscript|pre-?print|submission|posting)\b|(?:paper|work)\b"
    r"(?=\s*(?:[.,;:)]|$|(?:and|as|at|because|by|due|after|for|from|in|is|was|were|has|have|since|to|until|while)\b)))"
)
_WHO = r"(?:authors?|editors?|publisher)(?:['’]s|s['’])?"
_WITHDRAWAL = r"(?:withdrawal|retraction|removal|deletion)"
_TAKEN_BACK = re.compile(
    rf"\b(?:withdr(?:aw|awn|ew|awing|awal of)|retract(?:ed|ing|s)?|rescind(?:ed|ing|s)?|recall(?:ed|ing)"
    rf"|remov(?:al of|ing)|(?:tak(?:e|en|ing)|took) (?:down|back)|pull(?:ed|ing)(?: down)?)"
    rf" (?:(?:this|the|their|our|its|his|her|a) )?(?:\w+ )?{_PAPER}"
    rf"|\b{_PAPER},? (?:(?:itself|above|below) )?(?:has|have|is|was|were|had|to|be)"
    rf"(?: (?:be|been|being|now|hereby|therefore|thus|temporarily|permanently|voluntarily))*"
    rf" (?:withdrawn|removed\b(?! by hand| manually)|retracted|rescinded|recalled|taken (?:down|off-? ?line)|pulled)\b"
    rf"|\b{_PAPER}(?: \w+)? (?:is|are) (?:no longer|not) (?:available|valid|posted|online)\b"
    rf"|\bit is no longer (?:online|posted|accessible)\b|\bno longer stands? by\b"
    rf"|\bno longer (?:hosts?|displays?|distributes?) (?:this|the) (?:\w+ )?{_PAPER}"
    # "Delete the article" is said in grammars, "delete this article" of what one reads.
    rf"|\b(?:deleted?|deleting|remov(?:e|ed)|unpublish(?:ed)?) (?:this|our|my) (?:\w+ )?{_PAPER}"
    r"|\b(?:deleted?|deleting|unpublish(?:ed)?) (?:the|their) (?:\w+ )?(?:manuscript|pre-?print)\b"
    rf"|\b{_WHO} (?:(?:have|has|had|then|later|since|therefore) )*(?:withdr(?:aw|ew|awn)|retract(?:ed)?)"
    rf" (?:it|this)\b(?=\W*$|[.,;]| (?:after|as|at|because|before|due|following|in|on|pending|until)\b)"
    rf"|\b{_WHO}(?: (?:have|has))? (?:request(?:s|ed)?|ask(?:s|ed) for) (?:(?:the|its|a) )?{_WITHDRAWAL}\b(?! of| from)"
    # Of a study, a report or a record only the whole sentence says so: patients withdraw from studies.
    rf"|\b{_WHO} (?:(?:have|has|wish to|would like to|hereby) )*(?:withdr(?:aw|ew|awn)|retract(?:ed)?)"
    r" (?:this|their|the|our) (?:study|report|version|record|entry|data|posting)\b"
    r"|^\W*this (?:study|report|record|version|document|entry|posting) (?:has been|was|is) (?:now )?"
    r"(?:withdrawn|retracted|removed|cancelled)\b(?=\W*$| (?:by|due|because|owing|at|on|pending|for)\b)"
    rf"|\b{_WHO} requested that (?:this|it)\b.{{0,30}}\b(?:withdrawn|removed|retracted)\b"
    rf"|\b{_WITHDRAWAL} (?:(?:was|is|has been) )?requested by (?:(?:the|its) )?{_WHO}"
    rf"|\b(?:withdrawn|removed|retracted) (?:at|on|upon) (?:the )?(?:request of (?:the |its )?{_WHO}|{_WHO} request)"
    rf"|\b{_THING_ABROAD}(?: \w+){{0,6}} {_WITHDRAWN_ABROAD}\b|\b{_WITHDRAWN_ABROAD} (?:\w+ )?{_THING_ABROAD}\b"
    rf"|\bziehen (?:\w+ )?{_THING_ABROAD} zurück\b"
    rf"|\b{_PAPER}(?: \w+)? (?:posted|submitted|uploaded|published) (?:in error|by mistake)\b"
    rf"|\b(?:not|nor|don't) (?:wish|want)(?: (?:for|that))? (?:this|the|their|our) {_PAPER} (?:to|should) be cited\b"
    rf"|\bshould not be cited\b|\b(?:do|please do|must) not cite (?:this|it|the {_PAPER})\b"
    rf"|\b(?:withdrawal|retraction) statement\b|\bstatement of (?:withdrawal|retraction)\b",
    re.IGNORECASE,
)
_AS_YET = r"(?: (?:yet|here|online|in \w+|at (?:this|the) (?:time|moment)|for this \w+))?"
_NONE = (
    r"(?:n\W{0,2}[ad]|none|null|nil|nan|tba|tbd|undefined|x+|test(?:ing)?|missing|empty|blank|false|true|asdf|text|title"
    r"|to come|in press|(?:same )?as above|withheld|omitted|(?:not )?included|letter(?: to the editor)?|editorial"
    r"|commentary"
    r"|placeholder|(?:this \w+ (?:has been|was) )?(?:deleted|removed)|first page preview|full text available"
    r"|(?:image, )?graphical abstract|(?:please )?(?:click here|download)\b.{0,40}"
    r"|(?:an? |the |this )?(?:abstracts?|summary)(?: here| text)?"
    rf"|(?:none|not) (?:available|applicable|provided|supplied|given|required|needed|submitted|yet available){_AS_YET}"
    r"|(?:(?:there is|there are|this (?:\w+ )?has|has|with) )?no (?:abs|abstracts?|summary|summaries|text|description)"
    r"(?: for this \w+(?: \w+)?)?"
    r"(?: (?:(?:is|are|was) )?(?:available|provided|supplied|given|required|submitted|needed|present|exists?|found))?"
    rf"(?: by (?:the )?authors?)?(?: \(\w+\)?)?{_AS_YET}"
    r"|this \w+ does not (?:have|contain|include) an abstract"
    r"|(?:an? |the )?(?:abstract|summary|text) (?:is )?(?:omitted|withheld|missing|unavailable|not available)"
    r"|abstract (?:will be (?:provided|updated|added)(?: \w+)?|available from .{2,30}|\(if \w+\)?)"
    r"|no disponible|non disponible|aucun|keine?|nein|nessuno|sem"
    r"|(?:the )?(?:abstract|summary) (?:is |was )?(?:not|un)\s?-?"
    rf"(?:available|applicable|provided|supplied|required|given){_AS_YET}"
    r"|(?:the )?(?:abstract|summary) (?:is )?(?:only )?available (?:only )?in \w+(?: only)?"
    r"|without (?:an )?abstract"
    r"|(?:(?:the )?(?:abstract|summary) )?(?:to (?:be added|follow)|follows|pending|forthcoming)"
    r"|(?:(?:the )?(?:abstract|summary|text) )?(?:is |will be )?(?:coming|available|added) (?:soon|shortly|later)"
    r"|(?:pas de|sans) résumé(?: disponible)?|résumé (?:non|pas) disponible|sin resumen|resumen no disponible"
    r"|(?:kein abstract|keine zusammenfassung)(?: (?:verfügbar|vorhanden))?|sem resumo|resumo não disponível"
    r"|[^\W\d_a-z]{1,2}"
    r"|(?:(?:please )?(?:see|refer to|consult)|(?:available|found) in"
    r"|(?:the )?abstract (?:is |can be )?(?:available |found |included )?in)"
    r" (?:the )?(?:attached |full |main )?(?:pdf|text|file|paper|manuscript|article|title|attached|above|below)"
    r"(?: (?:file|version))?"
    r"(?: for (?:the |an )?(?:abstract|summary))?)"
)
# It may be said twice ("N/A, n/a").
_NO_ABSTRACT = re.compile(rf"[\W\d_]*(?:(?:{_NONE}(?:[\W\d_]+{_NONE}){{0,3}}|lorem ipsum.*)\W*)?", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,300}>")
_EMPHASIS = re.compile(r"[*_]+")


def notice(title: str, text: str, *heads: str) -> str | None:
    """Return what kind of notice stands in an abstract's place, None for an abstract.

    `heads` are further fields that may say so, such as a type of article.
    """
    seen = _as_seen(text)
    openings = [_as_seen(title), seen, *map(_as_seen, heads)]
    for kind, pattern in _HEADS:
        if any(re.match(pattern, opening, re.IGNORECASE) for opening in openings):
            return kind
    return WITHDRAWN if n_words(seen) <= LONGEST_NOTICE and _TAKEN_BACK.search(seen) else None


def is_no_abstract(text: str) -> bool:
    """Return whether a text says no more than that there is none ("NA", "No abstract available.", a dash)."""
    return _NO_ABSTRACT.fullmatch(_as_seen(text)) is not None


def _as_seen(text: str) -> str:
    """Return a text as its reader sees it: no markup, no hidden signs, single spaces."""
    if "&" in text:
        text = html.unescape(html.unescape(text))
    text = _TAG.sub(lambda tag: " " if BLOCKS.match(tag.group()) else "", text)
    return joined(normalise(_EMPHASIS.sub("", text), ""))

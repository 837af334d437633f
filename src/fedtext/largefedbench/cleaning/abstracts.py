"""Cleaning of scientific prose: the preprint servers' placeholders, fused headings, markup left in the text.

Markup that is known becomes its character ("n{ge}3" is "n≥3"), or goes if it sets type only. Markup that is not known
stays in the text, for a number or a sign may stand behind it, and is named in the snapshot's counts.

An abstract was written: the parliaments' rules (vocatives, formulas, share of letters) do not apply to it. Braces
and angle brackets of other sources are their authors' own (LaTeX, inequalities), so those texts only have their
spaces closed up.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from fedtext.largefedbench.cleaning.cleaner import Cleaned, Removal
from fedtext.largefedbench.turns import n_words

_LETTERS = """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma
tau upsilon phi chi psi omega"""
_GREEK: dict[str, str] = dict(zip(re.findall(r"\w+", _LETTERS), "αβγδεζηθικλμνξοπρστυφχψω", strict=True))
_SYMBOLS = {
    "micro": "µ", "degrees": "°", "degree": "°", "deg": "°", "+/-": "±", "-/+": "∓", "plusmn": "±", "times": "×",
    "middle dot": "·", "middot": "·", "bullet": "•", "infty": "∞", "infinity": "∞", "prime": "′", "ge": "≥", "geq": "≥",
    "geqslant": "≥", "le": "≤", "leq": "≤", "leqslant": "≤", "gt": ">", "lt": "<", "ne": "≠", "neq": "≠", "approx": "≈",
    "sim": "∼", "simeq": "≃", "cong": "≅", "equiv": "≡", "propto": "∝", "gtrsim": "≳", "lesssim": "≲", "gg": "≫",
    "ll": "≪", "plus": "+", "minus": "−", "div": "÷", "divide": "÷", "cdot": "·", "pm": "±", "mp": "∓", "ell": "ℓ",
    "hbar": "ℏ", "partial": "∂", "nabla": "∇", "sum": "∑", "prod": "∏", "int": "∫", "surd": "√", "radic": "√",
    "rightarrow": "→", "right arrow": "→", "to": "→", "leftarrow": "←", "left arrow": "←", "uparrow": "↑",
    "up arrow": "↑", "downarrow": "↓", "down arrow": "↓", "leftrightarrow": "↔", "angstrom": "Å", "euro": "€",
    "pound": "£", "yen": "¥", "dagger": "†", "cap": "∩", "cup": "∪", "in": "∈", "subset": "⊂", "forall": "∀",
    "exists": "∃", "bigtriangleup": "△", "triangle": "△", "circ": "∘", "star": "⋆", "ast": "∗", "otimes": "⊗",
    "oplus": "⊕", "copyright": "©", "registered": "®", "tm": "™", "trade": "™", "ndash": "–", "mdash": "—",
    "greater than or equal to": "≥", "less than or equal to": "≤", "greater than": ">", "less than": "<",
    "not equal to": "≠", "plus or minus": "±", "+": "+", "-": "−", "approximately": "≈", "almost equal to": "≈",
    "degrees c": "°C", "degree c": "°C", "middle": "·", "multiplication sign": "×", "asterisk": "*",
    "hellip": "…", "per thousand": "‰", "permil": "‰", "varphi": "φ", "varepsilon": "ε", "vartheta": "ϑ", "epsi": "ε",
}  # fmt: skip
_SCRIPT = re.compile(r"\{(super|sub)script ([^{}]*)\}")
# A figure raised after a figure is a power ("10{superscript 6}"): without its height it is another number.
_POWER = re.compile(r"(?<=\d)\{superscript ([−–+-]?\d+)\}|(?<=\d)<(?:jats:)?sup>([−–+-]?\d+)</(?:jats:)?sup>")
_RAISED = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_NAMED = re.compile(r"\{([A-Za-z +/-]{1,28})\}")
_BRACKETED = re.compile(rf"\[({'|'.join(_GREEK)})\]", re.IGNORECASE)  # "[beta]-catenin", of older pages
_SECTIONS = (
    "Abstract|Aims?|Background(?: and (?:aims?|objectives?|purpose))?"
    "|Conclusions?|Discussion|Findings|Interpretation|Introduction|Methods?|Motivation"
    "|Objectives?|Results?"
    "|Significance(?: statement)?|Significance Statement|Summary|Statement of significance|Statement of Significance"
)
# Headings whose words open sentences too: only where a sentence ended, or at the beginning.
_MORE_SECTIONS = (
    "Purposes?|Materials|Patients|Author summary|Lay summary|Plain language summary|One[- ]sentence summary|Rationale"
    "|Importance|Design|Study design|Setting|Participants|Interventions?|Exposures?|Main outcome measures?"
    "|Main outcomes?|Outcomes?|Measurements?|Key results|Main results|Main findings|Key findings|Limitations?"
    "|Hypothesis|Hypotheses|Goals?|Context|Highlights|Graphical abstract"
    "|Competing interest statement|Competing interests?"
    "|Conflicts? of interest|Funding(?: statement)?|Trial registration(?: number)?|Registration|Clinical trial number"
    "|Data availability(?: statement)?|Availability(?: and implementation)?|Implementation|Supplementary information"
    "|Contact|Keywords|Key points|Impact|Novelty|Evidence|Relevance|Clinical relevance|Statement of significance"
    "|Translational relevance|Core messages?(?: of (?:the )?paper)?|Take[- ]home messages?"
    "|Implications|Approach|Problem|Question|Data sources|Study selection|Data synthesis"
    "|Analysis|Strengths|Recommendations|Methodology|Measures|Comparators?|Animals|Cases|Evaluation|Validation|Protocol"
    "|Population|Duration|Evidence before this study|Added value of this study"
    "|Implications of all the available evidence"
    "|Sponsors?|Disclosures?|Acknowledge?ments?|Abbreviations|Future directions"
    "|Strengths and limitations(?: of this study)?"
    "|What (?:is|this study) (?:\\w+ ){0,4}(?:known|new|adds?|topic)|How this study might .{0,60}(?:policy|practice)"
    "|Procedures?|Subjects|Sample|Location|Time period|Major taxa studied|Innovation|Teaser|Ethics"
)


def _any_case(words: str) -> str:
    """Return a pattern of the headings as they stand, with a capital at every word, and in capitals."""
    return f"{words}|{words.title()}|{words.upper()}".replace("(?:And", "(?:and")


_ANY_SECTION = rf"(?:{_any_case(_MORE_SECTIONS)}|{_any_case(_SECTIONS)})"
# "Materials and Methods", "Results and discussion"
_LATER = (
    rf"(?:{_ANY_SECTION}|discussion|methods?|results?|conclusions?|relevance|measures|participants|setting|limitations"
    "|policy|purpose|objectives?|aims?|significance|interpretation|findings)"
)
_JOINED = rf"{_ANY_SECTION}(?:\s*(?:,|/|&|and|AND|And)\s*{_LATER}){{1,4}}"
# The last word of a heading that has others before it: "Clinical trial registrationThe boats ...".
_LAST_WORDS = (
    "abstract|summary|messages?|measures?|outcomes?|participants?|population|type|design|settings?|strategy|criteria"
    "|extraction|synthesis|analysis|analyses|bias|methods?|registration|approval|dissemination|statement|sources?|support"
    "|sponsors?|funding|interests?|disclosures?|declarations?|contributions?|availability|data|materials?|question|brief"
    "|perspectives?|implications?|limitations|relevance|significance|evidence|context|recommendations?|directions|period"
    "|duration|results?|findings?|conclusions?|objectives?|aims?|exposures?|interventions?|presentation|report|description"
    "|words|points|study|review"
)
# No sentence: none of its words is a verb, an article or a pronoun.
_NO_HEADING = (
    r"(?!(?:[TtWwAa]he|[Aa]n?|[WwHh]e|[Ii]t|[TtWw]h[iea]\w+|[Oo]ur|[Ii]s|are|was|were|be|been|has|have|had|can|[Uu]s\w+"
    r"|by|that)\b)"
)
_LONGER = (
    rf"(?=[A-Z]){_NO_HEADING}[A-Za-z][\w/-]*(?:\.\w+)?,?\s(?:(?:&|{_NO_HEADING}[A-Za-z][\w/-]*(?:\.\w+)?,?)\s){{0,5}}?"
    rf"(?:{_LAST_WORDS}|{_LAST_WORDS.title()}|{_LAST_WORDS.upper()})(?=[A-Z][a-z]|[A-Z] [a-z]|(?<=[a-z])[A-Z]{{2}})"
)
# What a heading has lost its end to: a word, or, after a small letter, a name ("ResultsmRNA") or a number.
_FUSED = (
    r"(?:(?=[A-Z][a-z]|[A-Z] [a-z]|[OCM]_[A-Z])"
    r"|(?<=[a-z])(?=[A-Z]{2}|[A-Z]\. [a-z]|[A-Z][\d-]|\d|[a-z]{1,2}[A-Z]|[a-z]{3,4}-\d|https?://|[(\[*“\"']|[α-ω]))"
)
_TAGS = (
    "sup|sub|i|b|u|em|strong|italic|bold|underline|small|sc|span|p|br|hr|div|title|sec|list|list-item|label|li|ul|ol|a"
    "|abstract|h[1-6]|inline-formula|monospace|xref|ext-link|named-content|styled-content"
)
BLOCKS = re.compile(r"</?(?:jats:)?(?:p|br|hr|div|title|sec|list|list-item|li|ul|ol|h[1-6])\b", re.IGNORECASE)
_ATTRIBUTES = r"""(?:\s+[\w:-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>]+))*"""
# HighWire's own codes: O_ opens, C_ closes, M_ marks the middle of something.
_CODES = (
    "FIG_DISPLAY(?:_L)?|FIG|TBL|TABLECAPTION|TABLE|LINKSMALLFIG|LINKFIG|LINKTBL|LINK|LI|SCPLOW|SCPCAP|ST_ABS|STBOX"
    "|TEXTBOX|QD|LST|BOX|UL|OL|FLOATNO|ABSTRACT|DISP_FORMULA|DISPLAY_FORMULA|INLINEFIG|VID|MEDIA|STARTFIG"
)
# Where a sentence or a block of text begins: blocks are a line each.
_OPENS = r"(?:(?<=^)|(?<=\n)|(?<=[.!?)])|(?<=[.!?)]\s))"
_BREAK = re.compile(r"(?<!\s)\s*\n\s*")
_REMOVED = re.compile(
    r"(?=[\[<{ABCDEFGHIKLMNOPQRSTVWXYUJo])"  # what any of them begins with
    r"(?:(?P<formula_placeholder>\[\s*(?:Formula|Figure|Table|Graphic)(?:: see text)?\s*\])"
    r"|(?P<figure>(?:(?i:Graphical abstract)\s*)?O_(?:FIG|TBL)\b.*?(?:C_(?:FIG|TBL)\b|$))"
    r"|(?P<heading>(?:A(?:bstract\s*|BSTRACT\s*)?)?O_ST_ABS(?:(?!O_ST_ABS).){0,200}?C_ST_ABS"
    r"|<(?:jats:)?title>[^<>]{0,120}</(?:jats:)?title>|(?<=^)ABSTRACT\s(?=[A-Z][a-z]))"
    r"|(?P<highwire_link>View larger version \([^()]{0,20}\):|org\.highwire\.[\w.@]*)"
    rf"|(?P<highwire_code>[OCM]_(?:{_CODES}))"
    rf"|(?P<fused_heading>{_OPENS}(?:Abstract|ABSTRACT)(?:{_JOINED}|{_ANY_SECTION}){_FUSED}|{_OPENS}{_JOINED}{_FUSED}"
    rf"|{_OPENS}(?:{_any_case(_MORE_SECTIONS)}){_FUSED}|{_OPENS}{_LONGER}|{_OPENS}Contact(?=\S{{1,64}}@)"
    rf"|(?:(?<=^)|(?<=[.!?)\s]))(?:{_SECTIONS}|{_SECTIONS.upper()}){_FUSED})"
    rf"|(?P<markup></?(?:[a-z]+:)?(?:{_TAGS}){_ATTRIBUTES}\s*/?>|<!--(?:(?!<!--).)*?-->))",
    re.DOTALL,
)
_UNKNOWN = re.compile(
    r"\{[^{}]{1,40}\}|\\[A-Za-z]{2,}|\$[^$\s][^$]{0,40}\$|\[(?:[A-Z][a-z]+[A-Z]\w*|[a-z]{1,3}gr)\]|_[A-Z]{3,}_[A-Z]{3,}(?:_[A-Z]+)*|</?[a-zA-Z][\w:-]{0,20}(?:\s[^<>]{0,200})?/?>|(?<![A-Za-z0-9])[OCM]_[A-Z]{2,}(?:_[A-Z]+)*"
    r"|\borg\.\w+\.[\w.@]+|&[a-z]{2,10};|(?:(?<=^)|(?<=[.!?] ))[A-Z]{6,}(?=[A-Z][a-z]+ )"
)
_SMALL_CAPITALS = re.compile(r"O_SCP(?:LOW|CAP)((?:(?!O_SCP).)*?)C_SCP(?:LOW|CAP)")
_SPACED = frozenset({"formula_placeholder", "figure", "highwire_link", "heading"})
UNKNOWN_MARKUP = "markup"
_PREPRINTS = frozenset({"biorxiv", "medrxiv"})


def clean_abstract(paragraphs: Sequence[str], source: str) -> Cleaned:
    """Return the abstract as one line of prose, without placeholders and markup.

    Entities are decoded, scripts and Greek letters restored; what is not known stays (`unknown_markup`).
    """
    removed: list[Removal] = []

    def take_out(match: re.Match[str]) -> str:
        removed.append(Removal(match.lastgroup or "", match.group()))
        spaced = match.lastgroup in _SPACED or BLOCKS.match(match.group()) or match.group().endswith("_LI")
        return " " if spaced else ""

    text = normalise_abstract(" ".join(paragraphs), source)
    words_read = n_words(text)
    if source in _PREPRINTS:
        text = _REMOVED.sub(take_out, _BREAK.sub("\n", text))
    return Cleaned(" ".join(text.split()), removed, words_read)


def unknown_markup(text: str, source: str) -> list[str]:
    """Return what looks like markup in a cleaned abstract: nothing that the cleaning knows, so it stayed."""
    return _UNKNOWN.findall(text) if source in _PREPRINTS else []


def normalise_abstract(text: str, source: str) -> str:
    """Return the same words in one spelling: HTML entities, {superscript 2}, {beta}; nothing is removed here."""
    if source not in _PREPRINTS:
        return text
    if "&" in text:
        text = html.unescape(html.unescape(text))
    if "_SCP" in text:
        text = _SMALL_CAPITALS.sub(r"\1", text)
        text = re.sub(r"^\s*ABSTRACT(?=\s*O_ST_ABS)", "", text)
    if "{" in text or "sup>" in text:
        text = _POWER.sub(lambda match: (match[1] or match[2]).translate(_RAISED), text)
        text = _NAMED.sub(_symbol, _SCRIPT.sub(r"\2", text))
    if "[" in text:
        text = _BRACKETED.sub(_symbol, text)
    return text.replace("\u00a0", " ")


def _symbol(match: re.Match[str]) -> str:
    name: str = match.group(1).strip()
    greek = _GREEK.get(name.lower())
    if greek:
        return greek.upper() if name[0].isupper() else greek
    return _SYMBOLS.get(name.lower(), str(match.group()))

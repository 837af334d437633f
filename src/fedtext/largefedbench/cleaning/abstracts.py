"""Cleaning of scientific prose: the preprint servers' placeholders, fused headings, markup left in the text.

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
    "micro": "µ",
    "degrees": "°",
    "degree": "°",
    "+/-": "±",
    "times": "×",
    "middle dot": "·",
    "infty": "∞",
    "prime": "′",
}
_SCRIPT = re.compile(r"\{(?:super|sub)script ([^{}]*)\}")
_NAMED = re.compile(r"\{([A-Za-z+/-][A-Za-z +/-]{0,20})\}")
_SECTIONS = (
    "Abstract|Aims?|Background|Conclusions?|Discussion|Findings|Interpretation|Introduction|Methods?|Motivation"
    "|Objectives?|Results?|Significance|Summary"
)
_REMOVED = re.compile(
    r"(?=[\[<{ABCDFIMORS])"  # what any of them begins with
    r"(?:(?P<formula_placeholder>\[\s*(?:Formula|Figure|Table|Graphic)(?:: see text)?\s*\])"
    rf"|(?P<fused_heading>(?:(?<=^)|(?<=[.!?)\s]))(?:{_SECTIONS}|{_SECTIONS.upper()})(?=[A-Z][a-z]))"
    r"|(?P<markup></?[a-zA-Z][\w:-]{0,20}(?:\s[^<>]{0,200})?/?>)"
    r"|(?P<unknown_placeholder>\{[^{}\s]{1,30}\}))"
)
_PREPRINTS = frozenset({"biorxiv", "medrxiv"})


def clean_abstract(paragraphs: Sequence[str], source: str) -> Cleaned:
    """Return the abstract as one line of prose, without placeholders and markup.

    Entities are decoded, scripts and Greek letters restored.
    """
    removed: list[Removal] = []

    def take_out(match: re.Match[str]) -> str:
        removed.append(Removal(match.lastgroup or "", match.group()))
        return " " if match.lastgroup == "formula_placeholder" else ""

    text = normalise_abstract(" ".join(paragraphs), source)
    words_read = n_words(text)
    if source in _PREPRINTS:
        text = _REMOVED.sub(take_out, text)
    return Cleaned(" ".join(text.split()), removed, words_read)


def normalise_abstract(text: str, source: str) -> str:
    """Return the same words in one spelling: HTML entities, {superscript 2}, {beta}; nothing is removed here."""
    if source not in _PREPRINTS:
        return text
    if "&" in text:
        text = html.unescape(html.unescape(text))
    if "{" in text:
        text = _NAMED.sub(_symbol, _SCRIPT.sub(r"\1", text))
    return text.replace("\u00a0", " ")


def _symbol(match: re.Match[str]) -> str:
    name: str = match.group(1).strip()
    greek = _GREEK.get(name.lower())
    if greek:
        return greek.upper() if name[0].isupper() else greek
    return _SYMBOLS.get(name.lower(), str(match.group()))

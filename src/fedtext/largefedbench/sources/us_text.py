"""One granule of the US record as plain text, refused where damage has eaten some of it.

HTML forgives: a parser reads a page that was cut off, takes a stray "<" for a tag and the words after it for the tag's
attributes. A granule that such a reading would shorten in silence is an error instead. Signs that the record's printers
write as tags ("<pound>") become signs; a tag that is not known stays as it is written, and is named.
"""

from __future__ import annotations

import datetime
import html
import re
import string
from collections.abc import Iterator
from typing import Any

from fedtext.largefedbench.raw_pages import decode, parse_html, reading
from fedtext.system.errors import InputError

_UNSEEN = ("script", "style")
_BLOCK = (re.compile(r"<pre\b[^<>]*>", re.IGNORECASE), re.compile(r"</pre\s*>", re.IGNORECASE))
_OPENING = re.compile(r"<pre\b", re.IGNORECASE)
# What a browser does not show, and all other markup that the record's text blocks have: bare tags and links.
_HIDDEN_PARTS = (
    (re.compile("<!--"), re.compile("-->")),
    *((re.compile(rf"<{one}\b[^<>]*>", re.I), re.compile(rf"</{one}\s*>", re.I)) for one in _UNSEEN),
)
_MARKUP = re.compile(r"</?[a-z][\w-]*>|<a href=[^<>]*>", re.IGNORECASE)
_HIDDEN = 8  # bytes of a block that two readings may disagree on: an entity here and there
_DAY = re.compile(r"\[Congressional Record[^\]]*?\((?:[A-Z][a-z]+day), (?P<day>[A-Z][a-z]+ \d{1,2}, \d{4})\)\]")
_HEAD_CHARACTERS = 2000  # the page's own date stands in its first lines


def preformatted(name: str, data: bytes) -> str:
    """Return the text of a granule's `<pre>` block, bullets as "•", scripts and styles left out.

    Raises:
        RawPageError: no such block, or damage to its markup hides words.
    """
    with reading(name):
        root = parse_html(name, data)
        page = decode(data)
        blocks = root.findall(".//pre")
        if not blocks:
            raise InputError("no <pre> block", code="no-text-block")
        written = [page[first:last] for _, first, last, _ in _parts(page, *_BLOCK)]
        if len(written) < len(_OPENING.findall(page)):
            raise InputError("cut off: its <pre> block is not closed", code="text-block-cut-off")
        for unseen in root.iter(*_UNSEEN):
            unseen.text = None
        text = _text(blocks)
        hidden = sum(_size(html.unescape(_MARKUP.sub("", _shown(block)))) for block in written) - _size(text)
        if hidden > _HIDDEN:
            raise InputError(f"its markup is damaged: {hidden} characters are inside a tag", code="markup-damaged")
        return _with_signs(blocks) or text


# Elements of a text block that stand for a sign; never closed, so what follows is their content.
_SIGNS = {
    "bullet": "•", "pound": "£", "cent": "¢", "degrees": "°", "degree": "°", "plus-minus": "±", "register": "®",
    "copyright": "©", "half": "½", "dagger": "†", "dbl-dagger": "‡", "star": "☆", "box": "□",
    "careof": "℅", "natural": "♮", "prime": "′", "yen": "¥", "euro": "€",
}  # fmt: skip
_SETS_TYPE = frozenset({
    "pre", "a", "b", "i", "u", "em", "strong", "inf", "sub", "sup", "font", "br", "p", "div", "span", "center", "table",
    "tr", "td", "th", "hr", "img", "script", "style",
})  # fmt: skip
UNKNOWN_SIGN = re.compile(r"<[a-z][\w-]*>")
_RAISED = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")


def _with_signs(blocks: list[Any]) -> str:
    """Return the text with its signs; an element that is not known stays as it is written. Empty if there is none."""
    found = False
    for element in (one for block in blocks for one in block.iter() if isinstance(one.tag, str)):
        raises = element.tag == "sup" and (element.text or "").strip("+-").isdigit()
        if raises:
            element.text = element.text.translate(_RAISED)
        elif element.tag not in _SETS_TYPE:
            element.text = f"{_SIGNS.get(element.tag, f'<{element.tag}>')}{element.text or ''}"
        else:
            continue
        found = True
    return _text(blocks) if found else ""


def _parts(text: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield where each part and what it encloses begin and end; in linear time, however many are never closed."""
    at = 0
    while (first := opening.search(text, at)) and (last := closing.search(text, first.end())):
        yield first.start(), first.end(), last.start(), last.end()
        at = last.end()


def _shown(block: str) -> str:
    """Return a text block without what a browser does not show."""
    for opening, closing in _HIDDEN_PARTS:
        at, kept = 0, list[str]()
        for start, _, _, end in _parts(block, opening, closing):
            kept.append(block[at:start])
            at = end
        block = "".join([*kept, block[at:]])
    return block


def _text(blocks: list[Any]) -> str:
    return "".join("".join(block.itertext()) for block in blocks)


def _size(text: str) -> int:
    """Return bytes without ASCII space, which markup moves about: one pass, three times as fast as over characters."""
    return len(text.encode().translate(None, string.whitespace.encode()))


def validate_page_date(text: str, date: str) -> None:
    """Check the day that the page's head names, if it names one, against its package's.

    Raises:
        InputError: the page is another day's.
    """
    match = _DAY.search(text[:_HEAD_CHARACTERS])
    if match is None:
        return
    try:
        own = datetime.datetime.strptime(match["day"], "%B %d, %Y").replace(tzinfo=datetime.UTC).date().isoformat()
    except ValueError:
        return  # a head that is no date contradicts none
    if own != date:
        raise InputError(f"a page of {own} in the package of {date}", code="day-of-another-package")

"""One granule of the US record as plain text, refused where damage has eaten some of it.

HTML forgives: a parser reads a page that was cut off, takes a stray "<" for a tag and the words after it for the tag's
attributes. A granule that such a reading would shorten in silence is an error instead.
"""

from __future__ import annotations

import datetime
import html
import re
import string
from typing import Any

from fedtext.largefedbench.raw_pages import decode, parse_html, reading
from fedtext.system.errors import InputError

_UNSEEN = ("script", "style")
_BLOCK = re.compile(r"<pre\b[^<>]*>(.*?)</pre\s*>", re.IGNORECASE | re.DOTALL)
_OPENING = re.compile(r"<pre\b", re.IGNORECASE)
# All markup that the record's text blocks have: bare tags, links, and what a browser does not show.
_MARKUP = re.compile(
    r"<(script|style)\b[^<>]*>.*?</\1\s*>|<!--.*?-->|</?[a-z][\w-]*>|<a href=[^<>]*>", re.IGNORECASE | re.DOTALL
)
_HIDDEN = 8  # bytes of a block that two readings may disagree on: an entity here and there
_DAY = re.compile(r"\[Congressional Record[^\]]*?\((?:[A-Z][a-z]+day), (?P<day>[A-Z][a-z]+ \d{1,2}, \d{4})\)\]")
_HEAD_CHARACTERS = 2000  # the page's own date stands in its first lines


def preformatted(name: str, data: bytes) -> str:
    """The text of a granule's `<pre>` block, bullets as "•", scripts and styles left out.

    Raises:
        RawPageError: no such block, or damage to its markup hides words.
    """
    with reading(name):
        page = decode(data)
        root = parse_html(name, data)
        blocks = root.findall(".//pre")
        if not blocks:
            raise InputError("no <pre> block")
        written = _BLOCK.findall(page)
        if len(written) < len(_OPENING.findall(page)):
            raise InputError("cut off: its <pre> block is not closed")
        for unseen in root.iter(*_UNSEEN):
            unseen.text = None
        text = _text(blocks)
        hidden = sum(_size(html.unescape(_MARKUP.sub("", block))) for block in written) - _size(text)
        if hidden > _HIDDEN:
            raise InputError(f"its markup is damaged: {hidden} characters are inside a tag")
        marks = list(root.iter("bullet"))
        for mark in marks:
            mark.text = f"•{mark.text or ''}"  # never closed: what follows is its content
        return _text(blocks) if marks else text


def _text(blocks: list[Any]) -> str:
    return "".join("".join(block.itertext()) for block in blocks)


def _size(text: str) -> int:
    """Bytes without ASCII space, which markup moves about: one pass, three times as fast as over characters."""
    return len(text.encode().translate(None, string.whitespace.encode()))


def refuse_other_day(text: str, date: str) -> None:
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
        raise InputError(f"a page of {own} in the package of {date}")

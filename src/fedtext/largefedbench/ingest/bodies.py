"""Reading what a server sent before it is stored: HTTP 200 says nothing about what is inside."""

from __future__ import annotations

import json
from typing import Any, cast

from fedtext.largefedbench.ingest.errors import UnusableAnswerError
from fedtext.largefedbench.raw_pages import BOM, RawPageError, parse_xml

LONGEST_NUMBER = 12  # digits; no source counts in millions of millions


def json_object(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`, with or without a byte order mark.

    Raises:
        UnusableAnswerError: HTML, truncated JSON, another encoding, or JSON that is not an object.
    """
    text = body.removeprefix(BOM).strip()
    if text[:1] == b"<":
        raise UnusableAnswerError(f"HTML or XML where JSON was due: {excerpt(text)}")
    try:
        value = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UnusableAnswerError(f"not JSON ({error}): {excerpt(text)}") from None
    if not isinstance(value, dict):
        raise UnusableAnswerError(f"JSON {type(value).__name__} where an object was due")
    return cast(dict[str, Any], value)


def whole_number(value: Any, name: str) -> int:
    """A count that sources write as a number or as a string of digits.

    Raises:
        UnusableAnswerError: it is neither.
    """
    text = str(value).strip()
    if isinstance(value, bool) or not text.isascii() or not text.isdigit() or len(text) > LONGEST_NUMBER:
        raise UnusableAnswerError(f"{name} is {text[:40]!r}, not a count")
    return int(text)


def records(value: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The list of objects under `name`.

    Raises:
        UnusableAnswerError: there is none; the body is an error in another shape.
    """
    found = value.get(name)
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise UnusableAnswerError(f"no list of objects under {name!r}: {excerpt(json.dumps(value).encode())}")
    return cast(list[dict[str, Any]], found)


def xml_root(name: str, body: bytes, *, root: str) -> Any:
    """Root element of an XML page named `root`, read as the builder will read it; entities that expand are refused.

    Raises:
        UnusableAnswerError: HTML, truncated or hostile XML, another document.
    """
    try:
        return parse_xml(name, body.removeprefix(BOM), root=root)
    except RawPageError as error:
        raise UnusableAnswerError(f"not a page of <{root}>: {error.reason}") from None


def excerpt(body: bytes) -> str:
    """The start of a body, on one line, for a message."""
    return " ".join(body[:120].decode("utf-8", "replace").split())

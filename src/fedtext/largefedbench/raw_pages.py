"""Raw pages as the ingest left them: immutable files read into bytes, XML, HTML or JSON, or one named error.

Nothing a public source sends is trusted: entity declarations that expand, documents nested too deep, truncated gzip and
text that is not UTF-8 all end as a `RawPageError` that names the file and the reason.
"""

from __future__ import annotations

import datetime
import gzip
import io
import json
import lzma
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree
from lxml import html as lxml_html

from fedtext.system.errors import FedtextError, InputError

BOM = b"\xef\xbb\xbf"
MAX_BYTES = 256 * 2**20  # no page of these sources comes near it; a gzip bomb does
MAX_HTML_BYTES = 9_500_000  # libxml2 cuts off a text of 10 MB
MAX_NUL_SHARE = 0.25  # UTF-16 read as UTF-8 is half NULs; the US record pads some pages with a tenth
# No page of these sources is older than the oldest of their records or dated after this: a wrong year is a wrong page.
YEARS = range(1774, 2101)
MAX_ENTITY_CHARS = 8  # UK pages declare entities for single characters; anything longer is not one

# What reading hostile bytes can raise, in lxml, in zlib and zipfile (an unknown method is a NotImplementedError, an
# encrypted file a RuntimeError), and in our own indexing of what they decode to.
READING_FAULTS = (
    etree.LxmlError, ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, EOFError, OSError,
    zlib.error, lzma.LZMAError, struct.error, zipfile.BadZipFile, RuntimeError,
)  # fmt: skip


class RawPageError(FedtextError):
    """A raw page that cannot be read: its name under the raw directory, and why."""

    def __init__(self, name: str, reason: str, *, code: str, value: object = None) -> None:
        super().__init__(f"{name}: {reason}", code=code, value=value)
        self.name = name
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"raw page {self.name}: {self.reason}; fetch it again, or build with largefedbench.on_bad_page=continue "
            "to leave it out and have it listed"
        )


class Completeness(NamedTuple):
    """The number of parts that a page claims, and the names of missing ones; `name` is the place of the claim."""

    name: str
    expected: int
    missing: tuple[str, ...]

    def error(self) -> RawPageError | None:
        """Return the loss as an error, None if all parts are there."""
        if not self.missing:
            return None
        said = f"lists {self.expected} parts, of which {len(self.missing)} are not there: {', '.join(self.missing)}"
        return RawPageError(self.name, said, code="parts-missing", value=self.missing)


class SkippedPageError(RawPageError):
    """A valid page of a kind without clients; it is listed by name with the reason, and the build goes on."""

    def __str__(self) -> str:
        return f"raw page {self.name} is left aside: {self.reason}"


@dataclass(frozen=True, order=True)
class RawPage:
    """One file (or one day's directory, for the US) of raw material; `name` is its path under the raw directory."""

    name: str
    path: Path
    superseded: bool = False

    def read(self) -> bytes:
        """Return the page's bytes, decompressed if the file is gzip, without a byte order mark."""
        with reading(self.name):
            return read_bytes(self.path)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn any error from reading untrusted bytes into a `RawPageError` that names the page."""
    try:
        yield
    except RawPageError:
        raise
    except InputError as fault:
        raise RawPageError(name, _reason(fault), code=fault.code, value=fault.value) from fault
    except READING_FAULTS as fault:
        raise RawPageError(name, _reason(fault), code="page-unreadable") from fault


def _reason(fault: Exception) -> str:
    text = " ".join(str(fault).split())[:200]
    return f"{type(fault).__name__}: {text}" if text else type(fault).__name__


def read_bytes(path: Path) -> bytes:
    """Read the bytes of a plain or gzip file (recognised by its first two bytes), at most `MAX_BYTES`."""
    return unpacked(regular(path).read_bytes())


def regular(path: Path) -> Path:
    """Return `path`, which must be a file, or a link to one: a device or a pipe may never end.

    Raises:
        InputError: it is anything else, or larger than `MAX_BYTES`.
    """
    facts = path.stat()
    if not stat.S_ISREG(facts.st_mode):
        raise InputError(
            "neither a file nor a link to one: a device, a pipe or a folder is not read", code="not-a-regular-file"
        )
    if facts.st_size > MAX_BYTES:
        raise InputError(f"larger than {MAX_BYTES} bytes", code="file-too-large", value=MAX_BYTES)
    return path


def printable(name: str) -> str:
    """Return a file's name with the bytes that are not UTF-8 written in hexadecimal."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def unpacked(data: bytes) -> bytes:
    """Return the bytes, decompressed if they are gzip, without a byte order mark; at most `MAX_BYTES`."""
    if data[:2] == b"\x1f\x8b":
        with gzip.open(io.BytesIO(data)) as file:
            data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError(f"larger than {MAX_BYTES} bytes", code="decompressed-too-large", value=MAX_BYTES)
    return data.removeprefix(BOM)


def possible_date(year: int, month: int, day: int) -> str:
    """Return the ISO date of a page or a row.

    Raises:
        ValueError: There is no such day, or no source existed in that year.
    """
    date = datetime.date(year, month, day).isoformat()
    if year not in YEARS:
        raise InputError(f"dated {date}: no page of {YEARS[0]} to {YEARS[-1]}", code="impossible-date", value=date)
    return date


def parse_xml(name: str, data: bytes, *, root: str) -> Any:
    """Parse an XML page and return its root element, which must be named `root`; entities that expand are refused."""
    with reading(name):
        element = etree.fromstring(data, _xml_parser(resolve=False))
        declared = element.getroottree().docinfo.internalDTD
        if declared is not None and any(True for _ in declared.iterentities()):
            _validate_entities(declared)
            element = etree.fromstring(data, _xml_parser(resolve=True))
        if etree.QName(element).localname != root:
            raise InputError(
                f"root element is <{etree.QName(element).localname}>, expected <{root}>", code="another-root-element"
            )
        return element


def _xml_parser(*, resolve: bool) -> Any:
    return etree.XMLParser(
        resolve_entities="internal" if resolve else False, no_network=True, load_dtd=False, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip


def _validate_entities(declared: Any) -> None:
    """Raise an error for entities other than a few literal characters: none may be nested or external."""
    for entity in declared.iterentities():
        content = entity.content or ""
        if entity.system_url or "&" in content or "<" in content or len(content) > MAX_ENTITY_CHARS:
            raise InputError(
                f"declares the entity {entity.name!r}, which stands for more than a few plain characters: refused",
                code="unsafe-entity",
            )


def parse_html(name: str, data: bytes) -> Any:
    """Parse an HTML page as UTF-8, and return its root element."""
    with reading(name):
        text = decode(data)
        if not text.strip():
            raise InputError("empty", code="page-empty")
        if len(data) > MAX_HTML_BYTES:
            raise InputError(
                f"larger than {MAX_HTML_BYTES} bytes: no HTML page of these sources comes near it",
                code="html-too-large",
                value=MAX_HTML_BYTES,
            )
        return lxml_html.document_fromstring(text, parser=lxml_html.HTMLParser(huge_tree=False, remove_comments=True))


def parse_json(name: str, data: bytes) -> Any:
    """Return the JSON value of a page."""
    with reading(name):
        return json.loads(decode(data))


def decode(data: bytes) -> str:
    """Decode UTF-8 text.

    A stray NUL is dropped (real pages of the US record hold some); many mean another encoding.
    """
    text = data.decode("utf-8")
    nuls = text.count("\x00")
    if nuls > len(text) * MAX_NUL_SHARE:
        raise InputError(f"{nuls} of {len(text)} characters are NUL: not UTF-8 text", code="page-of-nuls")
    return text.replace("\x00", "")

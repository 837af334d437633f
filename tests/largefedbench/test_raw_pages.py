from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from fedtext.largefedbench import raw_pages
from fedtext.largefedbench.raw_pages import RawPage, decode, parse_html, parse_json, parse_xml
from tests.refusals import refuses


def test_gzip_and_byte_order_mark_are_taken_off(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"\xef\xbb\xbfabc")
    (tmp_path / "packed").write_bytes(gzip.compress(b"\xef\xbb\xbfabc"))
    assert RawPage("plain", tmp_path / "plain").read() == b"abc"
    assert RawPage("packed", tmp_path / "packed").read() == b"abc"


def test_truncated_gzip_names_the_page(tmp_path: Path) -> None:
    path = tmp_path / "page.json.gz"
    path.write_bytes(gzip.compress(b"abc" * 1000)[:-9])
    with refuses("page-unreadable"):
        RawPage("biorxiv/page", path).read()


def test_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_pages, "MAX_BYTES", 1000)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"0" * 5000))
    with refuses("decompressed-too-large", value=1000):
        RawPage("bomb", path).read()


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">',
        '<!ENTITY a SYSTEM "file:///etc/passwd">',
        '<!ENTITY a "longer than a character">',
        '<!ENTITY % p SYSTEM "http://example.org/x.dtd"> %p;',
        '<!ENTITY a "<b/>">',
    ],
)
def test_entities_that_expand_are_refused(declaration: str) -> None:
    page = f"<!DOCTYPE page [{declaration}]><page>x</page>".encode()
    with refuses("unsafe-entity"):
        parse_xml("page", page, root="page")


def test_entities_for_characters_are_read() -> None:
    page = b'<!DOCTYPE page [<!ENTITY pound "&#163;">]><page>&pound;5 &lt; &#8364;6</page>'
    assert parse_xml("page", page, root="page").text == "£5 < €6"


def test_an_undeclared_entity_is_an_error() -> None:
    with refuses("page-unreadable"):
        parse_xml("page", b"<page>&nbsp;</page>", root="page")


def test_the_root_must_be_the_expected_one() -> None:
    with refuses("another-root-element"):
        parse_xml("page", b"<html/>", root="Hansard")


def test_nesting_has_a_limit() -> None:
    with refuses("page-unreadable"):
        parse_xml("page", b"<page>" * 5000 + b"</page>" * 5000, root="page")


def test_other_encodings_are_named() -> None:
    with refuses("page-unreadable"):
        parse_json("page", "é".encode("latin-1"))
    with refuses("page-of-nuls"):
        parse_html("page", "<pre>abcdef</pre>".encode("utf-16-le"))


def test_a_stray_nul_is_dropped() -> None:
    assert decode(b"abcdefgh\x00ij") == "abcdefghij"


def test_an_empty_page_is_an_error() -> None:
    with refuses("page-empty"):
        parse_html("page", b"  ")


def test_a_deep_json_page_is_an_error() -> None:
    with refuses("page-unreadable"):
        parse_json("page", b"[" * 100_000)

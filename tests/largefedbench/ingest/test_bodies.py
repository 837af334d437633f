from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.largefedbench.ingest import bodies
from fedtext.largefedbench.ingest.errors import UnusableAnswerError
from fedtext.largefedbench.ingest.links import same_origin_link
from tests.largefedbench.ingest import shapes


@pytest.mark.parametrize(
    "body",
    [shapes.HTML_ERROR, b"", b"{", b'{"a": 1', b"[1]", b'"text"', b"null", '{"a": "é"}'.encode("latin-1"), b"[" * 10**5,
     b'{"a": 1}\x00', "{}".encode("utf-16")],
)  # fmt: skip
def test_what_is_no_json_object_is_unusable(body: bytes) -> None:
    with pytest.raises(UnusableAnswerError):
        bodies.json_object(body)


def test_a_byte_order_mark_is_passed_over() -> None:
    assert bodies.json_object(shapes.BOM + b' {"a": [1]}\n') == {"a": [1]}
    assert bodies.xml_root("x", shapes.BOM + b"<Hansard/>", root="Hansard").tag == "Hansard"


@pytest.mark.parametrize(("value", "number"), [(7, 7), ("7", 7), (" 0 ", 0), ("007", 7)])
def test_counts_are_numbers_or_strings(value: Any, number: int) -> None:
    assert bodies.whole_number(value, "total") == number


@pytest.mark.parametrize("value", [None, True, "", "-1", -1, 1.5, "1e3", "²", "9" * 13, [], "many"])
def test_what_is_no_count_is_unusable(value: Any) -> None:
    with pytest.raises(UnusableAnswerError, match="total is"):
        bodies.whole_number(value, "total")


@pytest.mark.parametrize("value", [{}, {"rows": None}, {"rows": {}}, {"rows": [1]}, {"error": "no"}])
def test_records_must_be_objects(value: dict[str, Any]) -> None:
    with pytest.raises(UnusableAnswerError, match="rows"):
        bodies.records(value, "rows")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (shapes.HTML_ERROR, "not a page of <publicwhip>"),
        (b"", "not a page"),
        (shapes.uk_day("2024-03-18")[:-30], "not a page"),
        (b"<other/>", "root element is <other>"),
        (shapes.bomb("publicwhip"), "declares the entity"),
        (b'<!DOCTYPE p [<!ENTITY x SYSTEM "file:///etc/passwd">]><publicwhip>&x;</publicwhip>', "declares the entity"),
    ],
)
def test_xml_must_be_whole_and_harmless(body: bytes, reason: str) -> None:
    with pytest.raises(UnusableAnswerError, match=reason):
        bodies.xml_root("day", body, root="publicwhip")


@given(st.binary(max_size=300))
def test_any_bytes_end_in_an_object_or_a_named_error(body: bytes) -> None:
    with suppress(UnusableAnswerError):
        assert isinstance(bodies.json_object(body), dict)
    with pytest.raises(UnusableAnswerError):
        bodies.xml_root("x", body, root="no-such-root")


def test_links_stay_on_their_server_and_carry_no_key() -> None:
    url = "https://api.example/list?a=1"
    assert same_origin_link(url, "/next?b=2") == "https://api.example/next?b=2"
    assert same_origin_link(url, "https://api.example/n?api_key=hush&b=2") == "https://api.example/n?b=2"
    for link in ("https://evil.example/next", "http://api.example/next", "//evil.example/", "https://api.example:444/"):
        with pytest.raises(UnusableAnswerError, match="leads to"):
            same_origin_link(url, link)

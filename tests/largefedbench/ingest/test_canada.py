from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import respx

from fedtext.largefedbench.ingest import canada
from fedtext.largefedbench.ingest.errors import UnusableAnswerError
from tests.largefedbench.ingest import shapes
from tests.refusals import refuses

Pull = Callable[..., dict[str, Any]]
LISTING = "https://api.openparliament.ca/debates/"
HOUSE = "https://www.ourcommons.ca/Content/House/441/Debates"
CA = {"sessions": "44-1"}


def ok(content: bytes) -> httpx.Response:
    return httpx.Response(200, content=content)


def serve_sitting(router: respx.MockRouter, number: int, answer: httpx.Response | None = None) -> respx.Route:
    url = f"{HOUSE}/{number:03d}/HAN{number:03d}-E.XML"
    return router.get(url).mock(return_value=answer or ok(shapes.sitting(number, "2024-03-18")))


def done(root: Path, session: str = "44-1") -> dict[str, Any]:
    note: dict[str, Any] = json.loads((root / "ca" / session / "2024-W12" / "_done.json").read_text("utf-8"))
    return note


def test_listed_sittings_are_fetched_with_their_mark(
    respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path
) -> None:
    listing = respx_mock.get(LISTING).mock(
        return_value=ok(shapes.sittings([("2024-03-19", "292"), ("2024-03-18", "291")]))
    )
    for number in (291, 292):
        serve_sitting(respx_mock, number)
    pull_week("ca", ca=CA)
    asked = listing.calls.last.request.url.params
    assert (asked["session"], asked["date__range"], asked["format"]) == ("44-1", "2024-03-18,2024-03-24", "json")
    stored = gzip.decompress((tmp_path / "ca" / "44-1" / "2024-W12" / "HAN291-E.xml.gz").read_bytes())
    assert stored == shapes.sitting(291, "2024-03-18")
    assert stored.startswith(shapes.BOM)
    assert [page["name"] for page in done(tmp_path)["pages"]] == ["HAN291-E.xml.gz", "HAN292-E.xml.gz"]


def test_a_second_sitting_under_one_number(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    found = [("2024-03-18", "128"), ("2024-03-18", "128-B")]
    listing = respx_mock.get(LISTING).mock(return_value=ok(shapes.sittings(found)))
    serve_sitting(respx_mock, 128)
    respx_mock.get(f"{HOUSE}/128B/HAN128B-E.XML").mock(return_value=ok(shapes.sitting(128, "2024-03-18")))
    pull_week("ca", ca=CA)
    assert [page["name"] for page in done(tmp_path)["pages"]] == ["HAN128-E.xml.gz", "HAN128B-E.xml.gz"]
    assert listing.calls.last.request.headers["API-Version"] == "v1"


@pytest.mark.parametrize("number", ["12-34", "B", "", None, "128-BC"])
def test_another_number_is_no_sitting(number: object) -> None:
    with refuses("canada-sitting-number"):
        canada.sitting_number(number)


def test_a_sitting_not_published_is_missing(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    respx_mock.get(LISTING).mock(return_value=ok(shapes.sittings([("2024-03-18", "7"), ("2024-03-19", "8")])))
    serve_sitting(respx_mock, 7)
    serve_sitting(respx_mock, 8, httpx.Response(404, content=shapes.HTML_ERROR))
    report = pull_week("ca", ca=CA)
    assert (report["missing"], report["records"]) == (1, 1)
    assert done(tmp_path)["missing"] == {"HAN008-E.XML": "no sitting published for 2024-03-19"}


def test_every_session_is_asked_for(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    listing = respx_mock.get(LISTING).mock(return_value=ok(shapes.sittings([])))
    pull_week("ca")
    assert [call.request.url.params["session"] for call in listing.calls] == ["44-1", "45-1"]
    assert done(tmp_path, "45-1")["pages"] == []


def test_the_list_has_pages(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    second = respx_mock.get(LISTING, params={"offset": "1"}).mock(
        return_value=ok(shapes.sittings([("2024-03-19", "2")]))
    )
    first = shapes.sittings([("2024-03-18", "1")], "/debates/?offset=1&session=44-1")
    respx_mock.get(LISTING).mock(return_value=ok(first))
    serve_sitting(respx_mock, 1)
    serve_sitting(respx_mock, 2)
    pull_week("ca", ca=CA)
    assert second.call_count == 1
    assert done(tmp_path)["expected"] == 2


@pytest.mark.parametrize(
    ("link", "code"),
    [
        ("/debates/?offset=1", "canada-listing-in-a-circle"),
        ("https://evil.example/debates/", "next-link-leads-away"),
    ],
)
def test_a_list_that_goes_round_or_away_is_refused(
    respx_mock: respx.MockRouter, pull_week: Pull, link: str, code: str
) -> None:
    respx_mock.get(LISTING).mock(return_value=ok(shapes.sittings([("2024-03-18", "1")], link)))
    with refuses(code):
        pull_week("ca", ca=CA)


def test_a_list_of_other_days_is_refused(respx_mock: respx.MockRouter, pull_week: Pull) -> None:
    respx_mock.get(LISTING).mock(return_value=ok(shapes.sittings([("2013-02-15", "213")])))
    with refuses("canada-sitting-outside-week", value="2013-02-15"):
        pull_week("ca", ca=CA)


@pytest.mark.parametrize(
    "body",
    [
        shapes.HTML_ERROR, b'{"objects": null}', shapes.sittings([("18 March", "291")]),
        shapes.sittings([("2024-03-18", "two")]), shapes.as_json({"error": "rate limit"}),
    ],
)  # fmt: skip
def test_a_bad_list_is_asked_for_again(
    respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path, body: bytes
) -> None:
    respx_mock.get(LISTING).mock(side_effect=[ok(body), ok(shapes.sittings([]))])
    pull_week("ca", ca=CA)
    assert done(tmp_path)["expected"] == 0


@pytest.mark.parametrize("body", [shapes.HTML_ERROR, shapes.bomb("Hansard"), shapes.sitting(291, "2024-03-18")[:-20]])
def test_a_bad_sitting_is_refused(respx_mock: respx.MockRouter, pull_week: Pull, body: bytes) -> None:
    respx_mock.get(LISTING).mock(return_value=ok(shapes.sittings([("2024-03-18", "291")])))
    route = serve_sitting(respx_mock, 291, ok(body))
    with pytest.raises(UnusableAnswerError) as caught:
        pull_week("ca", ca=CA)
    assert "HAN291-E.XML" in str(caught.value)
    assert route.call_count == 3

from __future__ import annotations

import io
import json
import os
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import respx

from fedtext.largefedbench.ingest import us
from fedtext.largefedbench.ingest.http_client import Clock, HttpClient
from fedtext.params.ingest import Requests
from tests.largefedbench.ingest import shapes
from tests.largefedbench.ingest.conftest import FakeTime
from tests.parameters import conf_base
from tests.refusals import refuses

Pull = Callable[..., dict[str, Any]]
LISTING = "https://api.govinfo.gov/published/2024-03-18/2024-03-24"
DAYS = ["2024-03-18", "2024-03-19"]
IDS = [f"CREC-{day}" for day in DAYS]


def ok(content: bytes) -> httpx.Response:
    return httpx.Response(200, content=content)


def serve_days(router: respx.MockRouter, *days: str) -> None:
    for day in days:
        router.get(f"https://www.govinfo.gov/content/pkg/CREC-{day}.zip").mock(return_value=ok(shapes.crec(day)))


def done(root: Path) -> dict[str, Any]:
    note: dict[str, Any] = json.loads((root / "us" / "2024-W12" / "_done.json").read_text("utf-8"))
    return note


def test_the_list_is_followed_and_packages_reduced(
    respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path
) -> None:
    following = f"{LISTING}?offsetMark=AoE&pageSize=1000&collection=CREC&api_key=leaked"
    second = respx_mock.get(LISTING, params={"offsetMark": "AoE"}).mock(return_value=ok(shapes.packages(IDS[1:], "2")))
    first = respx_mock.get(LISTING, params={"offsetMark": "*", "collection": "CREC"})
    first.mock(return_value=ok(shapes.packages(IDS[:1], 2, following)))
    serve_days(respx_mock, *DAYS)
    pull_week("us")
    assert "api_key" not in second.calls.last.request.url.params
    with zipfile.ZipFile(tmp_path / "us" / "2024-W12" / f"{IDS[0]}.zip") as package:
        assert package.namelist() == [f"{IDS[0]}/html/{IDS[0]}-pt1-PgH1200-2.htm", f"{IDS[0]}/mods.xml"]
    assert (done(tmp_path)["records"], done(tmp_path)["notes"]) == (2, {"granules": 2})


def test_a_package_made_again_gives_the_same_bytes() -> None:
    early, late = (shapes.crec(DAYS[0], stamp=(year, 1, 1, 0, 0, 0)) for year in (2023, 2025))
    assert early != late
    assert us.reduced_package(IDS[0], io.BytesIO(early)) == us.reduced_package(IDS[0], io.BytesIO(late))


def test_a_package_still_being_made_is_waited_for(
    respx_mock: respx.MockRouter, pull_week: Pull, time: FakeTime
) -> None:
    respx_mock.get(LISTING).mock(return_value=ok(shapes.packages(IDS[:1])))
    busy = httpx.Response(503, headers={"Retry-After": "30"}, content=shapes.HTML_ERROR)
    url = f"https://www.govinfo.gov/content/pkg/{IDS[0]}.zip"
    route = respx_mock.get(url).mock(side_effect=[busy, busy, ok(shapes.crec(DAYS[0]))])
    pull_week("us", us={"interval": 0.0})
    assert (route.call_count, time.waits) == (3, [30.0, 30.0])


def test_a_day_listed_and_not_there_and_other_packages(
    respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path
) -> None:
    respx_mock.get(LISTING).mock(return_value=ok(shapes.packages([*IDS, "CREC-2024-03-18-errata"])))
    serve_days(respx_mock, DAYS[0])
    respx_mock.get(f"https://www.govinfo.gov/content/pkg/{IDS[1]}.zip").mock(return_value=httpx.Response(404))
    pull_week("us")
    assert done(tmp_path)["missing"] == {IDS[1]: "listed but not there"}
    assert list(done(tmp_path)["rejected"]) == ["CREC-2024-03-18-errata"]
    assert done(tmp_path)["reconciled"] is True


def test_a_count_that_does_not_match_the_list(respx_mock: respx.MockRouter, pull_week: Pull) -> None:
    respx_mock.get(LISTING).mock(return_value=ok(shapes.packages(IDS[:1], 2)))
    serve_days(respx_mock, DAYS[0])
    with refuses("window-incomplete"):
        pull_week("us")


def test_a_list_that_leads_elsewhere_gets_no_key(respx_mock: respx.MockRouter, pull_week: Pull) -> None:
    respx_mock.get(LISTING).mock(return_value=ok(shapes.packages(IDS[:1], 2, "https://evil.example/published")))
    with refuses("next-link-leads-away", value="evil.example"):
        pull_week("us")


def test_a_refused_key_is_named(respx_mock: respx.MockRouter, pull_week: Pull) -> None:
    respx_mock.get(LISTING).mock(return_value=httpx.Response(403, json={"error": {"code": "API_KEY_INVALID"}}))
    with refuses("key-refused"):
        pull_week("us")


def test_no_key_no_request(respx_mock: respx.MockRouter, pull_week: Pull) -> None:
    with refuses("key-not-set", parameter="GOVINFO_API_KEY"):
        pull_week("us", environment={"FEDTEXT_CONTACT": "corpus@example.org"})
    assert respx_mock.calls.call_count == 0


def large() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("CREC-2024-03-18/mods.xml", bytes(3 * 10**6))
    return buffer.getvalue()


def test_a_large_package_stays_on_disk(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    """Its PDF files are never in memory: what Python holds at once is far less than the package."""
    buffer = io.BytesIO(shapes.crec("2024-03-18"))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("CREC-2024-03-18/pdf/large.pdf", os.urandom(2**26))
    package = buffer.getvalue()

    class Wire(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield from (package[at : at + 2**16] for at in range(0, len(package), 2**16))

    client = HttpClient("a@example.org", 0.0, conf_base(Requests, robots="ignore"), Clock())
    respx_mock.get("https://us.example/a.zip").mock(return_value=httpx.Response(200, stream=Wire()))
    tracemalloc.start()
    try:
        kept = client.fetch_file("https://us.example/a.zip", partial(us.reduced_package, "CREC-2024-03-18"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert kept is not None
    assert len(kept) < 2**14
    assert peak < 2**25


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (shapes.HTML_ERROR, "package-not-whole"),
        (b"", "package-not-whole"),
        (shapes.crec(DAYS[0])[:-200], "package-not-whole"),
        (shapes.crec(DAYS[0]).replace(b"river rose", b"river sank"), "package-not-whole"),
        (shapes.crec(DAYS[0], mods=shapes.bomb("mods")), "unsafe-entity"),
        (shapes.crec(DAYS[0], mods=b"<html/>"), "another-root-element"),
        (shapes.crec(DAYS[0]).replace(b"/html/", b"/text/"), "package-incomplete"),
        (shapes.crec(DAYS[0]).replace(b"mods.xml", b"mods.txt"), "package-incomplete"),
        (large(), "package-too-large"),
    ],
)
def test_a_bad_package_is_refused(monkeypatch: pytest.MonkeyPatch, body: bytes, code: str) -> None:
    monkeypatch.setattr(us, "LARGEST_PACKAGE", 10**6)
    with refuses(code):
        us.reduced_package(IDS[0], io.BytesIO(body))

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
import respx

from fedtext.largefedbench.ingest import pubmed
from tests.largefedbench.ingest import shapes
from tests.refusals import refuses

Pull = Callable[..., dict[str, Any]]
BASE = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"


def form(request: httpx.Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(request.content.decode()).items()}


def ids(request: httpx.Request) -> list[int]:
    return [int(i) for i in form(request)["id"].split(",")]


def serve(
    router: respx.MockRouter, found: dict[str, list[int]], largest: int = 9999
) -> tuple[respx.Route, respx.Route]:
    """A PubMed with articles by day, cut off at `largest` a search."""

    def search(request: httpx.Request) -> httpx.Response:
        asked = form(request)
        dates = (asked["mindate"].replace("/", "-"), asked["maxdate"].replace("/", "-"))
        matching = [i for day, batch in sorted(found.items()) if dates[0] <= day <= dates[1] for i in batch]
        return httpx.Response(200, content=shapes.search(matching[:largest], str(len(matching))))

    def fetch(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=shapes.articles(reversed(ids(request))))

    return (
        router.post(f"{BASE}/esearch.fcgi").mock(side_effect=search),
        router.post(f"{BASE}/efetch.fcgi").mock(side_effect=fetch),
    )


def done(root: Path) -> dict[str, Any]:
    note: dict[str, Any] = json.loads((root / "pubmed" / "2024-W12" / "_done.json").read_text("utf-8"))
    return note


def test_ids_are_searched_and_fetched_in_batches(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    search, fetch = serve(respx_mock, {"2024-03-18": [5, 3, 1], "2024-03-24": [4, 2], "2024-03-25": [9]})
    pull_week("pubmed", pubmed={"batch": 2})
    asked = form(search.calls.last.request)
    assert (asked["mindate"], asked["maxdate"], asked["datetype"]) == ("2024/03/18", "2024/03/24", "edat")
    assert (asked["email"], asked["tool"]) == ("corpus@example.org", "fedtext")
    assert [ids(call.request) for call in fetch.calls] == [[1, 2], [3, 4], [5]]
    assert (done(tmp_path)["records"], len(done(tmp_path)["pages"])) == (5, 3)
    page = gzip.decompress((tmp_path / "pubmed" / "2024-W12" / "0002.xml.gz").read_bytes())
    assert page == shapes.articles([5])


def test_a_week_over_the_cap_is_halved_down_to_days(
    respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pubmed, "LARGEST_SEARCH", 4)
    days = {f"2024-03-{18 + n}": [10 * n + k for k in range(1, 4)] for n in range(7)}
    search, _ = serve(respx_mock, days, largest=4)
    pull_week("pubmed")
    assert done(tmp_path)["records"] == 21
    assert search.call_count == 13  # a week halved into seven days is a binary tree of seven leaves


def test_a_day_over_the_cap_is_an_error_that_says_what_to_do(
    respx_mock: respx.MockRouter, pull_week: Pull, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pubmed, "LARGEST_SEARCH", 4)
    serve(respx_mock, {"2024-03-20": [1, 2, 3, 4, 5]}, largest=4)
    with refuses("search-too-large", value=5):
        pull_week("pubmed")


@pytest.mark.parametrize(
    "bad",
    [
        httpx.Response(200, json={"esearchresult": {"ERROR": "Search Backend failed"}}),
        httpx.Response(200, json={"error": "API rate limit exceeded", "count": "4"}),
        httpx.Response(429, json={"error": "API rate limit exceeded", "count": "4"}, headers={"Retry-After": "2"}),
        httpx.Response(200, content=shapes.HTML_ERROR),
        httpx.Response(200, content=shapes.search([1], "many")),
        httpx.Response(200, json={"esearchresult": {"count": "1"}}),
        httpx.Response(200, json={"esearchresult": {"count": "1", "idlist": ["one"]}}),
    ],
)
def test_a_failed_search_is_repeated(
    respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path, bad: httpx.Response
) -> None:
    serve(respx_mock, {})
    good = httpx.Response(200, content=shapes.search([], "0"))
    route = respx_mock.post(f"{BASE}/esearch.fcgi").mock(side_effect=[bad, good])
    respx_mock._assert_all_called = False
    pull_week("pubmed")
    assert (route.call_count, done(tmp_path)["expected"]) == (2, 0)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (shapes.HTML_ERROR, "another-root-element"),
        (b"<eFetchResult><ERROR>Cannot process ID list</ERROR></eFetchResult>", "another-root-element"),
        (shapes.bomb("PubmedArticleSet"), "unsafe-entity"),
        (shapes.articles([1, 2])[:-30], "page-unreadable"),
        (shapes.articles([1, 1]), "article-sent-twice"),
    ],
)
def test_a_bad_batch_is_refused(respx_mock: respx.MockRouter, pull_week: Pull, body: bytes, code: str) -> None:
    serve(respx_mock, {"2024-03-18": [1, 2]})
    respx_mock.post(f"{BASE}/efetch.fcgi").mock(return_value=httpx.Response(200, content=body))
    with refuses(code):
        pull_week("pubmed")


@pytest.mark.parametrize(("sent", "code"), [([1], "window-incomplete"), ([1, 2, 3], "article-not-asked-for")])
def test_articles_must_be_those_asked_for(
    respx_mock: respx.MockRouter, pull_week: Pull, sent: list[int], code: str
) -> None:
    serve(respx_mock, {"2024-03-18": [1, 2]})
    respx_mock.post(f"{BASE}/efetch.fcgi").mock(return_value=httpx.Response(200, content=shapes.articles(sent)))
    with refuses(code):
        pull_week("pubmed")


def test_a_search_that_sends_fewer_ids_than_it_counts(respx_mock: respx.MockRouter, pull_week: Pull) -> None:
    respx_mock.post(f"{BASE}/esearch.fcgi").mock(return_value=httpx.Response(200, content=shapes.search([1], "2")))
    with refuses("pubmed-count-differs"):
        pull_week("pubmed")

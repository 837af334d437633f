from __future__ import annotations

import logging

import httpx
import pytest
import respx

from fedtext.largefedbench.ingest.errors import RefusedError, UnusableAnswerError
from fedtext.largefedbench.ingest.http_client import HttpClient
from fedtext.params.ingest import Requests
from tests.largefedbench.ingest.conftest import CONTACT, FakeTime
from tests.parameters import conf_base

PAGE = "https://source.example/data/page"
ROBOTS = "https://source.example/robots.txt"
CLOSED = "User-agent: *\nDisallow: /data/\n"


def client(time: FakeTime, robots: str) -> HttpClient:
    return HttpClient(CONTACT, 1.0, conf_base(Requests, attempts=2, first_wait=0.0, robots=robots), time.clock)


def serve(router: respx.MockRouter, robots: httpx.Response) -> tuple[respx.Route, respx.Route]:
    return (
        router.get(ROBOTS).mock(return_value=robots),
        router.get(PAGE).mock(return_value=httpx.Response(200, content=b"page")),
    )


@pytest.mark.parametrize("answer", [httpx.Response(404), httpx.Response(200, text="User-agent: *\nDisallow: /x\n")])
def test_it_is_asked_for_once(respx_mock: respx.MockRouter, time: FakeTime, answer: httpx.Response) -> None:
    robots, page = serve(respx_mock, answer)
    one = client(time, "obey")
    assert [one.fetch(PAGE, bytes) for _ in range(2)] == [b"page"] * 2
    assert (robots.call_count, page.call_count) == (1, 2)


@pytest.mark.parametrize("text", [CLOSED, "User-agent: fedtext\nDisallow: /\n\nUser-agent: *\nAllow: /\n"])
def test_a_closed_page_is_not_asked_for(respx_mock: respx.MockRouter, time: FakeTime, text: str) -> None:
    _, page = serve(respx_mock, httpx.Response(200, text=text))
    with pytest.raises(RefusedError, match=r"robots\.txt asks programs not to fetch /data/page: .*robots=report"):
        client(time, "obey").fetch(PAGE, bytes)
    assert page.call_count == 0


def test_going_on_is_said(respx_mock: respx.MockRouter, time: FakeTime, caplog: pytest.LogCaptureFixture) -> None:
    serve(respx_mock, httpx.Response(200, text=CLOSED))
    one = client(time, "report")
    with caplog.at_level(logging.WARNING):
        assert [one.fetch(PAGE, bytes) for _ in range(2)] == [b"page"] * 2
    assert len([record for record in caplog.records if "asks programs not to fetch" in record.message]) == 1


def test_the_delay_it_asks_for_is_kept(respx_mock: respx.MockRouter, time: FakeTime) -> None:
    serve(respx_mock, httpx.Response(200, text="User-agent: *\nCrawl-delay: 10\n"))
    one = client(time, "obey")
    for _ in range(3):
        one.fetch(PAGE, bytes)
    assert time.waits == [1.0, 10.0, 10.0]


def test_a_robots_txt_that_cannot_be_had_is_no_permission(respx_mock: respx.MockRouter, time: FakeTime) -> None:
    robots, page = serve(respx_mock, httpx.Response(500))
    with pytest.raises(UnusableAnswerError, match=r"robots\.txt answered 500"):
        client(time, "obey").fetch(PAGE, bytes)
    assert (robots.call_count, page.call_count) == (2, 0)

from __future__ import annotations

import gzip
import logging
import zlib
from collections.abc import Iterator

import httpx
import pytest
import respx
from pydantic import SecretStr

from fedtext.largefedbench.ingest import http_client
from fedtext.largefedbench.ingest.credentials import HeaderKey
from fedtext.largefedbench.ingest.errors import UnusableAnswerError
from fedtext.largefedbench.ingest.http_client import HttpClient, RateLimiter
from fedtext.params.ingest import Requests
from tests.largefedbench.ingest.conftest import CONTACT, FakeTime
from tests.parameters import conf_base
from tests.refusals import refuses

URL = "https://source.example/page"
OK = httpx.Response(200, content=b"page")


class Sent(httpx.SyncByteStream):
    """Bytes as they came over the wire; httpx decodes a `content` before the client sees it."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __iter__(self) -> Iterator[bytes]:
        for start in range(0, len(self._data), 100):
            yield self._data[start : start + 100]


def sent(encoding: str, data: bytes) -> httpx.Response:
    return httpx.Response(200, headers={"Content-Encoding": encoding}, stream=Sent(data))


def body(data: bytes) -> bytes:
    return data


def answers(router: respx.MockRouter, *responses: httpx.Response | Exception) -> respx.Route:
    return router.get(URL).mock(side_effect=list(responses))


def test_who_asks_is_said(respx_mock: respx.MockRouter, client: HttpClient) -> None:
    route = answers(respx_mock, OK)
    assert client.fetch(URL, body) == b"page"
    agent = route.calls.last.request.headers["User-Agent"]
    assert CONTACT in agent
    assert agent.startswith("fedtext")


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(("header", "wait"), [("17", 17.0), ("Sat, 01 Jun 2024 12:00:42 GMT", 42.0), ("later", 1.0)])
def test_a_busy_server_is_waited_for(
    respx_mock: respx.MockRouter, client: HttpClient, time: FakeTime, status: int, header: str, wait: float
) -> None:
    answers(respx_mock, httpx.Response(status, headers={"Retry-After": header}), OK)
    assert client.fetch(URL, body) == b"page"
    assert time.waits == [wait]


def test_without_retry_after_waits_double(respx_mock: respx.MockRouter, client: HttpClient, time: FakeTime) -> None:
    answers(respx_mock, httpx.Response(503), httpx.Response(429), OK)
    assert client.fetch(URL, body) == b"page"
    assert time.waits == [1.0, 2.0]


def test_a_wait_too_long_is_refused_at_once(respx_mock: respx.MockRouter, client: HttpClient, time: FakeTime) -> None:
    route = answers(respx_mock, httpx.Response(429, headers={"Retry-After": "101"}), OK)
    with refuses("wait-too-long"):
        client.fetch(URL, body)
    assert route.call_count == 1
    assert time.waits == []


@pytest.mark.parametrize(
    "fault", [httpx.ConnectTimeout("slow"), httpx.ReadError("cut"), httpx.RemoteProtocolError("short")]
)
def test_a_broken_connection_is_tried_again(respx_mock: respx.MockRouter, client: HttpClient, fault: Exception) -> None:
    answers(respx_mock, fault, OK)
    assert client.fetch(URL, body) == b"page"


def test_attempts_end(respx_mock: respx.MockRouter, client: HttpClient, time: FakeTime) -> None:
    route = answers(respx_mock, *[httpx.Response(500)] * 9)
    with refuses("error-status", value=500):
        client.fetch(URL, body)
    assert (route.call_count, time.waits) == (3, [1.0, 2.0])


@pytest.mark.parametrize("status", [400, 405, 414])
def test_an_error_of_ours_is_not_repeated(respx_mock: respx.MockRouter, client: HttpClient, status: int) -> None:
    route = answers(respx_mock, httpx.Response(status), OK)
    with refuses("error-status", value=status):
        client.fetch(URL, body)
    assert route.call_count == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_stops_everything(respx_mock: respx.MockRouter, client: HttpClient, status: int) -> None:
    route = answers(respx_mock, httpx.Response(status), OK)
    with refuses("key-refused"):
        client.fetch(URL, body)
    assert route.call_count == 1


@pytest.mark.parametrize("status", [404, 410])
def test_what_is_not_there_is_none(respx_mock: respx.MockRouter, client: HttpClient, status: int) -> None:
    answers(respx_mock, httpx.Response(status, content=b"no such page"))
    assert client.fetch(URL, body) is None


def test_gzip_is_undone(respx_mock: respx.MockRouter, client: HttpClient) -> None:
    answers(respx_mock, sent("gzip", gzip.compress(b"page" * 999)))
    assert client.fetch(URL, body) == b"page" * 999


def test_truncated_gzip_is_noticed_and_asked_for_again(respx_mock: respx.MockRouter, client: HttpClient) -> None:
    whole = gzip.compress(b"page %d " * 999)
    cut = [sent("gzip", whole[:-n]) for n in (4, len(whole) - 12)]
    route = answers(respx_mock, *cut, sent("gzip", whole))
    assert client.fetch(URL, body) == b"page %d " * 999
    assert route.call_count == 3


def test_broken_gzip_is_named(respx_mock: respx.MockRouter, client: HttpClient) -> None:
    answers(respx_mock, *[sent("gzip", b"\x1f\x8bnot gzip at all") for _ in range(3)])
    with refuses("broken-gzip"):
        client.fetch(URL, body)


def test_another_encoding_is_not_guessed(respx_mock: respx.MockRouter, client: HttpClient) -> None:
    answers(respx_mock, *[sent("br", zlib.compress(b"page")) for _ in range(3)])
    with refuses("encoding-not-asked-for", value="br"):
        client.fetch(URL, body)


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_body_too_large_is_not_swallowed(
    respx_mock: respx.MockRouter, client: HttpClient, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setattr(http_client, "LARGEST_BODY", 1000)
    data = bytes(10**6) if encoding == "identity" else gzip.compress(bytes(10**6))
    route = answers(respx_mock, *[sent(encoding, data) for _ in range(9)])
    with refuses("answer-too-large", value=1000):
        client.fetch(URL, body)
    assert route.call_count == 1


def test_a_bad_body_is_asked_for_again(respx_mock: respx.MockRouter, client: HttpClient) -> None:
    def read(data: bytes) -> bytes:
        if data == b"error":
            raise UnusableAnswerError("an error inside", code="an-error-inside")
        return data

    route = answers(respx_mock, httpx.Response(200, content=b"error"), OK)
    assert client.fetch(URL, read) == b"page"
    assert route.call_count == 2


def test_a_key_follows_no_redirect_and_stays_out_of_the_url(respx_mock: respx.MockRouter, client: HttpClient) -> None:
    route = answers(respx_mock, httpx.Response(302, headers={"Location": "https://elsewhere.example/"}))
    elsewhere = respx_mock.get("https://elsewhere.example/").mock(return_value=OK)
    with refuses("error-status", value=302):
        client.fetch(URL, body, auth=HeaderKey("X-Api-Key", SecretStr("hush")))
    assert route.calls.last.request.headers["X-Api-Key"] == "hush"
    assert "hush" not in str(route.calls.last.request.url)
    elsewhere.mock(return_value=OK)
    assert elsewhere.call_count == 0
    answers(respx_mock, httpx.Response(302, headers={"Location": "https://elsewhere.example/"}))
    assert client.fetch(URL, body) == b"page"


def test_requests_are_kept_apart(respx_mock: respx.MockRouter, time: FakeTime) -> None:
    polite = HttpClient(CONTACT, 1.0, conf_base(Requests, robots="ignore"), time.clock)
    respx_mock.get(URL).mock(return_value=OK)
    for _ in range(4):
        polite.fetch(URL, body)
    assert time.waits == [1.0, 1.0, 1.0]


def test_starts_are_an_interval_apart(time: FakeTime) -> None:
    limiter = RateLimiter(1.0, time.clock)
    starts = []
    for work in (0.0, 0.25, 0.0, 3.0, 0.0):
        limiter.wait()
        starts.append(time.seconds)
        time.seconds += work
    assert starts == [0.0, 1.0, 2.0, 3.0, 6.0]
    assert time.waits == [1.0, 0.75, 1.0]


def test_no_interval_never_waits(time: FakeTime) -> None:
    limiter = RateLimiter(0.0, time.clock)
    for _ in range(5):
        limiter.wait()
    assert time.waits == []


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
    with refuses("robots-forbid", parameter="ingest.requests.robots"):
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
    with refuses("error-status", value=500):
        client(time, "obey").fetch(PAGE, bytes)
    assert (robots.call_count, page.call_count) == (2, 0)

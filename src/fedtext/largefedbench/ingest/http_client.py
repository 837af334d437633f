"""One request, repeated until the response is usable: rate-limited, identified, and with every body checked.

- Time as the clients see it: injected, so that tests never sleep; and the limiter that keeps requests apart.
- A server's robots.txt: fetched once a server, before anything else.
- Links to a next page in a response: followed on the same server only, and never with a key in them.
"""

from __future__ import annotations

import datetime
import logging
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO, Any, TypeVar
from urllib.robotparser import RobotFileParser

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt

from fedtext.largefedbench.ingest.errors import RefusedError, UnusableAnswerError
from fedtext.params.ingest import Requests
from fedtext.system.retry_after import retry_after


def _utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@dataclass(frozen=True)
class Clock:
    """Interface of time: monotonic seconds, the calendar in UTC, and waiting."""

    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], datetime.datetime] = _utc_now
    sleep: Callable[[float], None] = time.sleep


class RateLimiter:
    """Keeps the starts of requests at least `interval` seconds apart."""

    def __init__(self, interval: float, clock: Clock) -> None:
        self._interval, self._clock = interval, clock
        self._next: float | None = None

    def slow_down(self, interval: float) -> None:
        """Raise the interval between requests to `interval` seconds, if that is longer than before."""
        self._interval = max(self._interval, interval)

    def wait(self) -> None:
        """Wait until the next request may start, and count it as started."""
        now = self._clock.monotonic()
        if self._next is not None and now < self._next:
            self._clock.sleep(self._next - now)
            now = max(self._next, self._clock.monotonic())
        self._next = now + self._interval


LOG = logging.getLogger(__name__)
AGENT = "fedtext"


class Robots:
    """The rules of one server.

    Args:
        text: Its robots.txt; empty where it has none.
    """

    def __init__(self, text: str) -> None:
        self._rules = RobotFileParser()
        self._rules.parse(text.splitlines())

    def allow(self, url: httpx.URL) -> bool:
        """Return whether robots.txt allows to fetch the page."""
        return self._rules.can_fetch(AGENT, str(url))

    @property
    def delay(self) -> float:
        """The seconds that the server wants between two requests; 0 if it does not say."""
        return float(self._rules.crawl_delay(AGENT) or 0)


def robots_url(url: httpx.URL) -> httpx.URL:
    """Return the address of a server's robots.txt."""
    return url.copy_with(raw_path=b"/robots.txt", fragment=None)


T = TypeVar("T")
LARGEST_ROBOTS = 500 * 2**10  # bytes; what RFC 9309 asks a reader to take
LARGEST_BODY = 2**28  # bytes, unpacked: more is no page, and would fill the disk
SPOOL = 2**23  # bytes of a body kept in memory; a larger one goes to disk
GZIP_HEADER = 31  # zlib's wbits for a gzip stream
PASSING = frozenset({408, 425, 429})  # client errors that go away by themselves, like every 5xx


class HttpClient:
    """A source's requests, `interval` seconds apart.

    Args:
        contact: Sent in the User-Agent.
        interval: Least seconds between the starts of two requests.
        requests: Attempts, waits, time limit and largest body.
        clock: Time and waiting.
    """

    def __init__(self, contact: str, interval: float, requests: Requests, clock: Clock) -> None:
        self._requests, self._clock = requests, clock
        self._limiter = RateLimiter(interval, clock)
        self._robots: dict[httpx.URL, Robots] = {}
        self._reported: set[httpx.URL] = set()
        # Bodies are decompressed here, not by httpx, which takes a truncated gzip body for a whole one.
        headers = {"User-Agent": f"fedtext (research corpus builder; {contact})", "Accept-Encoding": "gzip"}
        self._client = httpx.Client(timeout=requests.timeout, headers=headers)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def fetch(
        self,
        url: str,
        read: Callable[[bytes], T],
        *,
        params: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
        auth: httpx.Auth | None = None,
    ) -> T | None:
        """Return the result of `read` on the body at `url`; None if there is none.

        A request with a form or a JSON value is a POST. `read` raises `UnusableAnswerError` for a wrong body, and the
        request is repeated. Only a plain GET follows redirects: a credential is for this origin alone.

        Raises:
            RefusedError: The credential is refused, or the required wait is longer than `requests.longest_wait`.
            UnusableAnswerError: No usable response in `requests.attempts` attempts.
        """

        def ask() -> T | None:
            method = "GET" if form is None and json is None else "POST"
            request = self._client.build_request(method, url, params=params, data=form, json=json, headers=headers)
            return self._once(request, lambda body: read(body.read()), auth)

        return self._patiently(ask)

    def fetch_file(self, url: str, read: Callable[[IO[bytes]], T]) -> T | None:
        """Return the result of `read` on a large body, which is kept on disk; else as `fetch`."""
        return self._patiently(lambda: self._once(self._client.build_request("GET", url), read, None))

    def _patiently(self, ask: Callable[[], T | None]) -> T | None:
        retrying = Retrying(
            sleep=self._clock.sleep, wait=self._wait, stop=stop_after_attempt(self._requests.attempts),
            retry=retry_if_exception(lambda e: isinstance(e, UnusableAnswerError) and not e.final), reraise=True,
        )  # fmt: skip
        return retrying(ask)

    def _once(self, request: httpx.Request, read: Callable[[IO[bytes]], T], auth: httpx.Auth | None) -> T | None:
        self._mind_robots(request.url)
        with SpooledTemporaryFile(SPOOL) as body:
            return read_named(request, read, body) if self._store(request, auth, body) else None

    def _mind_robots(self, url: httpx.URL) -> None:
        """Obey the server's robots.txt, which is fetched once.

        Raises:
            RefusedError: It forbids the page, and `requests.robots` is `obey`.
        """
        if self._requests.robots == "ignore":
            return
        rules = robots_url(url)
        if rules not in self._robots:
            text = self._once_robots(rules)
            self._robots[rules] = Robots(text)
            self._limiter.slow_down(self._robots[rules].delay)
        if self._robots[rules].allow(url):
            return
        if self._requests.robots == "obey":
            raise RefusedError(
                f"{rules} asks programs not to fetch {url.path}: ask the source's operator, or set "
                "ingest.requests.robots=report if its terms allow this use",
                code="robots-forbid",
                parameter="ingest.requests.robots",
            )
        if rules not in self._reported:
            self._reported.add(rules)
            LOG.warning("%s asks programs not to fetch %s; going on (ingest.requests.robots=report)", rules, url.path)

    def _once_robots(self, rules: httpx.URL) -> str:
        """Return the text of a robots.txt, empty if there is none (any 4xx, by RFC 9309)."""
        with SpooledTemporaryFile(SPOOL) as body:
            self._limiter.wait()
            try:
                with self._client.stream("GET", rules, follow_redirects=True) as response:
                    if httpx.codes.is_client_error(response.status_code) and response.status_code not in PASSING:
                        return ""
                    self._check_status(response)
                    read_body(response, LARGEST_ROBOTS, body)
            except httpx.HTTPError as error:
                raise UnusableAnswerError(
                    f"{rules}: {type(error).__name__} {error}", code="robots-unreadable"
                ) from None
            body.seek(0)
            return body.read().decode("utf-8", "replace")

    def _store(self, request: httpx.Request, auth: httpx.Auth | None, body: IO[bytes]) -> bool:
        """Write the response into `body`, and return whether there is one."""
        self._limiter.wait()
        open_to_all = auth is None and request.method == "GET"
        try:
            response = self._client.send(request, auth=auth, stream=True, follow_redirects=open_to_all)
            try:
                if response.status_code in {404, 410}:
                    return False
                self._check_status(response)
                read_body(response, LARGEST_BODY, body)
            finally:
                response.close()
        except httpx.HTTPError as error:
            raise UnusableAnswerError(f"{request.url}: {type(error).__name__} {error}", code="request-failed") from None
        body.seek(0)
        return True

    def _check_status(self, response: httpx.Response) -> None:
        status, url = response.status_code, response.request.url
        if status == httpx.codes.OK:
            return
        if status in {401, 403}:
            raise RefusedError(
                f"{url} answered {status}: the key is missing or not valid, or this address is blocked",
                code="key-refused",
                value=status,
            )
        passing = status in PASSING or httpx.codes.is_server_error(status)
        wait = retry_after(response.headers.get("Retry-After"), self._clock.now()) if passing else None
        if wait is not None and wait > self._requests.longest_wait:
            raise RefusedError(
                f"{url} answered {status} and asks to wait {wait:.0f} s, longer than ingest.requests.longest_wait "
                f"({self._requests.longest_wait:.0f}): run the same command again after that, it resumes",
                code="wait-too-long",
                parameter="ingest.requests.longest_wait",
                value=wait,
            )
        raise UnusableAnswerError(
            f"{url} answered {status}", retry_after=wait, final=not passing, code="error-status", value=status
        )

    def _wait(self, state: RetryCallState) -> float:
        """Return the wait that the server asked for, else twice the last one."""
        error = state.outcome.exception() if state.outcome else None
        required = error.retry_after if isinstance(error, UnusableAnswerError) else None
        backoff: float = self._requests.first_wait * 2 ** (state.attempt_number - 1)
        return min(backoff, self._requests.longest_wait) if required is None else required


def read_named(request: httpx.Request, read: Callable[[IO[bytes]], T], body: IO[bytes]) -> T:
    """Return the result of `read` on a body; its errors get the address."""
    try:
        return read(body)
    except UnusableAnswerError as error:
        reason = f"{request.url}: {error}"
        raise UnusableAnswerError(
            reason, code=error.code, value=error.value, retry_after=error.retry_after, final=error.final
        ) from None


def read_body(response: httpx.Response, limit: int, into: IO[bytes]) -> None:
    """Write the whole body, decompressed, of at most `limit` bytes.

    Raises:
        UnusableAnswerError: It is larger, truncated, or in an encoding that was not requested.
    """
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in {"identity", "gzip", "x-gzip", ""}:
        raise UnusableAnswerError(
            f"{response.request.url}: content encoding {encoding!r} was not asked for",
            code="encoding-not-asked-for",
            value=encoding,
        )
    inflate = zlib.decompressobj(GZIP_HEADER) if "gzip" in encoding else None
    size = 0
    for chunk in response.iter_raw():
        try:
            part = inflate.decompress(chunk, limit + 1 - size) if inflate else chunk
        except zlib.error as error:
            raise UnusableAnswerError(f"{response.request.url}: broken gzip ({error})", code="broken-gzip") from None
        into.write(part)
        size += len(part)
        if size > limit:
            raise UnusableAnswerError(
                f"{response.request.url}: larger than {limit} bytes", final=True, code="answer-too-large", value=limit
            )
    if inflate is not None and not inflate.eof:
        raise UnusableAnswerError(f"{response.request.url}: truncated gzip", code="truncated-gzip")


def same_origin_link(url: str, link: object) -> str:
    """Return `link`, absolute or relative to `url`, without any `api_key` that a server wrote into it.

    Raises:
        UnusableAnswerError: it leads to another server.
    """
    base = httpx.URL(url)
    try:
        target = base.join(str(link))
    except httpx.InvalidURL:
        raise UnusableAnswerError("the link to the next page is not a URL", code="next-link-is-no-url") from None
    if (target.scheme, target.host, target.port) != (base.scheme, base.host, base.port):
        raise UnusableAnswerError(
            f"the link to the next page leads to {target.host}, not back to {base.host}",
            code="next-link-leads-away",
            value=target.host,
        )
    return str(target.copy_remove_param("api_key"))

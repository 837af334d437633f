"""Requests to an endpoint, sent again while the server is busy or away, and for no other error."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from fedtext.models.endpoint import Endpoint, own_refusal
from fedtext.system.retry_after import retry_after

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")
FIRST, LONGEST = 0.5, 60.0  # seconds between attempts: doubled each time, or what the server asks for, at most LONGEST
SPENT = "insufficient_quota"  # a 429 that waiting does not resolve


def with_retries(endpoint: Endpoint, send: Callable[[], T]) -> T:
    """Return the result of `send`, tried up to `endpoint.attempts` times.

    Errors that will not pass by themselves are raised at once.
    """
    from tenacity import Retrying, retry_if_exception, stop_after_attempt

    attempts = Retrying(
        stop=stop_after_attempt(endpoint.attempts), wait=_pause, retry=retry_if_exception(_passes), reraise=True
    )
    return attempts(send)


def _passes(error: BaseException) -> bool:
    """Return whether the error may be temporary: no connection, a timeout, too many requests, or a server error."""
    import openai

    if own_refusal(error) is not None:
        return False
    if isinstance(error, openai.RateLimitError):
        return error.code != SPENT
    return isinstance(error, openai.APIConnectionError | openai.InternalServerError)


def _pause(state: RetryCallState) -> float:
    """Return the seconds until the next attempt: those that the response asks for, else a growing random time."""
    from tenacity import wait_random_exponential

    error = state.outcome.exception() if state.outcome else None
    headers = getattr(getattr(error, "response", None), "headers", {})
    required = retry_after(headers.get("retry-after"), datetime.datetime.now(datetime.UTC))
    return min(wait_random_exponential(FIRST, LONGEST)(state) if required is None else required, LONGEST)

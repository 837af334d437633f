"""Errors of a pull: of one response, of one window, or of the whole pull."""

from __future__ import annotations

from fedtext.system.errors import FedtextError


class IngestError(FedtextError, RuntimeError):
    """Base of all errors that a pull raises on purpose; messages never hold a credential."""


class UnusableAnswerError(IngestError):
    """A response that is not a page: an error status, an error body, HTML, truncated bytes, or none at all.

    Args:
        reason: What came instead.
        code: Which of these it is.
        value: The part of it that is wrong, if it is short.
        retry_after: Seconds the server asked to wait, if it did.
        final: Whether another attempt is pointless.
    """

    def __init__(
        self, reason: str, *, code: str, value: object = None, retry_after: float | None = None, final: bool = False
    ) -> None:
        super().__init__(reason, code=code, value=value)
        self.retry_after = retry_after
        self.final = final


class UnsteadyWindowError(IngestError):
    """The responses of one window do not add up, because its contents changed meanwhile; it is pulled again."""


class StoredWindowError(IngestError):
    """A finished window on disk has another query or lacks a page."""


class RefusedError(IngestError):
    """The source refuses further requests now: a credential is missing or refused, or a long wait is required."""

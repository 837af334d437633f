"""How a pull can fail: by one answer, by one window, or altogether."""

from __future__ import annotations

from fedtext.system.errors import FedtextError


class IngestError(FedtextError, RuntimeError):
    """Base of everything a pull raises on purpose; messages never hold a credential."""


class UnusableAnswerError(IngestError):
    """An answer that is not a page: an error status, an error body, HTML, truncated bytes, no answer at all.

    Args:
        reason: What came instead.
        retry_after: Seconds the server asked to wait, if it did.
        final: Whether asking again is pointless.
    """

    def __init__(self, reason: str, *, retry_after: float | None = None, final: bool = False) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.final = final


class UnsteadyWindowError(IngestError):
    """The answers of one window do not add up: its contents changed while it was pulled. It is pulled again."""


class StoredWindowError(IngestError):
    """A finished window on disk is not what it must be: other query, missing page."""


class RefusedError(IngestError):
    """Nothing more can be had from this source now: a credential is missing or refused, or a long wait is asked for."""

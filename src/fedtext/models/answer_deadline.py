"""A deadline for a whole answer of a server: a client's own timeout starts anew with every byte that arrives."""

from __future__ import annotations

import time
from typing import Any


class LateAnswerError(TimeoutError):
    """An answer that did not arrive whole in time, though its bytes kept coming."""


def bound_answers(client: Any, seconds: float) -> None:
    """Give a client of httpx `seconds` for each answer, from the last byte of its request to the answer's own last."""
    for transport in (client._transport, *client._mounts.values()):
        if transport is not None:
            transport._pool._network_backend = _Network(transport._pool._network_backend, seconds)


class _Network:
    """Connections whose answers are bounded; all else is the wrapped backend's."""

    def __init__(self, backend: Any, seconds: float) -> None:
        self._backend, self._seconds = backend, seconds

    def connect_tcp(self, *where: Any, **options: Any) -> _Stream:
        return _Stream(self._backend.connect_tcp(*where, **options), self._seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


class _Stream:
    def __init__(self, stream: Any, seconds: float) -> None:
        self._stream, self._seconds = stream, seconds
        self._until = time.monotonic() + seconds

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout)
        self._until = time.monotonic() + self._seconds

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = self._until - time.monotonic()
        if left <= 0:
            raise LateAnswerError(f"no whole answer within {self._seconds:g} s")
        found: bytes = self._stream.read(max_bytes, left if timeout is None else min(timeout, left))
        return found

    def start_tls(self, *given: Any, **options: Any) -> _Stream:
        return _Stream(self._stream.start_tls(*given, **options), self._seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

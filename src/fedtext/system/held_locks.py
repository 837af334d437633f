"""A lock that says who holds it, and a holder that notices when it has lost it.

The operating system gives a lock to one process. Over a network it may give it to a second one, when a machine was away
for too long, and does not tell the first. So who takes the lock writes itself beside it (host, process, start), and
looks before a step that must be its own alone whether it still stands there.
"""

from __future__ import annotations

import datetime
import os
import platform
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ValidationError

from fedtext.system.atomic import write_text
from fedtext.system.errors import FedtextError
from fedtext.system.locks import LockHeldError, locked

SUFFIX = "_holder.json"


class LockLostError(FedtextError, RuntimeError):
    """Another process has taken the lock that this one held."""


class Holder(BaseModel):
    """Who holds a lock.

    Attributes:
        host: The machine's name.
        process: The process's number there.
        since: When it took the lock, in UTC.
        token: Drawn at random, for numbers of processes come again.
    """

    host: str
    process: int
    since: str
    token: str

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}, since {self.since}"


_held: dict[Path, Holder] = {}


def holder_of(file: Path) -> Holder | None:
    """Return who took the lock last; None if nobody said so. Whether it still holds it only the lock tells."""
    try:
        return Holder.model_validate_json(_beside(file).read_bytes())
    except (OSError, ValidationError):
        return None


@contextmanager
def holding(file: Path) -> Iterator[Holder]:
    """Hold the lock of `file` for the block, and say so beside it.

    Raises:
        LockHeldError: Another process holds it; the message says which.
        OSError: The file cannot be written, or its file system has no locks.
    """
    try:
        lock = locked(file, wait=False)
    except LockHeldError:
        who = holder_of(file)
        raise LockHeldError(
            f"{file} is locked by {who or 'another process'}: wait for it", code="locked-by-another", value=str(file)
        ) from None
    with lock:
        own = Holder(
            host=platform.node(),
            process=os.getpid(),
            since=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            token=secrets.token_hex(8),
        )
        write_text(_beside(file), own.model_dump_json())
        _held[file.resolve()] = own
        try:
            yield own
        finally:
            del _held[file.resolve()]


def check_still_held(file: Path) -> None:
    """Check that nobody has taken the lock since this process took it; a lock that it does not hold is not checked.

    Raises:
        LockLostError: Somebody has.
    """
    own = _held.get(file.resolve())
    if own is None or (now := holder_of(file)) == own:
        return
    who = f"by {now}" if now else "or its record was removed"
    raise LockLostError(
        f"the lock {file} was taken from this run {who}, as a file system over a network allows when a machine was "
        "away: nothing was released; end one of the two runs, and run the same command again",
        code="lock-lost",
        value=str(file),
    )


def _beside(file: Path) -> Path:
    return file.with_name(f"{file.name}{SUFFIX}")

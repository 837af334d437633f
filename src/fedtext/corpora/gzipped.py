"""Files that may be compressed with gzip, read as they are without it."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fedtext.system.errors import InputError

GZIP = ".gz"


def opened(path: Path) -> Any:
    """Return the file's byte stream, decompressed if its name ends in `.gz`."""
    return gzip.open(path) if path.suffix.lower() == GZIP else path.open("rb")


@contextmanager
def undamaged(path: Path) -> Iterator[None]:
    """Raise InputError if the block finds gzip that is damaged or is none."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"{path} is damaged or not gzip: fetch it again", code="damaged-gzip") from None

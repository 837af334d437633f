"""Folders with access for their owner alone: for private data, and for fedtext's state of a user."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from fedtext.system.atomic import replacing_file


def make_own_folder(folder: Path) -> None:
    """Make a folder that only its owner may enter; an existing folder keeps its access rights."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextmanager
def own_temporary_folder() -> Iterator[Path]:
    """Yield a temporary folder for this process alone, which no other user may read; it is removed afterwards.

    `tempfile` and libraries in other languages use it (`TMPDIR`), also in processes started meanwhile.
    """
    before, configured = tempfile.tempdir, os.environ.get("TMPDIR")
    with tempfile.TemporaryDirectory(prefix="fedtext-", ignore_cleanup_errors=True) as folder:
        tempfile.tempdir = os.environ["TMPDIR"] = folder
        try:
            yield Path(folder)
        finally:
            tempfile.tempdir = before
            os.environ.pop("TMPDIR")
            if configured is not None:
                os.environ["TMPDIR"] = configured


STATE = "FEDTEXT_STATE"  # environment: another folder for it


def state_folder() -> Path:
    """Return the folder of the user's fedtext state, or the one that the environment names; it is not created."""
    configured = os.environ.get(STATE)
    return Path(configured).expanduser() if configured else platformdirs.user_state_path("fedtext")


@contextmanager
def own_file(target: Path) -> Iterator[Path]:
    """Yield a temporary path as `replacing_file` does, for a file that only its owner may read."""
    with replacing_file(target) as temporary:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield temporary

"""Folders of one owner: private data lie there, and what fedtext keeps for a user.

- Folders that nobody but their owner may enter: private data lie there, and what tells of them.
- Where fedtext keeps what belongs to a user and not to a project or a data root.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from fedtext.system.atomic import replacing_file


def make_own_folder(folder: Path) -> None:
    """Makes it where it is not there yet; one that is keeps the rights that its owner gave it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextmanager
def own_temporary_folder() -> Iterator[Path]:
    """A temporary folder that this process alone uses until the end of the block, and nobody else may read.

    It is what `tempfile` and libraries in other languages take (`TMPDIR`), in processes started meanwhile too.
    """
    before, told = tempfile.tempdir, os.environ.get("TMPDIR")
    with tempfile.TemporaryDirectory(prefix="fedtext-", ignore_cleanup_errors=True) as folder:
        tempfile.tempdir = os.environ["TMPDIR"] = folder
        try:
            yield Path(folder)
        finally:
            tempfile.tempdir = before
            os.environ.pop("TMPDIR")
            if told is not None:
                os.environ["TMPDIR"] = told


STATE = "FEDTEXT_STATE"  # environment: another folder for it


def state_folder() -> Path:
    """The user's own, or the one that the environment names; nothing is made."""
    told = os.environ.get(STATE)
    return Path(told).expanduser() if told else platformdirs.user_state_path("fedtext")


@contextmanager
def own_file(target: Path) -> Iterator[Path]:
    """As `replacing_file`, for a file that nobody but its owner may read."""
    with replacing_file(target) as temporary:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield temporary

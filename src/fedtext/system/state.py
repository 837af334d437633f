"""Where fedtext keeps what belongs to a user and not to a project or a data root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from fedtext.system.atomic import replacing_file

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

"""The history of a data root: every query that its private data answered, kept with the data and copied with them.

`<data_root>/.fedtext/releases.jsonl` has a line for each (`fedtext.privacy.spending.Spent`), written before the noised
answer leaves the door. Runs that another run starts (a comparison's) write into that one's history as well, and are
held to its budget.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from fedtext.privacy.spending import Spent
from fedtext.system.atomic import write_text
from fedtext.system.folders import make_own_folder
from fedtext.system.refusal import RunRefusedError

FOLDER, FILE = ".fedtext", "releases.jsonl"
HISTORY_ROOT = "FEDTEXT_HISTORY_ROOT"  # environment: the data root of the run that started this one


class History:
    """Entries of a data root, and of the one whose run started this one.

    Args:
        data_root: Where this run reads and writes.
        around: The data root of the run that started this one; by default what the environment says.
    """

    def __init__(self, data_root: Path, around: Path | None = None) -> None:
        told = os.environ.get(HISTORY_ROOT)
        around = around or (Path(told) if told else None)
        self._files = [root / FOLDER / FILE for root in dict.fromkeys([data_root, *([around] if around else [])])]

    def own(self) -> tuple[Spent, ...]:
        """Entries of this data root, in the order in which they were made."""
        return _read(self._files[0])

    def entries(self) -> tuple[Spent, ...]:
        """Entries of both, each once."""
        return tuple({entry.key: entry for file in self._files for entry in _read(file)}.values())

    def add(self, entry: Spent) -> bool:
        """Writes `entry` down wherever it is not yet; true if it was new here."""
        new = [_append(file, entry) for file in self._files]
        return new[0]


def release_history(data_root: Path | str) -> tuple[Spent, ...]:
    """Every query that was ever answered from the private data below `data_root`."""
    return _read(Path(data_root) / FOLDER / FILE)


def _append(file: Path, entry: Spent) -> bool:
    make_own_folder(file.parent)
    with (file.parent / "releases.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = _read(file)
        if any(entry.key == one.key for one in known):
            return False
        write_text(file, "".join(_lines((*known, entry))))
    return True


def _lines(entries: Iterable[Spent]) -> Iterable[str]:
    return (entry.model_dump_json() + "\n" for entry in entries)


def _read(file: Path) -> tuple[Spent, ...]:
    if not file.exists():
        return ()
    try:
        return tuple(map(Spent.model_validate_json, file.read_text(encoding="utf-8").splitlines()))
    except ValidationError:
        raise RunRefusedError(
            f"{file} was written by another version of fedtext, so what was released before cannot be priced: keep it, "
            "and start in a fresh directory, --params data_root=DIR"
        ) from None

"""New files, folders and links below some folders.

While no file can be written (`fedtext.system.file_limit`) a library can still make empty files, folders and links, and
can move files; a name can carry text. A new file with content was then made by another process, such as an editor or
another run, and is left alone.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from fedtext.privacy.history import FOLDER as RECORDS

# Tools' own folders, and the records of runs.
LEFT_OUT = frozenset(
    {RECORDS, ".git", ".hypothesis", ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
    | {"__pycache__", "node_modules"}
)
ENVIRONMENT = "pyvenv.cfg"  # what marks a virtual environment, as RECORDS marks another run's data root
SETTLED = 2_000_000_000  # ns: a folder that was changed later than this before it was listed may change unseen

Inode = tuple[int, int]


class _Listing(NamedTuple):
    changed: int
    settled: bool
    names: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()
    private: Mapping[Inode, str] = MappingProxyType({})


class FolderNames:
    """The names below `roots`, known by the times at which folders were changed; only changed ones are listed again.

    Args:
        roots: Folders; one inside another is looked at once. The first is the run's own data root.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        real = list(dict.fromkeys(Path(os.path.realpath(root)) for root in roots if root.is_dir()))
        self._own = os.path.realpath(roots[0])
        self._roots = [str(root) for root in real if not any(other in root.parents for other in real)]
        if self._own not in self._roots and os.path.isdir(self._own):
            self._roots.append(self._own)  # its parent may be left out
        self._listings: dict[str, _Listing] = {}

    def names(self) -> dict[str, frozenset[str]]:
        """Return the names in every folder, by the folder's path."""
        found: dict[str, _Listing] = {}
        waiting = list(self._roots)
        while waiting:
            folder = waiting.pop()
            if folder not in found and (listing := self._listing(folder)) is not None:
                found[folder] = listing
                waiting += [os.path.join(folder, name) for name in listing.folders]
        self._listings = found
        return {folder: listing.names for folder, listing in found.items()}

    def private_files(self) -> dict[Inode, Path]:
        """Return the files of private data sets in the data root, by inode, as of the last call of `names`."""
        listings = self._listings.items()
        return {inode: Path(folder, name) for folder, one in listings for inode, name in one.private.items()}

    def _listing(self, folder: str) -> _Listing | None:
        try:
            status = os.stat(folder)
            changed = status.st_mtime_ns
            known = self._listings.get(folder)
            if known is not None and known.settled and known.changed == changed:
                return known
            settled = time.time_ns() - changed > SETTLED
            with os.scandir(folder) as entries:
                inside = {entry.name: (entry.is_dir(follow_symlinks=False), entry.inode()) for entry in entries}
        except OSError:  # it is gone, or not ours to read
            return None
        if ENVIRONMENT in inside or (RECORDS in inside and folder != self._own):
            return _Listing(changed, settled)
        kept = [name for name in inside if name not in LEFT_OUT]
        folders = tuple(name for name in kept if inside[name][0])
        secret = [name for name in kept if not inside[name][0] and self._is_private(folder, name)]
        private = {(status.st_dev, inside[name][1]): name for name in secret}
        return _Listing(changed, settled, frozenset(kept), folders, private)

    def _is_private(self, folder: str, name: str) -> bool:
        below = os.path.join(folder, name).removeprefix(self._own + os.sep)
        return below[:1] != os.sep and any(part.startswith("private_") for part in below.split(os.sep))


def new_names(before: dict[str, frozenset[str]], after: dict[str, frozenset[str]]) -> Iterator[Path]:
    """Yield the paths that are in `after` and not in `before`; of a new folder the folder alone."""
    for folder, names in after.items():
        if folder in before:
            yield from (Path(folder, name) for name in sorted(names - before[folder]))


def is_left_behind(path: Path, private: Mapping[Inode, Path]) -> bool:
    """Return whether this process can have made `path` while writing was blocked, or moved a private file there."""
    try:
        status = path.lstat()
    except OSError:  # it is gone
        return False
    if stat.S_ISDIR(status.st_mode):
        return not (path / RECORDS).exists() and all(is_left_behind(one, private) for one in all_below(path))
    own = not stat.S_ISREG(status.st_mode) or status.st_size == 0
    return own or is_moved(path, private)


def is_moved(path: Path, private: Mapping[Inode, Path]) -> bool:
    """Return whether it is a private file that was moved; one that is still at its place too is a backup's link."""
    status = path.lstat()
    place = private.get((status.st_dev, status.st_ino))
    return place is not None and not place.exists()


def all_below(path: Path) -> list[Path]:
    """Return the files below a folder."""
    return [Path(folder, name) for folder, _, names in os.walk(path) for name in names]


def take_back(path: Path, private: dict[Inode, Path]) -> None:
    """Remove `path`, for which `is_left_behind` holds; a private file that was moved goes back to its place."""
    if path.is_dir() and not path.is_symlink():
        for one in sorted(path.iterdir()):
            take_back(one, private)
        path.rmdir()
        return
    status = path.lstat()
    place = private.get((status.st_dev, status.st_ino))
    if place is not None and not place.exists():
        os.replace(path, place)
    else:
        path.unlink()

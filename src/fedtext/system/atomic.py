"""Atomic writes: a temporary file beside the target, fsync, rename.

A process killed at any moment leaves either the old content or the new one. The temporary name is fixed per target, so
the next write of the same target removes what a killed one left behind. JSON is written member by member, so that the
document need not fit into memory.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fedtext.system.errors import UnreadableFileError

PARTIAL = ".partial-"
REPLACED = ".replaced-"


def partial_path(target: Path) -> Path:
    """Return the temporary path that a write of `target` uses.

    It lies in the same directory, so that the rename is one step, and has the same suffix.
    """
    return target.with_name(PARTIAL + target.name)


def temporary_paths(target: Path) -> tuple[Path, Path]:
    """Return all temporary paths that a write of `target` creates or removes."""
    return partial_path(target), target.with_name(REPLACED + target.name)


@contextmanager
def replacing_file(target: Path) -> Iterator[Path]:
    """Yield a temporary path to write; on leaving it is synced to disk and renamed to `target`.

    Raises:
        OSError: the disk is full; the message names the target, which keeps its old content.
    """
    temporary = partial_path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        temporary.unlink(missing_ok=True)  # left by a killed write; it may be hard-linked to another directory
        yield temporary
        _sync(temporary)
        os.replace(temporary, target)
        _sync(target.parent)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        _name_full_disk(error, target)
        raise


@contextmanager
def replacing_directory(target: Path) -> Iterator[Path]:
    """Yield an empty temporary directory to fill; on leaving, its files are synced and it takes the name `target`.

    Whoever may read the directory may read its files: safetensors writes files for their owner alone.
    Between the two renames `target` is missing for an instant. A kill at that instant leaves no `target`, and the next
    run makes it again.
    """
    temporary, replaced = temporary_paths(target)
    try:
        for leftover in (temporary, replaced):
            shutil.rmtree(leftover, ignore_errors=True)
        temporary.mkdir(parents=True)
        yield temporary
        readers = temporary.stat().st_mode & 0o666
        for path in sorted(temporary.rglob("*")):
            if path.is_file():
                path.chmod(readers)
            _sync(path)
        _sync(temporary)
        if target.exists():
            os.replace(target, replaced)
        os.replace(temporary, target)
        _sync(target.parent)
        shutil.rmtree(replaced, ignore_errors=True)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        _name_full_disk(error, target)
        raise


def write_text(target: Path, text: str) -> None:
    """Replace `target` by `text` (UTF-8), all or nothing."""
    with replacing_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _name_full_disk(error: BaseException | None, target: Path) -> None:
    """Raise an error that names the target and the remedy if `error` was caused by a full disk or quota."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise UnreadableFileError(
                f"no space left to write {target}; nothing half-written was kept. Free some space or choose another "
                "place with --params data_root=DIR, then run the same command again",
                code="disk-full",
                errno=error.errno,
            ) from error
        error = error.__cause__


def write_members(target: Path, brackets: str, members: Iterable[str]) -> int:
    """Write JSON members to `target`, one a line between `brackets` (`[]` or `{}`), and return their number.

    All or nothing: an error while members are produced leaves `target` as it was.
    """
    number = 0
    with replacing_file(target) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{brackets[0]}\n")
        for number, member in enumerate(members, start=1):
            file.write(member if number == 1 else f",\n{member}")
        file.write(f"\n{brackets[1]}\n")
    return number

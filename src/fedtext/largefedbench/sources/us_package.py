"""A day's package of the US record, file by file: a directory or a zip file, in which one bad file is one loss.

What cannot be read is an error in its own place, so the rest of the day is read; what `mods.xml` lists and the package
lacks is named.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path

from fedtext.largefedbench.raw_pages import (
    MAX_BYTES,
    Completeness,
    RawPage,
    RawPageError,
    read_bytes,
    reading,
    unpacked,
)
from fedtext.system.errors import InputError

MODS_NAME = "mods.xml"
# What the builder reads of a package, below its own folder if it has one.
_READ = re.compile(r"(?:[^/]+/)?(?P<name>mods\.xml|html/[^/]+\.htm)(?:\.gz)?", re.IGNORECASE)


def package_files(page: RawPage) -> Iterator[tuple[str, bytes | RawPageError]]:
    """(Path inside the package, bytes or the reason why there are none) of mods.xml and every granule, in path order.

    Raises:
        RawPageError: nothing of the package can be read: a zip file without its table of contents, say.
    """
    seen = set[str]()
    for name, read in _of_directory(page) if page.path.is_dir() else _of_archive(page):
        part = f"{page.name}/{name}"
        try:
            with reading(part):
                if name in seen:
                    raise InputError("comes twice in the package")
                seen.add(name)
                yield name, read()
        except RawPageError as error:
            yield name, error


def completeness(page: RawPage, listed: Collection[str], present: Collection[str]) -> Completeness:
    """The granules that `mods.xml` lists against those that are there, readable or not."""
    missing = sorted(set(listed) - set(present))
    return Completeness(f"{page.name}/{MODS_NAME}", len(listed), tuple(name or "one without an id" for name in missing))


def _of_directory(page: RawPage) -> Iterator[tuple[str, Callable[[], bytes]]]:
    with reading(page.name):
        paths = sorted([*page.path.glob("*"), *page.path.glob("html/*")])
    for path in paths:
        if match := _READ.fullmatch(path.relative_to(page.path).as_posix()):
            yield match["name"], partial(read_bytes, path)


def _of_archive(page: RawPage) -> Iterator[tuple[str, Callable[[], bytes]]]:
    with reading(page.name):
        archive = zipfile.ZipFile(page.path)
    room = MAX_BYTES  # for all files together
    with archive:
        for entry in sorted(archive.infolist(), key=lambda e: e.filename):
            if match := _READ.fullmatch(entry.filename):
                room -= entry.file_size
                yield match["name"], partial(_extract, archive, entry, room)


def _extract(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: int) -> bytes:
    if room < 0:
        raise InputError(f"the package holds more than {MAX_BYTES} bytes of text")
    return unpacked(archive.read(entry))


def stem(name: str) -> str:
    """A granule's id: the name of its file without the extension."""
    return Path(name).stem

"""The sources: where their raw pages lie, how they are read, and which config of a snapshot they belong to.

A source is a line in `SOURCES`; its module turns one raw page into turns, without any filter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NamedTuple

from fedtext.largefedbench.raw_pages import Completeness, RawPage, RawPageError, SkippedPageError, printable
from fedtext.largefedbench.sources import biorxiv, canada, openreview, pubmed, scitldr, uk, us
from fedtext.largefedbench.turns import Retraction, Turn

Parser = Callable[[RawPage], Iterator[Turn | Retraction | RawPageError | Completeness]]


class Source(NamedTuple):
    """One source: its snapshot config, its parser, and its pages' names, in any case, under `<raw_dir>/<name>/`.

    `other_configs` are those of pages whose names have one of its patterns.
    """

    name: str
    config: str
    parse: Parser
    pattern: str
    other_configs: Mapping[str, str] = MappingProxyType({})

    def config_of(self, page: RawPage) -> str:
        """Return the config that the clients of a page belong to."""
        found = (config for pattern, config in self.other_configs.items() if re.search(pattern, page.name))
        return next(found, self.config)


SOURCES = {
    source.name: source
    for source in (
        Source("ca", "congress", canada.parse, r".*\.xml(\.gz)?"),
        Source("uk", "congress", uk.parse, r".*\.xml(\.gz)?", uk.OTHER_CONFIGS),
        Source("us", "congress", us.parse, r"(.*/)?CREC-[\d-]+(\.zip)?"),
        Source("biorxiv", "biorxiv", biorxiv.parse, r".*\.json(\.gz)?"),
        Source("medrxiv", "medrxiv", biorxiv.parse, r".*\.json(\.gz)?"),
        Source("pubmed", "pubmed", pubmed.parse, r".*\.xml(\.gz)?"),
        Source("openreview", "openreview", openreview.parse, r".*\.json(\.gz)?"),
        Source("scitldr", "scitldr", scitldr.parse, r".*\.jsonl(\.gz)?"),
    )
}
# The ingest's own notes beside the pages: `_done.json` says a window is complete, anything else with _ or . is its
# own too.
_NOT_A_PAGE = re.compile(r"(^|/)[._]")


def raw_pages(raw_dir: Path, source: Source) -> list[RawPage]:
    """Return the source's pages in name order; of a UK day's revisions all but the last are marked superseded."""
    pages = [
        RawPage(f"{source.name}/{name}", path)
        for name, path in _files(raw_dir, source)
        if not _unread(source, name, path)
    ]
    return uk.mark_superseded(pages) if source.name == "uk" else pages


def unread_files(raw_dir: Path, source: Source) -> list[SkippedPageError]:
    """Return every file and link below the source's folder that is no page, by name and with the reason."""
    return [
        SkippedPageError(f"{source.name}/{printable(name)}", reason, code="file-not-read")
        for name, path in _files(raw_dir, source)
        if (reason := _unread(source, name, path))
    ]


NO_PAGES = frozenset({"takedown.txt"})  # what else may lie beside the sources' folders


def strangers(raw_dir: Path) -> list[SkippedPageError]:
    """Return what lies in the raw directory under no source's name, as a misspelt one: its pages are in no count."""
    names = sorted(path.name for path in raw_dir.iterdir()) if raw_dir.is_dir() else []
    return [
        SkippedPageError(printable(name), f"no source has this name: {', '.join(SOURCES)}", code="name-of-no-source")
        for name in names
        if name not in SOURCES and name not in NO_PAGES and not _NOT_A_PAGE.search(name)
    ]


def _files(raw_dir: Path, source: Source) -> Iterator[tuple[str, Path]]:
    """Yield name and path of everything below the source's folder, in name order, without notes and plain folders.

    The files of a US day's folder belong to the day, whose parser counts them.
    """
    root = raw_dir / source.name
    days = set[str]()
    for name in sorted(path.relative_to(root).as_posix() for path in root.rglob("*")) if root.is_dir() else ():
        path = root / name
        if _NOT_A_PAGE.search(name) or any(parent.as_posix() in days for parent in PurePosixPath(name).parents):
            continue
        is_day = source.name == "us" and bool(re.fullmatch(source.pattern, name, re.IGNORECASE)) and path.is_dir()
        if is_day:
            days.add(name)
        if is_day or path.is_symlink() or not path.is_dir():
            yield name, path


def _unread(source: Source, name: str, path: Path) -> str:
    """Return why a file is no page of the source; empty if it is one.

    A link that leads nowhere is a page that cannot be read, not a page that is not there.
    """
    if printable(name) != name:
        return "its name is not UTF-8: rename it"
    if path.is_symlink() and path.is_dir():
        return "a link to a folder, which is not followed"
    if not re.fullmatch(source.pattern, name, re.IGNORECASE):
        return f"its name is not of a page: {source.pattern}"
    return (
        ""
        if path.is_symlink() or path.is_file() or (path.is_dir() and source.name == "us")
        else "neither a file nor a folder"
    )

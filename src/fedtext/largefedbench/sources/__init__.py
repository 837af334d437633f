"""The sources: where their raw pages lie, how they are read, and which config of a snapshot they belong to.

A source is a line in `SOURCES`; its module turns one raw page into turns, without any filter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from fedtext.largefedbench.raw_pages import Completeness, RawPage, RawPageError
from fedtext.largefedbench.sources import biorxiv, canada, openreview, pubmed, scitldr, uk, us
from fedtext.largefedbench.turns import Turn

Parser = Callable[[RawPage], Iterator[Turn | RawPageError | Completeness]]


class Source(NamedTuple):
    """One source: its snapshot config, its parser, and its pages' names, in any case, under `<raw_dir>/<name>/`."""

    name: str
    config: str
    parse: Parser
    pattern: str


SOURCES = {
    source.name: source
    for source in (
        Source("ca", "congress", canada.parse, r".*\.xml(\.gz)?"),
        Source("uk", "congress", uk.parse, r".*\.xml(\.gz)?"),
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
    root = raw_dir / source.name
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*")) if root.is_dir() else []
    pages = [
        RawPage(f"{source.name}/{name}", root / name)
        for name in names
        if re.fullmatch(source.pattern, name, re.IGNORECASE) and not _NOT_A_PAGE.search(name)
    ]
    if source.name == "us":
        return pages
    # A link that leads nowhere is a page that cannot be read, not a page that is not there.
    pages = [page for page in pages if page.path.is_file() or page.path.is_symlink()]
    return uk.mark_superseded(pages) if source.name == "uk" else pages

"""SciTLDR's abstracts, JSON lines `{paper_id, title, abstract}`: `scitldr/**/*.jsonl`. Undated, Apache-2.0."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fedtext.largefedbench.raw_pages import RawPage, decode, reading
from fedtext.largefedbench.sources.biorxiv import malformed
from fedtext.largefedbench.sources.notices import EMPTY, is_no_abstract
from fedtext.largefedbench.turns import SPEECH, Paragraph, Turn, joined

LICENSE = "apache_2_0"


def parse(page: RawPage) -> Iterator[Turn]:
    """Yield every line of one page; a line that is no such object is a `malformed_row` turn."""
    with reading(page.name):
        lines = decode(page.read()).split("\n")  # not splitlines: a line may hold U+2028
    for number, line in enumerate(lines):
        if line.strip():
            yield _turn(page, number, line)


def _turn(page: RawPage, number: int, line: str) -> Turn:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        return malformed(page, "scitldr", number, line)
    if not isinstance(row, dict) or not all(isinstance(row.get(key), str) for key in ("paper_id", "abstract", "title")):
        return malformed(page, "scitldr", number, row)
    kind = EMPTY if is_no_abstract(row["abstract"]) else SPEECH
    return Turn(
        f"undated.scitldr.{row['paper_id']}", "scitldr", kind, "", (Paragraph(row["abstract"]),),
        title=joined(row["title"]),
        url=f"https://openreview.net/forum?id={row['paper_id']}", license=LICENSE, floor_language="en",
    )  # fmt: skip

"""bioRxiv and medRxiv, pages of the `details` API: `biorxiv/**/*.json[.gz]`, `medrxiv/**/*.json[.gz]`.

`{"messages": [{"status": "ok", ...}], "collection": [{doi, title, date, version, type, license, category, abstract}]}`.
`date` is the version's date: only first versions are kept, so a preprint is one client however often it was revised.
A version that says that the preprint is withdrawn withdraws the first one too, whichever page that stands on.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

from fedtext.largefedbench.raw_pages import RawPage, RawPageError, parse_json, possible_date, reading
from fedtext.largefedbench.sources.notices import EMPTY, TAKES_BACK, is_no_abstract, notice
from fedtext.largefedbench.turns import SPEECH, UNKNOWN_ELEMENT, Paragraph, Retraction, Turn, Unknown, joined
from fedtext.system.errors import InputError

ALLOWED_LICENSES = frozenset({"cc_by", "cc_by_nc", "cc_by_nd", "cc_by_nc_nd", "cc0"})


def parse(page: RawPage) -> Iterator[Turn | Retraction | RawPageError]:
    """Yield every row of one page; a row of the wrong shape is a `malformed_row` turn."""
    value = parse_json(page.name, page.read())
    with reading(page.name):
        status = joined(str((value["messages"] or [{}])[0].get("status", "missing")))
        if status.lower() != "ok":
            raise InputError(f"the server answered {status!r} instead of a page", code="status-instead-of-page")
        server = page.name.partition("/")[0]
        rows = value["collection"]
        if not isinstance(rows, list):
            raise TypeError("collection is not a list")
    said = value["messages"][0].get("count") if value["messages"] else None
    if (count := _whole(said)) is not None and count != len(rows):
        yield RawPageError(page.name, f"says that it holds {said} rows and holds {len(rows)}", code="row-count-differs")
    for name in value.keys() - {"messages", "collection"}:
        part = Paragraph(joined(str(value[name])), UNKNOWN_ELEMENT)
        yield Turn(
            f"unknown.{page.name}.{name}", server, UNKNOWN_ELEMENT, "", (part,), unknown=(Unknown("element", name),)
        )
    for number, row in enumerate(rows):
        if not _well_formed(row):
            yield malformed(page, server, number, row)
            continue
        said = _notice(row)
        yield _turn(row, server, said)
        if said in TAKES_BACK:
            yield Retraction(_address(server, row["doi"].strip(), "1"), said)


def _whole(value: object) -> int | None:
    """Return a number that JSON may hold as one, as text or with a point; None if it is no whole number."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return int(number) if number.is_integer() else None


def malformed(page: RawPage, source: str, number: int, row: Any) -> Turn:
    """Return the turn of a row that cannot be a client, so that the row is counted."""
    return Turn(
        f"malformed.{page.name}.{number}", source, "malformed_row", "", (Paragraph(str(row)[:200], "malformed_row"),)
    )


def _well_formed(row: Any) -> bool:
    if not isinstance(row, dict) or not all(
        isinstance(row.get(key), str) for key in ("doi", "date", "abstract", "title")
    ):
        return False
    if not row["doi"].strip() or not isinstance(row.get("version"), str | int | float):
        return False
    return is_date(row["date"])


def is_date(text: str) -> bool:
    """Return whether `text` is an ISO date of a possible year."""
    try:
        day = datetime.date.fromisoformat(text)
        return possible_date(day.year, day.month, day.day) == text
    except ValueError:
        return False


def _notice(row: dict[str, Any]) -> str | None:
    """Return what kind of notice stands in the abstract's place, None for an abstract."""
    return notice(row["title"], row["abstract"], str(row.get("type") or ""))


def _address(server: str, doi: str, version: str) -> str:
    return f"https://www.{server}.org/content/{doi}v{version}"


def _turn(row: dict[str, Any], server: str, said: str | None) -> Turn:
    doi, version = row["doi"].strip(), _version(row)
    suffix = "" if version == "1" else f".v{version}"
    return Turn(
        f"{row['date']}.{server}.{doi}{suffix}", server, _kind(row, version, said), row["date"],
        (Paragraph(row["abstract"]),),
        title=joined(row["title"]), url=_address(server, doi, version),
        license=joined(str(row.get("license", ""))), floor_language="en", label=joined(str(row.get("category", ""))),
    )  # fmt: skip


def _version(row: dict[str, Any]) -> str:
    """Return the number of a version, which may come as a number, as text, or with a point."""
    number = _whole(row["version"])
    return str(row["version"]).strip() if number is None else str(number)


def _kind(row: dict[str, Any], version: str, said: str | None) -> str:
    # The published reading keeps withdrawn rows: none may come past the licence.
    if joined(str(row.get("license", ""))) not in ALLOWED_LICENSES:
        return "licence_not_kept"
    if said:
        return said
    if is_no_abstract(row["abstract"]):
        return EMPTY
    return SPEECH if version == "1" else "later_version"

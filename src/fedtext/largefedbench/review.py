"""What a maintainer must look at after a half-year's build, on one page: what is new, missing, or counted otherwise.

Every finding is of the snapshot's own provenance, compared with the half-years before it and with the snapshot before.
The page's text is the template `review.md.j2`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fedtext.largefedbench.halves import Half, Move, moved
from fedtext.system.templates import templates

SHOWN = 20  # names or pages of a kind; provenance.json has all
LONGEST_REASON = 160  # characters
Rows = list[list[object]]


class Pulled(NamedTuple):
    """What became of a pull: the report of its source in numbers, or the sentence that ended it."""

    source: str
    report: Mapping[str, Any]
    failure: str = ""


class Finding(NamedTuple):
    """A part of the page: its heading, what a person should do about it, and a table."""

    heading: str
    asks: str
    head: list[str]
    rows: Rows


def review(
    half: str, new: dict[str, Any], old: dict[str, Any] | None, change: dict[str, Any] | None,
    pulled: Sequence[Pulled], deviations: float,
) -> str:  # fmt: skip
    """Return the page of a half-year.

    Args:
        half: Its name, such as 2026H1.
        new: The provenance of its snapshot.
        old: The provenance of the snapshot before, if there is one.
        change: The difference between the two (`diff.compare`).
        pulled: What became of the pulls before the build.
        deviations: By how many standard deviations a count must have moved to be shown.
    """
    sections = [*_lost(pulled), *_unknown(new, old), *_moved(half, new, deviations), *_pages(new, old)]
    sections += _changed(half, change) if change else []
    return templates("fedtext.largefedbench").get_template("review.md.j2").render(
        half=half, new=new, old=old, change=change, findings=sections, deviations=f"{deviations:g}",
        pulled=[_pull_row(one) for one in pulled if not one.failure],
        sizes=[[name, *(sum(split[what] for split in splits.values()) for what in ("clients", "chunks", "tokens"))]
               for name, splits in new["configs"].items()],
    )  # fmt: skip


def _pull_row(one: Pulled) -> list[object]:
    names = ("windows_pulled", "windows_done_before", "windows_waiting", "pages", "records")
    return [one.source, *(one.report.get(name, 0) for name in names)]


def _lost(pulled: Sequence[Pulled]) -> Iterator[Finding]:
    rows: Rows = [[one.source, "the whole pull", one.failure] for one in pulled if one.failure]
    for one in pulled:
        rows += [[one.source, f"window {name}", why] for name, why in one.report.get("failed", {}).items()]
        for what in ("missing", "rejected", "windows_not_reconciled"):
            if number := one.report.get(what):
                rows.append([one.source, what.replace("_", " "), number])
    if rows:
        asks = "Pull these again: move the snapshot away, and the same command takes up what is missing."
        yield Finding("What was not pulled", asks, ["source", "what", "why, or how many"], rows)


def _unknown(new: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Finding]:
    """Yield what no rule knows and the previous snapshot did not have, kind by kind."""
    rows: Rows = []
    for source, counts in new["sources"].items():
        before = (old or {"sources": {}})["sources"].get(source, {}).get("unknown", {})
        for kind, names in counts["unknown"].items():
            fresh = sorted(names.keys() - before.get(kind, {}).keys(), key=lambda name: (-names[name], name))
            rate = 1000 * sum(names[name] for name in fresh) / max(counts["turns"], 1)
            if fresh:
                rows.append([source, kind, len(fresh), f"{rate:.1f}", _listed(fresh)])
    if rows:
        asks = "A label that is one glues a speech to the turn before; markup may stand for a sign: give each a rule."
        head = ["source", "kind", "new names", "per 1,000 turns", "the most frequent"]
        yield Finding("What no rule knows", asks, head, rows)


def _listed(names: Sequence[str]) -> str:
    shown = "; ".join(" ".join(name.replace("|", "\\|").split()) for name in names[:SHOWN])
    return f"{shown}; and {len(names) - SHOWN} more" if len(names) > SHOWN else shown


def _moved(half: str, new: dict[str, Any], deviations: float) -> Iterator[Finding]:
    rows: Rows = []
    for source, counts in new["sources"].items():
        halves = {name: Half.from_dict(sums) for name, sums in counts["halves"].items()}
        if half not in halves:
            rows.append([source, "pages of this half-year", "", "none", ""])
        rows += [_move_row(source, move) for move in moved(halves, half, deviations)]
    if rows:
        asks = "A source that writes otherwise, or a rule that reads otherwise: read some of these."
        yield Finding("Counts that moved", asks, ["source", "count", "before", "now", "deviations"], rows)


def _move_row(source: str, move: Move) -> list[object]:
    return [source, move.name, f"{move.before:.2f}", f"{move.after:.2f}", f"{move.deviations:+.1f}"]


def _pages(new: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Finding]:
    known = {(bad["page"], bad["reason"]) for bad in (old or {"bad_pages": []})["bad_pages"]}
    fresh = [bad for bad in new["bad_pages"] if (bad["page"], bad["reason"]) not in known]
    rows: Rows = [[bad["page"], _short(bad["reason"])] for bad in fresh[:SHOWN]]
    if len(fresh) > SHOWN:
        rows.append([f"and {len(fresh) - SHOWN} more", "in provenance.json"])
    if rows:
        yield Finding("Pages that were not read", "Fetch them again, or teach a parser to.", ["page", "reason"], rows)
    if lines := new["takedown_lines_that_match_nobody"]:
        asks = "The build printed their numbers: compare them with a snapshot's columns, letter by letter."
        yield Finding("Takedown lines that match nobody", asks, ["lines"], [[lines]])


def _short(reason: str) -> str:
    """Return a reason that fits a line; a day's package may lack two hundred parts by name."""
    return reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]} ..., all in provenance.json"


def _changed(half: str, change: dict[str, Any]) -> Iterator[Finding]:
    """Yield clients of earlier half-years that changed, and parameters that differ: a past month should stay."""
    first_month = f"{half[:4]}-{'01' if half.endswith('1') else '07'}"
    rows: Rows = [
        [one["config"], one["source"], one["month"], one["change"], one["clients"]]
        for one in change["changes"]
        if one["month"] < first_month or one["change"] != "added"
    ]
    if rows:
        asks = "Takedowns remove and revisions alter. Anything else is a rule that changed, or a page."
        yield Finding(
            "Clients of the past that changed", asks, ["config", "source", "month", "change", "clients"], rows
        )
    # The newest date of a snapshot is its own; everything else should be as it was.
    differ: Rows = [[name, *values] for name, values in change["parameters"].items() if name != "to_date"]
    if differ:
        yield Finding("Parameters and code that differ", "Say why in the release.", ["what", "before", "now"], differ)

"""Differences between two snapshots: clients added, removed and altered, by config, source and month."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from fedtext.largefedbench.snapshot import iterate_rows, provenance, verify

# What makes a client the same client with the same content; its split is compared on its own.
COMPARED = ("source", "date", "speaker", "speaker_id", "title", "license", "floor_language", "label", "text")


class ClientMark(NamedTuple):
    """The facts of a client that the comparison needs: where it counts, its split, and a digest of its content."""

    source: str
    month: str
    split: str
    digest: bytes


def compare(old: Path, new: Path) -> dict[str, Any]:
    """Return the difference as JSON: totals, counts by config, source and month, ids by change, changed parameters.

    Raises:
        SnapshotError: One of the two is not a snapshot or is altered.
    """
    verify(old)
    verify(new)
    before, after = provenance(old), provenance(new)
    configs = sorted({*before["configs"], *after["configs"]})
    changes: list[dict[str, Any]] = []
    clients: dict[str, dict[str, list[str]]] = {}
    for config in configs:
        marks = [
            _marks(root, config) if config in facts["configs"] else {} for root, facts in ((old, before), (new, after))
        ]
        clients[config] = _changed_ids(*marks)
        changes += _by_month(config, clients[config], *marks)
    totals = Counter[str]()
    for change in changes:
        totals[change["change"]] += change["clients"]
    return {
        "old": before["snapshot"],
        "new": after["snapshot"],
        "parameters": _changed_values(before, after),
        "totals": {kind: totals[kind] for kind in ("added", "removed", "altered", "moved")},
        "changes": changes,
        "clients": clients,
    }


def _marks(root: Path, config: str) -> dict[str, ClientMark]:
    return {
        row["client_id"]: ClientMark(
            row["source"],
            row["date"][:7] or "undated",
            row["split"],
            hashlib.blake2b(json.dumps([row[name] for name in COMPARED]).encode(), digest_size=12).digest(),
        )
        for row in iterate_rows(root, config, "clients")
    }


def _changed_ids(old: dict[str, ClientMark], new: dict[str, ClientMark]) -> dict[str, list[str]]:
    """Return client ids by kind of change; `moved` are clients whose split changed, which no hash split does."""
    both = old.keys() & new.keys()
    return {
        "added": sorted(new.keys() - old.keys()),
        "removed": sorted(old.keys() - new.keys()),
        "altered": sorted(one for one in both if old[one].digest != new[one].digest),
        "moved": sorted(one for one in both if old[one].split != new[one].split),
    }


def _by_month(
    config: str, changed: dict[str, list[str]], old: dict[str, ClientMark], new: dict[str, ClientMark]
) -> list[dict[str, Any]]:
    counts = Counter(
        (kind, mark.source, mark.month)
        for kind, ids in changed.items()
        for one in ids
        for mark in [new.get(one) or old[one]]
    )
    return [
        {"config": config, "change": kind, "source": source, "month": month, "clients": number}
        for (kind, source, month), number in sorted(counts.items())
    ]


def _changed_values(before: dict[str, Any], after: dict[str, Any]) -> dict[str, list[Any]]:
    """Return parameters, tokenizer and code that differ, as [old, new]."""
    facts = [
        one["parameters"] | {"tokenizer_sha256": one["tokenizer"]["sha256"], "code_sha256": one["code_sha256"]}
        for one in (before, after)
    ]
    names = sorted({*facts[0], *facts[1]} - {"snapshot"})
    return {
        name: [facts[0].get(name), facts[1].get(name)] for name in names if facts[0].get(name) != facts[1].get(name)
    }


def render_diff(difference: dict[str, Any]) -> str:
    """Return the difference as Markdown."""
    totals = ", ".join(f"{number} {kind}" for kind, number in difference["totals"].items())
    lines = [f"# {difference['old']} -> {difference['new']}", "", f"Clients: {totals}.", ""]
    if difference["parameters"]:
        lines += ["| what | old | new |", "| --- | --- | --- |"]
        lines += [f"| {name} | {old} | {new} |" for name, (old, new) in difference["parameters"].items()]
        lines.append("")
    if difference["changes"]:
        lines += ["| config | source | month | change | clients |", "| --- | --- | --- | --- | --- |"]
        lines += [
            f"| {one['config']} | {one['source']} | {one['month']} | {one['change']} | {one['clients']} |"
            for one in difference["changes"]
        ]
    return "\n".join(lines) + "\n"

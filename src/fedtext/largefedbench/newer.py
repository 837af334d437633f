"""Records of a snapshot that are newer than a model's training data, and a fair sample of texts from both sides.

A record is newer if its date is after the cutoff `largefedbench.model_cutoff`; a record without a date is on neither
side.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from pathlib import Path
from typing import Any

import pandas as pd

from fedtext.largefedbench.snapshot import SnapshotError, iterate_rows, provenance, verify
from fedtext.seeding import stream

NEWER, OLDER, UNDATED = "newer", "older", "undated"
RECORD = ["config", "client_id", "source", "date", "side", "words"]
TEXT = ["config", "client_id", "source", "date", "side", "text"]


def dated_records(snapshot: Path, config: str | None, cutoff: datetime.date) -> pd.DataFrame:
    """Return every record of the verified snapshot in `RECORD` columns; `words` counts its words.

    `config` is one config, or None for all.

    Raises:
        SnapshotError: It does not exist, is altered, or has no such config.
    """
    verify(snapshot)
    known = list(provenance(snapshot)["configs"])
    if config is not None and config not in known:
        raise SnapshotError(
            f"snapshot {snapshot} has no config {config!r}: choose one of {', '.join(known)}",
            code="unknown-config-of-older",
            value=config,
        )
    rows = [
        (name, row["client_id"], row["source"], row["date"], _side(row["date"], cutoff), len(row["text"].split()))
        for name in ([config] if config else known)
        for row in iterate_rows(snapshot, name, "clients")
    ]
    return pd.DataFrame(rows, columns=RECORD)


def count_by_month(records: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the number of records by config, source, month and side, in that order."""
    months = records["date"].str[:7].where(records["date"] != "", UNDATED)
    groups = records.groupby(["config", "source", months.rename("month"), "side"]).size()
    named = (dict(zip(("config", "source", "month", "side"), key, strict=True)) for key in groups.index)
    return [{**one, "records": int(number)} for one, number in zip(named, groups, strict=True)]


def draw_texts(snapshot: Path, records: pd.DataFrame, *, texts: int, words: int, seed: int) -> pd.DataFrame:
    """Return the first `words` of at most `texts` random records of each side, in `TEXT` columns.

    Both sides have as many records of each source. Shorter records are not drawn. Sources without records on both sides
    are left out, for a difference between them would be one of sources. The table is empty if none is left.
    """
    drawn = _drawn(records[(records["words"] >= words) & (records["side"] != UNDATED)], texts, seed)
    wanted: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for config, client, side in drawn[["config", "client_id", "side"]].itertuples(index=False):
        wanted[config][client] = side
    rows = [
        (config, row["client_id"], row["source"], row["date"], sides[row["client_id"]], _first(row["text"], words))
        for config, sides in wanted.items()
        for row in iterate_rows(snapshot, config, "clients")
        if row["client_id"] in sides
    ]
    return pd.DataFrame(rows, columns=TEXT).sort_values(["side", "config", "client_id"], ignore_index=True)


def _drawn(fit: pd.DataFrame, texts: int, seed: int) -> pd.DataFrame:
    """Return random pairs of an older and a newer record of a source: one of every source before a second of any."""
    turns = stream(seed, "contamination").permutation(len(fit))
    shuffled = fit.sort_values(["config", "client_id"]).iloc[turns]
    place = shuffled.groupby(["config", "source", "side"]).cumcount()
    sizes = shuffled.groupby(["config", "source"])["side"].transform(_smaller_side)
    kept = shuffled.assign(place=place)[place < sizes]
    ordered = kept.sort_values(["place", "config", "source"], kind="stable")
    return pd.concat([ordered[ordered["side"] == side].head(texts) for side in (OLDER, NEWER)])


def _smaller_side(sides: pd.Series[Any]) -> int:
    return min(int((sides == OLDER).sum()), int((sides == NEWER).sum()))


def _side(date: str, cutoff: datetime.date) -> str:
    if not date:
        return UNDATED
    return NEWER if date > cutoff.isoformat() else OLDER


def _first(text: str, words: int) -> str:
    return " ".join(text.split()[:words])

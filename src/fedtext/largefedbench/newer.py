"""Which records of a snapshot are newer than a model's training data, and a fair draw of texts from both sides.

A record is newer if its date is after the cutoff, as `largefedbench.model_cutoff` has it; one without a date is not
told.
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
    """Every record of the snapshot (one config, None: all), verified first: `RECORD` columns, `words` counts its words.

    Raises:
        SnapshotError: it is not there, is altered, or has no such config.
    """
    verify(snapshot)
    known = list(provenance(snapshot)["configs"])
    if config is not None and config not in known:
        raise SnapshotError(f"snapshot {snapshot} has no config {config!r}: choose one of {', '.join(known)}")
    rows = [
        (name, row["client_id"], row["source"], row["date"], _side(row["date"], cutoff), len(row["text"].split()))
        for name in ([config] if config else known)
        for row in iterate_rows(snapshot, name, "clients")
    ]
    return pd.DataFrame(rows, columns=RECORD)


def count_by_month(records: pd.DataFrame) -> list[dict[str, Any]]:
    """Records by config, source, month and side, in that order."""
    months = records["date"].str[:7].where(records["date"] != "", UNDATED)
    groups = records.groupby(["config", "source", months.rename("month"), "side"]).size()
    named = (dict(zip(("config", "source", "month", "side"), key, strict=True)) for key in groups.index)
    return [{**one, "records": int(number)} for one, number in zip(named, groups, strict=True)]


def draw_texts(snapshot: Path, records: pd.DataFrame, *, texts: int, words: int, seed: int) -> pd.DataFrame:
    """At most `texts` records of each side in `TEXT` columns, as many of a source on either side: their first `words`.

    Records of fewer words are not drawn. Sources without records on both sides are left out, for a difference between
    them would be one of sources. Empty where none is left.
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
    """Pairs of an older and a newer record of a source: one of every source before a second of any."""
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

"""What the benchmark's figures show, read from a snapshot: tokens of every client, a fair sample of the speeches."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from fedtext.largefedbench.snapshot import provenance, read_table


class Speeches(NamedTuple):
    """Texts and where they were said, in the same order."""

    texts: list[str]
    countries: list[str]


def tokens_of_clients(directory: Path | str) -> dict[str, Int[np.ndarray, " client"]]:
    """Number of tokens of every client, by config (POPri's Figure 9)."""
    return {
        config: read_table(directory, config, "clients", columns=["n_tokens"], check=False)["n_tokens"].to_numpy()
        for config in provenance(directory)["configs"]
    }


def sample_speeches(directory: Path | str, number: int, *, config: str = "congress") -> Speeches:
    """At most `number` clients of `config`, the same ones however the snapshot grows elsewhere: lowest id hashes first.

    Countries are taken in equal parts as far as they have clients, so that a small one is on the map too.
    """
    if config not in provenance(directory)["configs"]:
        return Speeches([], [])
    table = read_table(directory, config, "clients", columns=["client_id", "country", "text"], check=False)
    ids, countries, texts = (table[name].to_pylist() for name in ("client_id", "country", "text"))
    order = sorted(range(len(ids)), key=lambda row: hashlib.sha256(ids[row].encode()).digest())
    rank: dict[str, int] = {}
    place = []
    for row in order:
        rank[countries[row]] = rank.get(countries[row], 0) + 1
        place.append((rank[countries[row]], row))
    chosen = [row for _, row in sorted(place, key=lambda one: one[0])[:number]]
    return Speeches([texts[row] for row in chosen], [countries[row] for row in chosen])

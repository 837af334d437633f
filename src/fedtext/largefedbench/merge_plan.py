"""The first reading of a config's shards: what is kept, what splits together, how many clients there would be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from fedtext.largefedbench.merge_rows import merged_rows
from fedtext.largefedbench.near_duplicates import Duplicate, firsts_of_clusters, near_duplicates, unpacked
from fedtext.largefedbench.units import Text, unit_of
from fedtext.params.largefedbench import ClientUnit, LargeFedBench

REPEATED_ID, NEAR_DUPLICATE = "duplicate_client_id", "near_duplicate"  # rules that the merge leaves texts out by
COLUMNS = ("client_id", "source", "date", "speaker", "speaker_id", "signature")


@dataclass
class Plan:
    """`ids` of distinct texts in order; `found` near-duplicates among them and which of those are `dropped`, by number.

    `splits_with` names the first text of a cluster whose members all stay; `units` are numbers of clients by meaning.
    """

    ids: list[str] = field(default_factory=list)
    found: list[Duplicate] = field(default_factory=list)
    dropped: frozenset[int] = frozenset()
    splits_with: dict[str, Text] = field(default_factory=dict)
    units: dict[str, int] = field(default_factory=dict)


def plan_merge(shards: Sequence[tuple[str, Path]], params: LargeFedBench) -> Plan:
    """Read the shards' ids, speakers and signatures, and decide."""
    plan, texts, signatures = Plan(), list[Text](), bytearray()
    for *facts, signature in merged_rows(shards, COLUMNS):
        if not plan.ids or facts[0] != plan.ids[-1]:
            plan.ids.append(facts[0])
            texts.append(Text(*facts))
            signatures += signature or b""
    if params.near_duplicates != "ignore":
        plan.found = near_duplicates(unpacked(signatures), params.near_duplicate_similarity)
        firsts = firsts_of_clusters(plan.found)
        if params.near_duplicates == "drop":
            plan.dropped = frozenset(firsts)
        elif params.near_duplicates == "group":
            plan.splits_with = {plan.ids[client]: texts[first] for client, first in firsts.items()}
    kept = [text for number, text in enumerate(texts) if number not in plan.dropped]
    plan.units = {unit: len({unit_of(text, unit) for text in kept}) for unit in get_args(ClientUnit)}
    return plan

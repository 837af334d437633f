"""Attacks: an algorithm, two neighbouring corpora, perhaps a planted fault; the claim, and the bound found."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import NamedTuple

import pandas as pd

from audits import faults
from audits.corpus import paired, private_records, replaced, training_client, without, zeroed
from audits.jobs import LOCAL_STEPS, job
from audits.remembered import remembered
from audits.statistics import Bounds, epsilon_bounds, sight
from audits.worlds import TwoWorlds

Neighbour = Callable[[pd.DataFrame, str], pd.DataFrame]
NEIGHBOURS: dict[str, tuple[Neighbour, str]] = {
    "first removed": (without, "first"),
    "middle removed": (without, "middle"),
    "last removed": (without, "last"),
    "first zeroed": (zeroed, "first"),
    "first replaced": (replaced, "first"),
}
FAULTS: dict[str, faults.Fault] = {
    "none": nullcontext,
    "unclipped": faults.unclipped,
    "15% too little noise": faults.too_little_noise,
    "seeded by rank": faults.seeded_by_rank,
    "embedded in company": faults.embedded_in_company,
    "embedded by batch statistics": faults.embedded_by_batch_statistics,
    "trained in company": faults.trained_in_company,
    "last release uncharged": faults.last_release_uncharged,
    "noise over the root of silos": faults.shared_among_silos,
    "one noise for all silos": partial(faults.one_noise, lambda _, step: f"step {step}"),
    "one noise for all rounds": partial(faults.one_noise, lambda silo, step: f"{silo} {step % LOCAL_STEPS}"),
    "one noise for a round's steps": partial(faults.one_noise, lambda silo, step: f"{silo} {step // LOCAL_STEPS}"),
}


class Attack(NamedTuple):
    """An attack: `runs` of a job in each of two neighbouring worlds, with or without a planted fault."""

    job: str
    neighbour: str
    fault: str
    runs: int


class Finding(NamedTuple):
    """The result of an attack.

    Attributes:
        attack: The attack.
        claim: The epsilon that the run's privacy report states for such neighbours.
        bounds: Lower bounds on the true epsilon.
    """

    attack: Attack
    claim: float
    bounds: Bounds

    @property
    def holds(self) -> bool:
        """True if no lower bound exceeds the claim."""
        return self.bounds.best <= self.claim


def run_attack(attack: Attack) -> Finding:
    """Run the attack; every noise key is used once."""
    change, place = NEIGHBOURS[attack.neighbour]
    records = private_records()
    neighbour = change(records, training_client(records["client_id"], place))
    with FAULTS[attack.fault](), remembered():
        worlds = TwoWorlds(job(attack.job), (paired(records), paired(neighbour)))
        transcripts = [[worlds.run(real, 2 * n + real) for n in range(attack.runs)] for real in (0, 1)]
    report = transcripts[0][0][1]
    adjacency = "replace_one" if attack.neighbour.endswith("replaced") else "zero_out"
    seen = [[sight(leaks, real) for leaks, _ in transcripts[real]] for real in (0, 1)]
    bounds = epsilon_bounds((seen[0], seen[1]), delta=report["delta"])
    return Finding(attack, float(report["epsilon_by_adjacency"][adjacency]), bounds)

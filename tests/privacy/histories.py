"""Entries of a data root's history."""

from __future__ import annotations

from typing import Any

from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.parties import Party
from fedtext.privacy.spending import Spent

DELTA, POPULATION = 1e-5, 1000


def release(multiplier: float = 4.0, **changes: Any) -> Release:
    """One Gaussian sum."""
    fields = {"name": "sum", "round": 0, "mechanism": "discrete Gaussian", "sensitivity": 1.0}
    return Release.model_validate({**fields, "noise_stddev": multiplier, **changes})


def spent(made: Release | None, receipt: str = "a", **changes: Any) -> Spent:
    """That one query was answered."""
    fields = {"node": "node", "release": made, "round": made.round if made else 0, "receipt": receipt, "part": "train"}
    fields |= {"split": "s", "adjacency": "zero_out", "delta": DELTA, "budget": 1.0, "allowed": 1.0}
    return Spent.model_validate({**fields, **changes})


def party(name: str, kind: str = "silo", population: int = 500, budget: float = 1.0) -> Party:
    """One of two that hold all units."""
    return Party(name=name, kind=kind, population=population, epsilon=budget)


def ledger(
    *,
    part: str = "train",
    planned: tuple[Release, ...] = (),
    releases: tuple[Release, ...] = (),
    parties: tuple[Party, ...] = (),
    **declared: Any,
) -> Ledger:
    """An empty one, unless `releases` are given."""
    declaration = Privacy.model_validate({"epsilon": 1.0, "delta": DELTA, **declared})
    held = sum(one.population for one in parties) or POPULATION
    fields = {"declaration": declaration, "population": held, "part": part, "parties": parties}
    return Ledger.model_validate({**fields, "planned": planned, "releases": releases})

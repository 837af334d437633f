"""Parties: who holds the protected units, and who pays for a release.

A party is a holder: a silo, a device, a curator. A unit of privacy (a client or a record) belongs to exactly one
party, and which one is public. A neighbouring data set changes one unit inside its party. So releases compose in
sequence within a party and in parallel across parties: a release costs the parties that took part, and nobody else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from pydantic import Field

from fedtext.params import Parameters
from fedtext.params.privacy import Privacy
from fedtext.system.errors import InputError

Payers = tuple[str, ...] | None  # names of the parties that took part; None: all of them


class Party(Parameters):
    """One holder of units.

    Attributes:
        name: Its own, the same in every run on a data set.
        kind: What it is one of many of, for the report ("strong silo").
        population: The public number of units that it holds, silent ones included.
        epsilon: The budget: what it may spend, at the run's delta.
    """

    name: str = Field(min_length=1)
    kind: str = Field(min_length=1)
    population: int = Field(ge=1)
    epsilon: float = Field(gt=0)

    def __str__(self) -> str:
        return f"party '{self.name}' ({self.kind})"


def spend_profiles(payers: Sequence[Payers], names: Iterable[str] = ()) -> dict[str, tuple[int, ...]]:
    """What each party pays for, as positions in `payers`.

    Args:
        payers: Who took part in each release.
        names: Parties to list even if no release names them.

    Returns:
        A bill for every party in `names` and for every party that a release names; empty where there is neither, and
        everybody pays for everything.
    """
    found: dict[str, list[int]] = {name: [] for name in names}
    for named in payers:
        for name in named or ():
            found.setdefault(name, [])
    for position, named in enumerate(payers):
        for name in found if named is None else named:
            found[name].append(position)
    return {name: tuple(positions) for name, positions in found.items()}


def distinct_spend_profiles(payers: Sequence[Payers]) -> set[tuple[int, ...]]:
    """Each different bill once. The worst of them is the worst of all: who is nowhere named pays least."""
    return set(spend_profiles(payers).values()) or {tuple(range(len(payers)))}


def partition(parties: Iterable[Party], deal: str = "") -> str:
    """A digest of the names, whatever their order, and of the deal: equal where units are dealt alike.

    Made-up parties have the same names in every deal, so that names alone say nothing. Empty without parties.
    """
    names = sorted(party.name for party in parties)
    told: list[object] = [names, deal] if deal else list(names)
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16] if names else ""


def validate_partition(parties: Sequence[Party], population: int, epsilon: float) -> None:
    """Raise ValueError unless the parties, if any, hold all units and none may spend more than the run declares."""
    if not parties:
        return
    if len({party.name for party in parties}) < len(parties):
        raise InputError("two parties have one name: every party needs its own")
    if (held := sum(party.population for party in parties)) != population:
        raise InputError(
            f"population is {population}, and the parties hold {held} units: a unit belongs to one party, so both must "
            "be the same"
        )
    for party in parties:
        if party.epsilon > epsilon:
            raise InputError(
                f"{party} has a budget of epsilon {party.epsilon:.6g}, and the run declares {epsilon:.6g}: declare the "
                "largest of the parties' budgets"
            )


def most_units(declaration: Privacy, population: int) -> int:
    """How many units may turn out to be enrolled: a declared number is split by chance, so a part may have more."""
    return max(population, declaration.population or 0)

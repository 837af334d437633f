"""Parties: the data holders of the protected units, to which releases are charged.

A party is a silo, a device or a curator. A unit of privacy (a client or a record) belongs to exactly one party, and
which one is public. A neighbouring data set changes one unit inside its party. So releases compose in sequence within a
party and in parallel across parties: a release is charged to the parties that took part, and to no other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from pydantic import Field

from fedtext.params import Parameters
from fedtext.params.privacy import Privacy
from fedtext.system.errors import InputError

Participants = tuple[str, ...] | None  # names of the parties that took part; None: all of them


class Party(Parameters):
    """One data holder of units.

    Attributes:
        name: The party's own name, the same in every run on a data set.
        kind: The party's role, for the report ("strong silo").
        population: The public number of units that it holds, those without data included.
        epsilon: The party's budget, at the run's delta.
    """

    name: str = Field(min_length=1)
    kind: str = Field(min_length=1)
    population: int = Field(ge=1)
    epsilon: float = Field(gt=0)

    def __str__(self) -> str:
        return f"party '{self.name}' ({self.kind})"


def spend_profiles(participants: Sequence[Participants], names: Iterable[str] = ()) -> dict[str, tuple[int, ...]]:
    """Map each party to the releases that it is charged for, as positions in `participants`.

    Args:
        participants: The parties that took part in each release.
        names: Parties to list even if no release names them.

    Returns:
        An entry for every party in `names` and for every party that a release names; empty where there is neither, and
            every release is charged to all.
    """
    found: dict[str, list[int]] = {name: [] for name in names}
    for named in participants:
        for name in named or ():
            found.setdefault(name, [])
    for position, named in enumerate(participants):
        for name in found if named is None else named:
            found[name].append(position)
    return {name: tuple(positions) for name, positions in found.items()}


def distinct_spend_profiles(participants: Sequence[Participants]) -> set[tuple[int, ...]]:
    """Return the distinct sets of releases that some party is charged for.

    The maximum epsilon over them is the maximum over all parties: a party that no release names is charged least.
    """
    return set(spend_profiles(participants).values()) or {tuple(range(len(participants)))}


def partition(parties: Iterable[Party], rule: str = "") -> str:
    """Compute a digest of the names, whatever their order, and of the partition rule `rule`.

    It is equal where units are partitioned alike. Simulated parties have the same names in every partition, so that
    names alone do not tell. The digest is empty without parties.
    """
    names = sorted(party.name for party in parties)
    told: list[object] = [names, rule] if rule else list(names)
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16] if names else ""


def validate_partition(parties: Sequence[Party], population: int, epsilon: float) -> None:
    """Raise ValueError unless the parties, if any, hold all units and none has a budget above the run's epsilon."""
    if not parties:
        return
    if len({party.name for party in parties}) < len(parties):
        raise InputError("two parties have one name: every party needs its own", code="party-named-twice")
    if (held := sum(party.population for party in parties)) != population:
        raise InputError(
            f"population is {population}, and the parties hold {held} units: a unit belongs to one party, so both must "
            "be the same",
            code="parties-do-not-add-up",
            parameter="population",
            value=population,
        )
    for party in parties:
        if party.epsilon > epsilon:
            raise InputError(
                f"{party} has a budget of epsilon {party.epsilon:.6g}, and the run declares {epsilon:.6g}: declare the "
                "largest of the parties' budgets",
                code="party-budget-not-declared",
                parameter="epsilon",
                value=epsilon,
            )


def most_units(declaration: Privacy, population: int) -> int:
    """Return the most units that may be enrolled: a declared number is split by chance, so a part may have more."""
    return max(population, declaration.population or 0)

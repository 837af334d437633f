"""What a run plans to release, and at which noise: settled before any private text is read."""

from __future__ import annotations

from fedtext.params.privacy import Privacy
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.ledger import Ledger, Release, open_ledger


def sampling_rate(privacy: Privacy, population: int) -> float:
    """Share of the units asked in one release.

    Raises:
        ValueError: more units are to be asked than there are.
    """
    if privacy.clients_per_round is None:
        return 1.0
    if privacy.clients_per_round > population:
        raise ValueError(
            f"privacy.clients_per_round is {privacy.clients_per_round}, but there are {population} {privacy.unit}s to "
            "ask: lower it, or set privacy.sampling to full and leave it out"
        )
    return privacy.clients_per_round / population


def expected_units(ledger: Ledger) -> float:
    """How many units a release is expected to hear of, which is public."""
    return ledger.population * sampling_rate(ledger.declaration, ledger.population)


def expected_exchanges(privacy: Privacy, population: int, releases: int) -> float:
    """How often a unit is asked in a run of `releases` releases, a mean over the draws."""
    return releases * sampling_rate(privacy, population)


def planned_multiplier(privacy: Privacy, population: int, releases: int) -> float:
    """Noise multiplier of each of `releases` releases: the declared one, or the smallest that keeps the epsilon."""
    if privacy.noise_multiplier is not None:
        return privacy.noise_multiplier
    watched = privacy.aggregation == "local"  # the server sees who answers, so the draw of units hides nobody
    return noise_multiplier(
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        rounds=releases,
        adjacency=privacy.adjacency,
        sampling="full" if watched else privacy.sampling,
        rate=1.0 if watched else sampling_rate(privacy, population),
    )


def planned_ledger(
    privacy: Privacy, population: int, *, name: str, releases: int, first_round: int = 1, clip_norm: float = 1.0
) -> Ledger:
    """An empty ledger for `population` units, after checking that `releases` releases called `name` fit the budget.

    Raises:
        BudgetExceeded: they would overdraw it.
        ValueError: the declaration means nothing for so many units.
    """
    noise = planned_multiplier(privacy, population, releases)
    watched = privacy.aggregation == "local"  # as in planned_multiplier
    planned = [
        Release(
            name=name,
            round=first_round + t,
            mechanism="discrete Gaussian",
            sensitivity=clip_norm,
            noise_stddev=noise * clip_norm,
            sampling="full" if watched else privacy.sampling,
            rate=1.0 if watched else sampling_rate(privacy, population),
            unit=privacy.unit,
        )
        for t in range(releases)
    ]
    return open_ledger(privacy, population, planned)


def refuse_other_holder(privacy: Privacy, *, parameter: str, value: str, central: str, federated: str) -> None:
    """A central form of an algorithm has a curator that holds single records; a federated one has clients and none.

    Raises:
        ValueError: `value` of `parameter` is one of the two, and the declaration is the other's.
    """
    declared = f"privacy.unit is {privacy.unit} and privacy.aggregation {privacy.aggregation}"
    if value == central and (privacy.unit, privacy.aggregation) != ("record", "trusted"):
        raise ValueError(
            f"{parameter} is {central}, but {declared}: declare unit record and aggregation trusted, "
            f"or set {parameter} to {federated}"
        )
    if value == federated and privacy.aggregation == "trusted":
        raise ValueError(
            f"{parameter} is {federated}, but {declared}: no curator holds the clients' text; declare aggregation "
            f"secure or local, or set {parameter} to {central} (with unit record)"
        )

"""What a run plans to release, and at which noise: settled before any private text is read."""

from __future__ import annotations

from fedtext.params.privacy import Privacy, Sampling
from fedtext.privacy.accounting import SampledGaussian
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.ledger import Ledger
from fedtext.system.errors import InputError


def sampling_rate(privacy: Privacy, population: int) -> float:
    """Share of the units asked in one release.

    Raises:
        ValueError: more units are to be asked than there are.
    """
    if privacy.clients_per_round is None:
        return 1.0
    if privacy.clients_per_round > population:
        raise InputError(
            f"privacy.clients_per_round is {privacy.clients_per_round}, but there are {population} {privacy.unit}s to "
            "ask: lower it, or set privacy.sampling to full and leave it out"
        )
    return privacy.clients_per_round / population


def priced_sampling(privacy: Privacy) -> Sampling:
    """The draw that may be priced: under local noise the server sees who answers, so the draw of units hides nobody."""
    return "full" if privacy.aggregation == "local" else privacy.sampling


def priced_rate(privacy: Privacy, population: int) -> float:
    """The rate that goes with `priced_sampling`."""
    return 1.0 if privacy.aggregation == "local" else sampling_rate(privacy, population)


def batch_rate(privacy: Privacy, population: int, batch: int) -> float:
    """Probability with which a unit is in a Poisson draw of `batch` expected units that a query makes for itself.

    Raises:
        ValueError: the run declares a draw of its own, or local noise, whose sender the server sees; or there are fewer
            units.
    """
    if privacy.sampling != "full" or privacy.aggregation == "local":
        raise InputError(
            f"privacy.sampling is {privacy.sampling}, privacy.aggregation {privacy.aggregation}: batches are drawn for "
            "every step, in secret; declare sampling full and aggregation secure or trusted"
        )
    if not 1 <= batch <= population:
        raise InputError(
            f"the expected batch is {batch}, but there are {population} {privacy.unit}s to draw it from: give a number "
            f"from 1 to {population}"
        )
    return batch / population


def inside_a_party(privacy: Privacy) -> Privacy:
    """The declaration as it holds within one party, which is the curator of its own units.

    It draws in secret, adds up and adds noise by itself, whatever the others do and whoever sees what it gives out.
    """
    return privacy.model_copy(update={"aggregation": "trusted"})


def expected_units(ledger: Ledger) -> float:
    """How many units a release is expected to hear of, which is public."""
    return ledger.population * sampling_rate(ledger.declaration, ledger.population)


def expected_exchanges(privacy: Privacy, population: int, releases: int) -> float:
    """How often a unit is asked in a run of `releases` releases, a mean over the draws."""
    return releases * sampling_rate(privacy, population)


def planned_multiplier(
    privacy: Privacy,
    population: int,
    releases: int,
    *,
    non_negative: bool = False,
    batch: int | None = None,
    beside: tuple[SampledGaussian, ...] = (),
) -> float:
    """Noise multiplier of each of `releases` releases: the declared one, or the smallest that keeps the epsilon.

    `non_negative`: of sums of contributions without a negative coordinate, which need less under replace_one. `batch`:
    each is of a Poisson draw of its own, of so many units on average. `beside`: what else the same units pay for.

    Raises:
        ValueError: published noise is declared and no multiplier, and nobody has published a formula for this; or what
            `fedtext.privacy.calibration.noise_multiplier` refuses, as other releases that cost it all.
    """
    if privacy.noise_multiplier is not None:
        return privacy.noise_multiplier
    if privacy.calibration == "published":
        raise InputError(
            "privacy.calibration is published, but no paper has a formula for the noise of this release: give the "
            "paper's multiplier as privacy.noise_multiplier, or set privacy.calibration to exact"
        )
    return noise_multiplier(
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        rounds=releases,
        adjacency=privacy.adjacency,
        sampling=priced_sampling(privacy) if batch is None else "poisson",
        rate=priced_rate(privacy, population) if batch is None else batch_rate(privacy, population, batch),
        non_negative=non_negative,
        beside=beside,
    )


def validate_holders(privacy: Privacy, *, parameter: str, value: str, central: str, federated: str) -> None:
    """A central form of an algorithm has a curator that holds single records; a federated one has clients and none.

    Raises:
        ValueError: `value` of `parameter` is one of the two, and the declaration is the other's.
    """
    declared = f"privacy.unit is {privacy.unit} and privacy.aggregation {privacy.aggregation}"
    if value == central and (privacy.unit, privacy.aggregation) != ("record", "trusted"):
        raise InputError(
            f"{parameter} is {central}, but {declared}: declare unit record and aggregation trusted, "
            f"or set {parameter} to {federated}"
        )
    if value == federated and privacy.aggregation == "trusted":
        raise InputError(
            f"{parameter} is {federated}, but {declared}: no curator holds the clients' text; declare aggregation "
            f"secure or local, or set {parameter} to {central} (with unit record)"
        )

"""The plan of a run's releases and their noise, fixed before any private text is read."""

from __future__ import annotations

from fedtext.params.privacy import Privacy, Sampling
from fedtext.privacy.accounting import SampledGaussian
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.ledger import Ledger
from fedtext.system.errors import InputError


def sampling_rate(privacy: Privacy, population: int) -> float:
    """Return the share of the units sampled in one release.

    Raises:
        ValueError: the sample is larger than the population.
    """
    if privacy.clients_per_round is None:
        return 1.0
    if privacy.clients_per_round > population:
        raise InputError(
            f"privacy.clients_per_round is {privacy.clients_per_round}, but there are {population} {privacy.unit}s to "
            "ask: lower it, or set privacy.sampling to full and leave it out",
            code="clients-per-round-above-population",
            parameter="privacy.clients_per_round",
            value=privacy.clients_per_round,
        )
    return privacy.clients_per_round / population


def accounted_sampling(privacy: Privacy) -> Sampling:
    """Return the sampling that may be accounted: full under local noise, where the server sees the senders."""
    return "full" if privacy.aggregation == "local" else privacy.sampling


def accounted_rate(privacy: Privacy, population: int) -> float:
    """Return the rate that belongs to `accounted_sampling`."""
    return 1.0 if privacy.aggregation == "local" else sampling_rate(privacy, population)


def batch_rate(privacy: Privacy, population: int, batch: int, *, parameter: str) -> float:
    """Return the rate of a query's own Poisson sample of `batch` expected units, which `parameter` declares.

    Raises:
        ValueError: the run declares sampling of its own, or local noise, where the server sees the senders; or there
            are fewer than `batch` units.
    """
    if privacy.sampling != "full" or privacy.aggregation == "local":
        raise InputError(
            f"privacy.sampling is {privacy.sampling}, privacy.aggregation {privacy.aggregation}: batches are drawn for "
            "every step, in secret; declare sampling full and aggregation secure or trusted",
            code="batches-need-full-sampling",
            parameter="privacy.sampling",
            value=privacy.sampling,
        )
    if not 1 <= batch <= population:
        raise InputError(
            f"{parameter} is {batch}, but there are {population} {privacy.unit}s to draw a step's batch from: "
            f"set it to a number from 1 to {population}",
            code="batch-above-population",
            parameter=parameter,
            value=batch,
        )
    return batch / population


def within_party(privacy: Privacy) -> Privacy:
    """Return the declaration as it holds within one party, which is the curator of its own units.

    The party samples in secret, sums and adds noise by itself, whatever other parties do and whoever sees its result.
    """
    return privacy.model_copy(update={"aggregation": "trusted"})


def expected_units(ledger: Ledger) -> float:
    """Return the expected number of units in a release, which is public."""
    return ledger.population * sampling_rate(ledger.declaration, ledger.population)


def expected_exchanges(privacy: Privacy, population: int, releases: int) -> float:
    """Return how often a unit is sampled in a run of `releases` releases, in expectation."""
    return releases * sampling_rate(privacy, population)


def planned_multiplier(
    privacy: Privacy,
    population: int,
    releases: int,
    *,
    non_negative: bool = False,
    batch: int | None = None,
    batch_parameter: str = "batch_size",
    beside: tuple[SampledGaussian, ...] = (),
) -> float:
    """Return the noise multiplier of each of `releases` releases: the declared one, or the least for the epsilon.

    Args:
        privacy: The run's declared privacy parameters.
        population: The public number of units.
        releases: Number of releases.
        non_negative: True if no contribution has a coordinate below 0, which needs less noise under replace_one.
        batch: Expected size of each release's own Poisson sample; None: units are sampled as declared.
        batch_parameter: The parameter that declares `batch`, for the error.
        beside: Other releases of the same units that share the budget.

    Raises:
        ValueError: published noise is declared without a multiplier, and no paper has a formula for this run; or
            `fedtext.privacy.calibration.noise_multiplier` raises it, as where `beside` uses up the budget.
    """
    sampling, rate = accounted_sampling(privacy), accounted_rate(privacy, population)
    if batch is not None:
        sampling, rate = "poisson", batch_rate(privacy, population, batch, parameter=batch_parameter)
    if privacy.noise_multiplier is not None:
        return privacy.noise_multiplier
    if privacy.calibration == "published":
        raise InputError(
            "privacy.calibration is published, but no paper has a formula for the noise of this release: give the "
            "paper's multiplier as privacy.noise_multiplier, or set privacy.calibration to exact",
            code="no-published-calibration",
            parameter="privacy.calibration",
            value="published",
        )
    return noise_multiplier(
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        rounds=releases,
        adjacency=privacy.adjacency,
        sampling=sampling,
        rate=rate,
        non_negative=non_negative,
        beside=beside,
    )


def validate_holders(privacy: Privacy, *, parameter: str, value: str, central: str, federated: str) -> None:
    """Raise unless the algorithm's variant fits the data holders: a curator of single records, or clients.

    A central variant has a curator that holds single records; a federated one has clients and no curator.

    Raises:
        ValueError: `value` of `parameter` is one of the two variants, and the declaration is that of the other.
    """
    declared = f"privacy.unit is {privacy.unit} and privacy.aggregation {privacy.aggregation}"
    if value == central and (privacy.unit, privacy.aggregation) != ("record", "trusted"):
        raise InputError(
            f"{parameter} is {central}, but {declared}: declare unit record and aggregation trusted, "
            f"or set {parameter} to {federated}",
            code="needs-a-curator",
            parameter=parameter,
            value=central,
        )
    if value == federated and privacy.aggregation == "trusted":
        raise InputError(
            f"{parameter} is {federated}, but {declared}: no curator holds the clients' text; declare aggregation "
            f"secure or local, or set {parameter} to {central} (with unit record)",
            code="no-curator",
            parameter=parameter,
            value=federated,
        )

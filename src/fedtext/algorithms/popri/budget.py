"""What a run plans to release, and at which noise."""

from __future__ import annotations

from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.ledger import Ledger, Release, open_ledger

CLIP_NORM = 1.0  # section 3.1: 'We clip this vector to a norm of 1'


def multiplier(popri: Popri, privacy: Privacy, population: int) -> float:
    """Noise multiplier of each release: the declared one, or the smallest that keeps the declared epsilon."""
    if privacy.noise_multiplier is not None:
        return privacy.noise_multiplier
    watched = privacy.aggregation == "local"  # the server sees who answers, so the draw of clients hides nobody
    return noise_multiplier(
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        rounds=popri.releases,
        adjacency=privacy.adjacency,
        sampling="full" if watched else privacy.sampling,
        rate=1.0 if watched else sampling_rate(privacy, population),
    )


def planned_ledger(population: int, popri: Popri, privacy: Privacy) -> Ledger:
    """An empty ledger for `population` units, before any private text is embedded.

    Raises:
        BudgetExceeded: the run's planned releases would overdraw its budget.
        ValueError: the declaration does not fit `popri.variant`, or means nothing for so many units.
    """
    _refuse_other_variant(popri, privacy)
    noise = multiplier(popri, privacy, population)
    name = "popri.mean_features" if popri.single_release else "popri.scores"
    first = 0 if popri.single_release else 1
    planned = [
        Release(
            name=name,
            round=first + t,
            mechanism="discrete Gaussian",
            sensitivity=CLIP_NORM,
            noise_stddev=noise * CLIP_NORM,
            sampling=privacy.sampling,
            rate=sampling_rate(privacy, population),
            unit=privacy.unit,
        )
        for t in range(popri.releases)
    ]
    return open_ledger(privacy, population, planned)


def _refuse_other_variant(popri: Popri, privacy: Privacy) -> None:
    """Algorithm 1 has clients and no curator; Algorithms 2, 3 and 5 have a curator that holds single records."""
    declared = f"privacy.unit is {privacy.unit} and privacy.aggregation {privacy.aggregation}"
    if popri.variant == "central" and (privacy.unit, privacy.aggregation) != ("record", "trusted"):
        raise ValueError(
            f"popri.variant is central, but {declared}: declare unit record and aggregation trusted, "
            "or set popri.variant to federated"
        )
    if popri.variant == "federated" and privacy.aggregation == "trusted":
        raise ValueError(
            f"popri.variant is federated, but {declared}: no curator holds the clients' text; declare aggregation "
            "secure or local, or set popri.variant to central (with unit record)"
        )


def sampling_rate(privacy: Privacy, population: int) -> float:
    """Share of the clients asked in one release."""
    if privacy.sampling == "full" or privacy.clients_per_round is None:
        return 1.0
    return privacy.clients_per_round / population

"""Who takes part in a round: everybody, each with the same probability, a fixed number, or whose turn it is.

Every unit draws its own lot from the run's secret and its own code, so that who else is enrolled changes nothing of it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int, Int64

from fedtext.params.privacy import Sampling
from fedtext.privacy.noise import NoiseKey, keyed_bytes
from fedtext.system.errors import InputError


def participants(
    enrolled: Int[np.ndarray, " unit"],
    *,
    sampling: Sampling,
    clients_per_round: int | None,
    population: int,
    key: NoiseKey,
    stream: tuple[str, ...],
) -> Int64[np.ndarray, " participant"]:
    """Codes, ascending, of the enrolled units that take part in the release that `stream` names.

    `poisson` takes each unit on its own with probability clients_per_round / population, so that their number varies
    and may be zero (the release is then pure noise); `fixed_size` takes exactly `clients_per_round` of them. They are
    different mechanisms and are priced differently. Sampling helps privacy only as long as nobody knows who was drawn:
    the run's secret draws. Composition takes draws to be independent, so the stream must name all that tells two
    releases apart: had two of them the same units, both together would cost what one release of twice the square would.

    Raises:
        ValueError: nobody is enrolled, or a `clients_per_round` that is missing or larger than the population where
            sampling needs it.
    """
    units = np.unique(enrolled.astype(np.int64))
    if not len(units):
        raise InputError("nobody is enrolled: at least one unit is needed")
    if sampling == "full":
        return units
    if clients_per_round is None or not 1 <= clients_per_round <= population:
        raise InputError(
            f"clients_per_round {clients_per_round} with {sampling} sampling: give a number from 1 to {population}, "
            "or set sampling to full"
        )
    lots = _lots(units, key, stream)
    if sampling == "poisson":
        return units[lots < clients_per_round / population]
    return np.sort(units[np.argsort(lots, kind="stable")[:clients_per_round]])


def scheduled(
    enrolled: Int[np.ndarray, " unit"], *, separation: int, round: int, key: NoiseKey
) -> Int64[np.ndarray, " participant"]:
    """Codes, ascending, of the enrolled units whose turn it is in `round`, counted from 1.

    Everybody takes part once in `separation` rounds, always in the same place of the cycle, so that a unit's rounds are
    never closer. The run's secret and the unit's code alone draw the place, so that a round has about
    1 / separation of the units, and a unit more or less moves nobody. No amplification by sampling is claimed.

    Raises:
        ValueError: a separation below 1, or a round before the first.
    """
    if separation < 1:
        raise InputError(f"separation {separation}: give a number of rounds of at least 1")
    if round < 1:
        raise InputError(f"round {round}: rounds of a schedule count from 1")
    units = np.unique(enrolled.astype(np.int64))
    place = np.floor(_lots(units, key, ("schedule",)) * separation)
    turn: np.ndarray = units[place == (round - 1) % separation]
    return turn


def _lots(units: Int64[np.ndarray, " unit"], key: NoiseKey, stream: tuple[str, ...]) -> Float[np.ndarray, " unit"]:
    """One uniform number in [0, 1) a unit, a function of its code."""
    drawn = b"".join(keyed_bytes(key, 8, ("participation", *stream, str(unit))) for unit in units.tolist())
    return np.asarray((np.frombuffer(drawn, dtype="<u8") >> np.uint64(11)) * 2.0**-53)

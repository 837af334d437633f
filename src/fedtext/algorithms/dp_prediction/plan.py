"""The plan of private prediction: groups, tokens and the clip that the budget pays for, all from public values."""

from __future__ import annotations

from fedtext.federation.token_release import PlannedTokens, planned_tokens
from fedtext.params.dp_prediction import DpPrediction
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger, open_ledger
from fedtext.privacy.plan import planned_multiplier
from fedtext.system.errors import InputError

NAME = "dp_prediction"


def group_size(params: DpPrediction, population: int) -> int:
    """Return the declared number of units of a group: the population over the number of groups.

    Raises:
        ValueError: there are more groups than units.
    """
    size = population // groups(params)
    if size < 1:
        raise InputError(
            f"{NAME}.synthetic_texts is {params.synthetic_texts}, written by {groups(params)} groups of {population} "
            f"units: ask for at most {population * params.texts_per_group} texts, or let each group write more "
            f"({NAME}.texts_per_group)",
            code="more-groups-than-units",
            parameter=f"{NAME}.synthetic_texts",
            value=params.synthetic_texts,
        )
    return size


def groups(params: DpPrediction) -> int:
    """Return the number of groups."""
    return -(-params.synthetic_texts // params.texts_per_group)


def planned_release(params: DpPrediction, privacy: Privacy, population: int) -> PlannedTokens:
    """Plan the texts with the largest clip that the budget pays for.

    Raises:
        ValueError: the declaration does not fit, there are more groups than units, or more tokens than can be planned.
    """
    return planned_tokens(
        f"{NAME}.tokens",
        privacy,
        shift=1 / planned_multiplier(privacy, population, releases=1),
        group_size=group_size(params, population),
        groups=groups(params),
        texts=params.texts_per_group,
        tokens=params.sampler.max_new_tokens,
        temperature=params.sampler.temperature,
    )


def planned_ledger(population: int, params: DpPrediction, privacy: Privacy) -> Ledger:
    """Return an empty ledger for `population` units, before any of them is read.

    Raises:
        ValueError: `planned_release` raises it.
    """
    plan = planned_release(params, privacy, population)
    return open_ledger(privacy, population, [plan.release])

"""The epsilon that a paper's accounting claims for the noise of a run, beside the exact epsilon of its releases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedtext.privacy.accounting import SampledGaussian, rdp_epsilon
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.parties import Party, distinct_spend_profiles, spend_profiles
from fedtext.privacy.wording import number, shown


def published_epsilon(ledger: Ledger) -> dict[str, Any] | None:
    """Return `epsilon` as claimed, `exact`, and both in a `statement`; with phases also `parties`, a row a kind.

    None is returned where there is nothing to compare: the calibration is exact, nothing was released, or parties have
    one phase only, so that nothing is added up.
    """
    if ledger.declaration.calibration != "published":
        return None
    if ledger.declaration.noise_multiplier is not None:
        return _by_renyi(ledger)
    return _by_phases(ledger) if ledger.parties else _by_formula(ledger)


def _by_formula(ledger: Ledger) -> dict[str, Any] | None:
    """Compare for noise that a paper's formula gives; `planned_multiplier` has refused a run without such a formula."""
    if not ledger.releases:
        return None
    claimed, exact = ledger.declaration.epsilon, number(ledger.spent())
    return {
        "epsilon": claimed,
        "exact": exact,
        "statement": (
            f"The noise is calibrated as published, for epsilon = {shown(claimed)}. Priced exactly under "
            f"{ledger.declaration.adjacency}, what was released spends epsilon = {shown(exact)}."
        ),
    }


def _by_renyi(ledger: Ledger) -> dict[str, Any]:
    """Compare for a declared multiplier: the claim is the Renyi accountant's, as in the papers."""
    kinds = [SampledGaussian("poisson", r.rate, 1 / r.noise_multiplier, r.steps) for r in ledger.releases]
    paid = [[kinds[at] for at in profile] for profile in distinct_spend_profiles([r.parties for r in ledger.releases])]
    claimed = max(rdp_epsilon(own, ledger.declaration.delta) if own else 0.0 for own in paid)
    return {
        "epsilon": claimed,
        "exact": number(ledger.spent()),
        "statement": (
            "The noise is calibrated as published: an RDP accountant, Poisson sampling, add/remove, gives "
            f"epsilon = {shown(claimed)}; what was done is {ledger.declaration.adjacency} with "
            f"{ledger.declaration.sampling} sampling, and costs epsilon = {shown(number(ledger.spent()))}."
        ),
    }


def _by_phases(ledger: Ledger) -> dict[str, Any] | None:
    """Compare for phases calibrated alone, each at its share of delta, whose epsilons a paper adds up.

    There is a row for each kind of party: that of its party that spent most.
    """
    paid = spend_profiles([release.parties for release in ledger.releases], [party.name for party in ledger.parties])
    phases = max(map(len, paid.values()), default=0)
    if phases < 2:
        return None
    rows: list[dict[str, Any]] = []
    for kind in dict.fromkeys(party.kind for party in ledger.parties):
        worst = max(_of_kind(ledger, kind), key=lambda party: ledger.spent(party=party.name))
        claimed = _added_up(ledger, [ledger.releases[at] for at in paid[worst.name]], phases)
        rows.append({"kind": kind, "epsilon": claimed, "exact": number(ledger.spent(party=worst.name))})
    told = ", ".join(f"a {row['kind']} spends {shown(row['exact'])} of {shown(row['epsilon'])}" for row in rows)
    return {
        "epsilon": max(row["epsilon"] for row in rows),
        "exact": number(ledger.spent()),
        "parties": rows,
        "statement": (
            f"The noise is calibrated as published: each of {phases} phases alone, at 1/{phases} of delta and for a "
            f"unit that contributes nothing, and the epsilons are added up. Priced together under "
            f"{ledger.declaration.adjacency}, {told}."
        ),
    }


def _of_kind(ledger: Ledger, kind: str) -> list[Party]:
    return [party for party in ledger.parties if party.kind == kind]


def _added_up(ledger: Ledger, releases: Sequence[Release], phases: int) -> float:
    share = ledger.declaration.model_copy(update={"delta": ledger.declaration.delta / phases})
    alone = [ledger.model_copy(update={"declaration": share, "releases": (release,)}) for release in releases]
    return sum(one.spent("zero_out") for one in alone)

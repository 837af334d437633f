"""The assumptions that a run's epsilon relies on and that the ledger cannot check."""

from __future__ import annotations

import math
from collections.abc import Iterable

from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.wording import number, shown

SIMULATED = "simulation: seeded noise"

_AGGREGATION = {
    "secure": (
        "Secure aggregation{of}: the server, and whoever reads the result, sees the noised sum and no client's "
        "message, and epsilon is about that; all enrolled clients add noise in shares, also those that were not drawn "
        "and those that hold nothing."
    ),
    "local": (
        "Local noise: every client adds all of its noise itself. Epsilon is that of one client's message as the server "
        "sees it, sender included, so a draw of who sends counts for nothing. A reader of the sums alone sees the "
        "noise of all clients."
    ),
    "trusted": "A trusted curator holds the private data and adds the noise{of}.",
}
_ONE_PROCESS = (
    " This run simulated it: one process held all messages and drew the noise, so whoever runs it is trusted as a "
    "curator would be."
)
_PAIRWISE = (
    " Every silo hid its sum and its share of the noise behind masks that cancel in the sum of all: two silos share a "
    "secret that the server does not have, as long as the people there told each other their keys."
)
OWN_PROCESSES = "each silo's own process"  # the rule by which parties hold units: they really do
_WHO_SAW = {
    "secure": "Simulated: all of the text was in this process, which summed the messages and drew the noise; a server "
    "behind secure aggregation would see the noised sum alone.",
    "local": "Simulated: all of the text was in this process, which drew every holder's noise; a server would see each "
    "holder's noised message.",
    "trusted": "A curator: all of the text was in this process, which drew the noise.",
}
_SILOS_KEPT = (
    "The text stayed with {silos} silos, each in a process of its own. This run saw {seen} and no text; each silo drew "
    "its own noise, and charged its own ledger by its own account."
)
_SILOS_SHOWED = {"local": "each silo's noised sums", "secure": "the noised sums of all silos together"}
_LOCAL_QUERY = (
    "{names}: one party answers alone, adds up what its own units say and adds all of the noise by itself. The server "
    "sees each such answer, or what was made of it, and whose it is."
)
_INSIDER = "A client knows its own share of the noise: it sees each sum with one share less than epsilon relies on."
_INSIDER_PARTY = (
    "A party knows its own share of the noise and can take it off: among {sharers}, {left:.3g} of the deviation are "
    "left, and against another party epsilon is {epsilon}."
)
_SECRET_DRAW = "Nobody who sees the releases knows which units were drawn, neither from the server nor from a seed."
_FLOAT_NOISE = "Some noise is drawn in floating point, whose low bits are not accounted for."
_CORRELATED = (
    "Whoever adds up messages keeps sums of earlier rounds, or shares of them, until the weighted sum they belong to "
    "is complete; nobody sees one without its noise. No unit takes part more often, or in closer rounds, than is "
    "accounted for."
)
_OWN_HOLDERS = (
    "How many clients hold the records is not declared (privacy.holders), so every record counts as a client of its "
    "own."
)
_PARTIES = (
    "Every {unit} is held by one party, and by which one is public. A party sees what it holds; epsilon is about what "
    "leaves it. Each party pays for the releases that it took part in, and for no other."
)
_SEEDED = f"This is a {SIMULATED}. Whoever knows the seed can remove the noise, so nothing real is protected."


def who_saw(ledger: Ledger) -> str:
    """Return in one sentence or two who saw the text, and what left it."""
    if ledger.partition_rule == OWN_PROCESSES:
        seen = _SILOS_SHOWED[ledger.declaration.aggregation]
        return _SILOS_KEPT.format(silos=len(ledger.parties), seen=seen)
    return _WHO_SAW[ledger.declaration.aggregation]


def assumptions(ledger: Ledger) -> list[str]:
    """Return the assumptions that the declaration and the releases imply, one or two sentences each."""
    declaration = ledger.declaration
    found = [*_aggregation(ledger), *_local_queries(ledger)]
    if declaration.aggregation == "secure":
        share = f"At least {declaration.honest_fraction:.4g}" if declaration.honest_fraction < 1 else "All"
        found.append(f"{share} of the noise shares arrive; the noise is accounted for as if no more did.")
        found += _insider(ledger)
    if any(release.rate < 1 and not _is_draw_visible(release, ledger) for release in ledger.releases):
        found.append(_SECRET_DRAW)
    if any("correlated across" in release.mechanism for release in ledger.releases):
        found.append(_CORRELATED)
    if ledger.parties:
        found.append(_PARTIES.format(unit=declaration.unit))
    if declaration.adjacency == "add_remove":
        count = f"{ledger.protected_units} {declaration.unit}s"
        found.append(f"That there are {count} is taken as public, which add_remove does not protect.")
    if any("discrete" not in release.mechanism.lower() for release in ledger.releases):
        found.append(_FLOAT_NOISE)
    return [*found, _SEEDED] if declaration.noise_seed is not None else found


def _aggregation(ledger: Ledger) -> list[str]:
    """Return who adds the noise and what the server sees, in terms of the senders: clients, parties or records.

    The list is empty where all queries were local to one party each.
    """
    declaration = ledger.declaration
    shared = dict.fromkeys(release.name for release in ledger.releases if not release.secret_sample)
    if ledger.releases and not shared:
        return []
    told_apart = len(shared) < len({release.name for release in ledger.releases})
    words = _AGGREGATION[declaration.aggregation].format(of=f" of {_quoted(shared)}" if told_apart else "")
    if declaration.aggregation == "secure":
        words += _PAIRWISE if ledger.partition_rule == OWN_PROCESSES else _ONE_PROCESS
    if ledger.parties:
        return [words.replace("clients", "parties").replace("client", "party")]
    if (declaration.aggregation, declaration.unit) == ("local", "record") and declaration.holders is None:
        return [f"{words} {_OWN_HOLDERS}"]
    return [words]


def _local_queries(ledger: Ledger) -> list[str]:
    """Return the assumptions of local queries, under any aggregation."""
    names = dict.fromkeys(release.name for release in ledger.releases if release.secret_sample)
    return [_LOCAL_QUERY.format(names=_quoted(names))] if names else []


def _insider(ledger: Ledger) -> list[str]:
    """Return what a contributor of a noise share learns; with parties, epsilon against the best informed of them."""
    if not ledger.parties:
        return [_INSIDER]
    shares = {
        release: len(release.parties or ledger.parties) for release in ledger.releases if not release.secret_sample
    }
    sharers = min((number for number in shares.values() if number > 1), default=None)
    if sharers is None:  # a party that adds all of the noise sees no other's contribution
        return []
    left = {release: _unknown_share(ledger, number) if number > 1 else 1.0 for release, number in shares.items()}
    seen = _INSIDER_PARTY.format(
        sharers=sharers, left=_unknown_share(ledger, sharers), epsilon=shown(_epsilon_against(ledger, left))
    )
    return [seen]


def _unknown_share(ledger: Ledger, sharers: int) -> float:
    """Compute the fraction of the noise stddev still unknown to a party that contributed one of `sharers` shares."""
    return math.sqrt(max(0.0, 1 - 1 / (ledger.declaration.honest_fraction * sharers)))


def _epsilon_against(ledger: Ledger, left: dict[Release, float]) -> float | str:
    """Compute epsilon where only a fraction `left` of each release's noise stddev is unknown."""
    if 0 in left.values():
        return number(math.inf)
    thinner = [
        release.model_copy(update={"noise_stddev": release.noise_stddev * left.get(release, 1.0)})
        for release in ledger.releases
    ]
    return number(ledger.model_copy(update={"releases": tuple(thinner)}).epsilon())


def _is_draw_visible(release: Release, ledger: Ledger) -> bool:
    """Return True if the server sees which units were sampled."""
    return ledger.declaration.aggregation == "local" and not release.secret_sample


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)

"""What a run's epsilon relies on and no ledger can check."""

from __future__ import annotations

from fedtext.privacy.ledger import Ledger

SIMULATED = "simulation: seeded noise"

_AGGREGATION = {
    "secure": (
        "Secure aggregation: the server sees the noised sum, no client's message; all enrolled clients add noise in "
        "shares, also those that were not drawn and those that hold nothing. This run simulated it: one process held "
        "all messages and drew the noise, so whoever runs it is trusted as a curator would be."
    ),
    "local": (
        "Local noise: every client adds all of its noise itself. Epsilon is that of one client's message as the server "
        "sees it, sender included, so no sampling is counted. A reader of the sums alone sees the noise of all clients."
    ),
    "trusted": "A trusted curator holds the private data and adds the noise.",
}
_SECRET_DRAW = "Nobody who sees the releases knows which units were drawn, neither from the server nor from a seed."
_FLOAT_NOISE = "Some noise is drawn in floating point, whose low bits are not accounted for."
_CORRELATED = (
    "Whoever adds up messages keeps sums of earlier rounds, or shares of them, until the weighted sum they belong to "
    "is complete; nobody sees one without its noise. No unit takes part more often, or in closer rounds, than priced."
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


def assumptions(ledger: Ledger) -> list[str]:
    """The assumptions that the declaration and the releases imply, one sentence or two each."""
    declaration = ledger.declaration
    found = [_aggregation(ledger)]
    if declaration.aggregation == "secure":
        share = f"At least {declaration.honest_fraction:.4g}" if declaration.honest_fraction < 1 else "All"
        found.append(f"{share} of the noise shares arrive; the noise is priced as if no more did.")
    if declaration.aggregation != "local" and any(release.rate < 1 for release in ledger.releases):
        found.append(_SECRET_DRAW)
    if any("correlated across" in release.mechanism for release in ledger.releases):
        found.append(_CORRELATED)
    if ledger.parties:
        found.append(_PARTIES.format(unit=declaration.unit))
    if declaration.adjacency == "add_remove":
        count = f"{ledger.population} {declaration.unit}s"
        found.append(f"That there are {count} is taken as public, which add_remove does not protect.")
    if any("discrete" not in release.mechanism.lower() for release in ledger.releases):
        found.append(_FLOAT_NOISE)
    return [*found, _SEEDED] if declaration.noise_seed is not None else found


def _aggregation(ledger: Ledger) -> str:
    """Who adds the noise and what the server sees, in the words of those that send: clients, parties or records."""
    declaration, words = ledger.declaration, _AGGREGATION[ledger.declaration.aggregation]
    if ledger.parties:
        return words.replace("clients", "parties").replace("client", "party")
    if (declaration.aggregation, declaration.unit) == ("local", "record") and declaration.holders is None:
        return f"{words} {_OWN_HOLDERS}"
    return words

"""Who holds the units, and so adds the noise: a unit is what is protected, a holder is who sends.

Where the unit is a client, it holds itself. Where the unit is a record, its holder is a silo or a client that holds
many: it adds up what its records contribute, and noise is its own, once, whatever it holds. How many holders there are
is public, since each of them sends something, a silent one too. It is declared: as `Privacy.holders`, or by the
ledger's parties (fedtext.privacy.parties). Without either every record counts as a holder of its own.
"""

from __future__ import annotations

from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger


def taking_part(ledger: Ledger, parties: tuple[str, ...] | None) -> Ledger:
    """The ledger with these of its parties alone and with their units; None: with all."""
    if parties is None:
        return ledger
    part = tuple(party for party in ledger.parties if party.name in set(parties))
    return ledger.model_copy(update={"parties": part, "population": sum(party.population for party in part)})


def holders_of(ledger: Ledger) -> int | None:
    """How many holders of the ledger's units add noise; None: every unit holds itself."""
    return len(ledger.parties) or declared_holders(ledger.declaration, ledger.population)


def declared_holders(declaration: Privacy, population: int) -> int | None:
    """How many clients hold `population` of the declared records; None where nobody said.

    A part of the records, as those that are trained on, has that part of the declared clients.
    """
    if declaration.holders is None or declaration.population is None:
        return None
    return max(1, round(declaration.holders * min(1.0, population / declaration.population)))

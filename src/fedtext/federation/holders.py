"""Who holds the units, and so adds the noise: a unit is what is protected, a holder is who sends.

Where the unit is a client, it holds itself. Where the unit is a record, its holder is a silo or a client that holds
many: it adds up what its records contribute, and noise is its own, once, whatever it holds. How many holders there are
is public, since each of them sends something, a silent one too. It is declared: as `Privacy.holders`, or by the
ledger's parties (fedtext.privacy.parties). Without either every record counts as a holder of its own. All declared
clients send, also where a part of the records takes part: who holds one of that part is private, and must not show.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Int64

from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import silent_codes, unit_codes
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.parties import Party, most_units
from fedtext.system.errors import InputError

Messages = Iterable[tuple[int, Int64[np.ndarray, " dim"]]]


def population_of(parties: Sequence[Party], named: tuple[str, ...]) -> int:
    """How many units the named parties hold.

    Raises:
        ValueError: one of them is not among `parties`.
    """
    held = {party.name: party.population for party in parties}
    if strangers := set(named) - held.keys():
        raise InputError(f"party '{min(strangers)}' is none of the ledger's: open it with every party that takes part")
    return sum(held[name] for name in set(named))


def taking_part(ledger: Ledger, named: tuple[str, ...] | None) -> Ledger:
    """The ledger with the named of its parties alone, and with their units; None: with all.

    Raises:
        ValueError: one of them is not among the ledger's parties.
    """
    if named is None:
        return ledger
    population = population_of(ledger.parties, named)
    parties = tuple(party for party in ledger.parties if party.name in set(named))
    return ledger.model_copy(update={"parties": parties, "population": population})


def holders_of(ledger: Ledger) -> int | None:
    """How many holders of the ledger's units add noise; None: every unit holds itself."""
    return len(ledger.parties) or ledger.declaration.holders


def most_draws(declaration: Privacy, population: int, parties: int | None) -> int:
    """How many draws of noise a sum may carry: that of all holders under `local`, one otherwise."""
    if declaration.aggregation != "local":
        return 1
    return parties or declaration.holders or most_units(declaration, population)


def local_stddev(ledger: Ledger) -> float:
    """Deviation of the noise of all holders that sent the last release under `local`, of which one is priced."""
    declaration, release = ledger.declaration, ledger.releases[-1]
    part = taking_part(ledger, release.parties)
    asked = None if declaration.sampling == "full" else declaration.clients_per_round
    return release.noise_stddev * math.sqrt(holders_of(part) or asked or part.population)


def samples_of(samples: PrivateSamples, ledger: Ledger, part: Ledger) -> PrivateSamples:
    """The samples that the parties of `part` hold; all of them where the ledger tells no parties apart.

    Raises:
        ValueError: nobody says which party holds them, one holds more units than it declared, or some are no party's.
    """
    if not ledger.parties:
        return samples
    holder = samples.holder_of()
    held = Counter(holder.values())
    for party, code in zip(ledger.parties, _codes(ledger.parties).tolist(), strict=True):
        if held.pop(code, 0) > party.population:
            raise InputError(f"{party} holds more units than the {party.population} that it declares: declare as many")
    if held:
        raise InputError("some samples are held by nobody whom the ledger knows: open it with all parties")
    own = samples.of_holders(_codes(part.parties))
    return replace(own, enrolled=np.unique(own.unit))


def sent_by_holders(
    messages: Messages, samples: PrivateSamples, part: Ledger, dim: int
) -> Iterator[tuple[int, Int64[np.ndarray, " dim"]]]:
    """What each holder sends before noise, with its code: its units' messages, added up.

    Every holder sends, whether or not one of its units was asked or has anything to say. Where units hold themselves
    their messages are passed on one by one; else memory holds one vector a holder.

    Args:
        messages: The asked units' own.
        samples: What all units of those that take part hold, asked or not.
        part: The ledger of those that take part.
        dim: Width of a message.

    Raises:
        ValueError: nobody says who holds the samples, a unit has two holders, or there are more than were declared.
    """
    if holders_of(part) is None:
        yield from messages
        return
    holder_of = samples.holder_of()
    sums = {holder: np.zeros(dim, dtype=np.int64) for holder in _senders(part, set(holder_of.values()))}
    for unit, message in messages:
        if unit in holder_of:  # a unit without samples sends zeros, and whose it is nobody knows
            sums[holder_of[unit]] += message
    yield from sums.items()


def _senders(part: Ledger, known: set[int]) -> list[int]:
    """Codes of all holders, ascending: the parties, or the `known` clients and silent ones up to how many there are."""
    if part.parties:
        return sorted(_codes(part.parties).tolist())
    most = part.declaration.holders or 0
    if len(known) > most:
        raise InputError(f"more clients hold records than the {most} that privacy.holders declares: declare as many")
    return sorted(known | set(silent_codes(most - len(known)).tolist()))


def _codes(parties: Sequence[Party]) -> Int64[np.ndarray, " party"]:
    return unit_codes([party.name for party in parties])

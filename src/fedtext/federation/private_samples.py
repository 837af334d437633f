"""Private samples of the clients, which units take part in a round, and which data holders send messages.

Participation in a round is full, Poisson sampling, a sample of fixed size, or a schedule. Each unit is sampled by a
function of the run's secret and its own code, so other enrolled units do not change it.

A unit is what is protected; a data holder sends messages and adds the noise. Where the unit is a client, it is its own
holder. Where the unit is a record, its holder is a silo or a client with many records: it sums the contributions of its
records and adds its noise once, however many it holds. The number of holders is public, since each of them sends a
message, even without data. It is declared as `Privacy.holders`, or by the ledger's parties (fedtext.privacy.parties).
Without either every record counts as a holder of its own. All declared clients send, also where a part of the records
takes part: which clients hold a record of that part is private.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int, Int64, Shaped

from fedtext.federation.query import Query
from fedtext.federation.units import codes_without_text, digest, unit_codes
from fedtext.params.privacy import Privacy, Sampling, Unit
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey, keyed_bytes
from fedtext.privacy.parties import Party, most_units
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
    """Sample the enrolled units that take part in the release that `stream` names; return their codes, ascending.

    `poisson` takes each unit independently with probability clients_per_round / population, so that their number varies
    and may be zero (the release is then pure noise); `fixed_size` takes exactly `clients_per_round` of them. They are
    different mechanisms with different privacy costs. Sampling amplifies privacy only while the sample is secret: it is
    drawn from the run's secret. Composition assumes independent samples, so the stream must name all that tells two
    releases apart: two releases with the same units would together cost as much as one release of sqrt(2) times the
    shift.

    Raises:
        ValueError: no unit is enrolled, or `clients_per_round` is missing or larger than the population where sampling
            needs it.
    """
    units = np.unique(enrolled.astype(np.int64))
    if not len(units):
        raise InputError("nobody is enrolled: at least one unit is needed", code="nobody-enrolled")
    if sampling == "full":
        return units
    if clients_per_round is None or not 1 <= clients_per_round <= population:
        raise InputError(
            f"clients_per_round {clients_per_round} with {sampling} sampling: give a number from 1 to {population}, "
            "or set sampling to full",
            code="clients-per-round-out-of-range",
            parameter="clients_per_round",
            value=clients_per_round,
        )
    lots = _sampling_keys(units, key, stream)
    if sampling == "poisson":
        return units[lots < clients_per_round / population]
    return np.sort(units[np.argsort(lots, kind="stable")[:clients_per_round]])


def scheduled(
    enrolled: Int[np.ndarray, " unit"], *, separation: int, round: int, key: NoiseKey
) -> Int64[np.ndarray, " participant"]:
    """Return the codes, ascending, of the enrolled units scheduled for `round`, counted from 1.

    Every unit takes part once in `separation` rounds, always at the same place of the cycle, so that its rounds are
    exactly `separation` apart. The run's secret and the unit's code alone determine the place. A round therefore has
    about 1 / separation of the units, and a further unit moves no other. No amplification by sampling is claimed.

    Raises:
        ValueError: a separation below 1, or a round before the first.
    """
    if separation < 1:
        raise InputError(
            f"separation {separation}: give a number of rounds of at least 1",
            code="separation-out-of-range",
            parameter="separation",
            value=separation,
        )
    if round < 1:
        raise InputError(
            f"round {round}: rounds of a schedule count from 1",
            code="round-out-of-range",
            parameter="round",
            value=round,
        )
    units = np.unique(enrolled.astype(np.int64))
    place = np.floor(_sampling_keys(units, key, ("schedule",)) * separation)
    turn: np.ndarray = units[place == (round - 1) % separation]
    return turn


def _sampling_keys(
    units: Int64[np.ndarray, " unit"], key: NoiseKey, stream: tuple[str, ...]
) -> Float[np.ndarray, " unit"]:
    """Compute one uniform number in [0, 1) a unit, a function of the secret, the stream and its code."""
    drawn = b"".join(keyed_bytes(key, 8, ("participation", *stream, str(unit))) for unit in units.tolist())
    return np.asarray((np.frombuffer(drawn, dtype="<u8") >> np.uint64(11)) * 2.0**-53)


UNLABELLED = -1
NO_SAMPLING = "no lots"


@dataclass(frozen=True)
class PrivateSamples:
    """Private samples as the clients hold them. Units are given by their codes (fedtext.federation.units).

    Attributes:
        features: One embedding, or other vector, a sample.
        unit: The unit of each sample.
        label: The class of each sample; -1 for a sample of no declared class, which contributes nothing.
        enrolled: All units that may be sampled, those without a sample among them.
        holder: The data holder, a client or a party, that sends for each sample's unit; None: every unit is its own
            holder.
    """

    features: Shaped[np.ndarray, "sample dim"]
    unit: Int[np.ndarray, " sample"]
    label: Int[np.ndarray, " sample"]
    enrolled: Int[np.ndarray, " unit"]
    holder: Int[np.ndarray, " sample"] | None = None

    @classmethod
    def of(
        cls,
        embeddings: Mapping[str, np.ndarray],
        classes: Sequence[str],
        unit: Unit,
        enrolled: Int[np.ndarray, " unit"],
    ) -> PrivateSamples:
        """Build from private arrays and the enrolled units.

        The arrays are `features`, `client`, `record` and `label` (`label_codes`).
        """
        label = class_index(embeddings["label"], classes)
        holder = embeddings["client"] if unit == "record" else None
        return cls(embeddings["features"], embeddings[unit], label, enrolled, holder)

    @classmethod
    def protected_by(
        cls,
        ledger: Ledger,
        arrays: Mapping[str, np.ndarray],
        enrolment: Mapping[str, np.ndarray],
        classes: Sequence[str] = (),
    ) -> PrivateSamples:
        """Build from private arrays and the enrolment (`unit`), with the unit that the ledger protects."""
        return cls.of(arrays, classes, ledger.declaration.unit, enrolment["unit"])

    @classmethod
    def of_one_class(
        cls,
        features: Shaped[np.ndarray, "sample dim"],
        unit: Int[np.ndarray, " sample"],
        holder: Int[np.ndarray, " sample"] | None = None,
    ) -> PrivateSamples:
        """Build samples without a class; the enrolled units are those that hold a sample."""
        return cls(features, unit, np.zeros(len(unit), dtype=np.int64), np.unique(unit), holder)

    def in_one_order(self) -> PrivateSamples:
        """Return the same samples in an order that follows from them alone, so that a table's order says nothing.

        A message may depend on the order of a unit's samples. If it did on that of the table, two releases of a table
        before and after its rows changed places would show whether one of them moved: digest and noise were the same.
        """
        order = np.lexsort((self._row_digests, self.unit))
        return self if np.array_equal(order, np.arange(len(order))) else self._rows(order)

    @cached_property
    def digest(self) -> str:
        """Digest of all that is held, in the order here; whoever knows it can try texts, so it is private."""
        facts = [np.sort(self.enrolled), self.unit, self.label, *([] if self.holder is None else [self.holder])]
        return digest(*(one.astype(np.int64) for one in facts), self.features)

    def digests_of(self, owner: Int[np.ndarray, " sample"]) -> dict[int, str]:
        """Return, by its code, a digest of what each owner of samples holds, in whatever order, and of nothing else.

        `owner` is the owner of each sample: its unit, or its data holder.
        """
        own: dict[int, list[bytes]] = {}
        for one, sample in zip(owner.tolist(), self._row_digests.tolist(), strict=True):
            own.setdefault(one, []).append(sample)
        return {one: hashlib.sha256(b"".join(sorted(held))).hexdigest() for one, held in own.items()}

    @property
    def _row_digests(self) -> Shaped[np.ndarray, " sample"]:
        """Digests of each sample's vector, unit and class."""
        codes = np.stack([self.unit, self.label], axis=1).astype(np.int64)
        rows = zip(np.ascontiguousarray(self.features), codes, strict=True)
        each = [hashlib.sha256(row.tobytes() + code.tobytes()).hexdigest().encode() for row, code in rows]
        return np.array(each, dtype="S64")

    def holder_of(self) -> dict[int, int]:
        """Map each unit that has a sample to the code of its data holder.

        Raises:
            ValueError: no holders are given, or a unit has two.
        """
        if self.holder is None:
            raise InputError(
                "nobody says who holds the samples: give PrivateSamples.holder, or leave holders undeclared",
                code="holders-unknown",
            )
        held = dict(zip(self.unit.tolist(), self.holder.tolist(), strict=True))
        if len(set(zip(self.unit.tolist(), self.holder.tolist(), strict=True))) > len(held):
            raise InputError(
                "a unit has two holders: it must have one, or both would pay for it", code="unit-of-two-holders"
            )
        return held

    def of_units(self, chosen: Int[np.ndarray, " chosen"]) -> PrivateSamples:
        """Return the samples of the chosen units only."""
        return self._kept(np.isin(self.unit, chosen))

    def of_holders(self, chosen: Int[np.ndarray, " chosen"]) -> PrivateSamples:
        """Return the samples of the chosen data holders only; all of them where no holders are given."""
        return self if self.holder is None else self._kept(np.isin(self.holder, chosen))

    def of_class(self, label: int) -> PrivateSamples:
        """Return the samples of one class only."""
        return self._kept(self.label == label)

    def in_pieces(
        self, chosen: Int64[np.ndarray, " chosen"], units: int
    ) -> Iterator[tuple[Int64[np.ndarray, " piece"], PrivateSamples]]:
        """Yield the chosen units, given by ascending codes, `units` at a time, with their samples in their order here.

        All units have at least one piece, an empty one if none is chosen.
        """
        if len(chosen) <= units:
            yield chosen, self.of_units(chosen)
            return
        by_unit = np.argsort(self.unit, kind="stable")
        codes = self.unit[by_unit]
        for first in range(0, len(chosen), units):
            some = chosen[first : first + units]
            start, end = np.searchsorted(codes, some[0], "left"), np.searchsorted(codes, some[-1], "right")
            rows = np.sort(by_unit[start:end])
            yield some, self._rows(rows[np.isin(self.unit[rows], some)])

    def _kept(self, kept: Bool[np.ndarray, " sample"]) -> PrivateSamples:
        if kept.all():
            return self  # not copied: a large federation's embeddings are gigabytes
        return self._rows(np.flatnonzero(kept))

    def _rows(self, rows: Int[np.ndarray, " row"]) -> PrivateSamples:
        holder = None if self.holder is None else self.holder[rows]
        return PrivateSamples(self.features[rows], self.unit[rows], self.label[rows], self.enrolled, holder)


def label_codes(labels: Sequence[str | None]) -> Int[np.ndarray, " sample"]:
    """Compute a 63-bit digest of every label, -1 where there is none, to be matched with declared classes later."""
    codes = {label: _code(label) for label in set(labels)}
    return np.asarray([codes[label] for label in labels], dtype=np.int64)


def class_index(codes: Int[np.ndarray, " sample"], classes: Sequence[str]) -> Int[np.ndarray, " sample"]:
    """Return the position of every label code among the declared classes, -1 for others; all 0 without classes."""
    if not classes:
        return np.zeros(len(codes), dtype=np.int64)
    index = np.full(len(codes), UNLABELLED, dtype=np.int64)
    for position, name in enumerate(classes):
        index[codes == _code(name)] = position
    return index


def sampled_units(samples: PrivateSamples, ledger: Ledger, key: NoiseKey, query: Query) -> Int64[np.ndarray, " asked"]:
    """Sample the enrolled units that take part in a release; return their codes.

    Sampling follows the declaration, or is a Poisson sample of the query's own batch. The run's secret and a unit's own
    code determine it, anew for every release: another name, round, declaration, noise, clip norm, set of parties or
    population, or another `query.draw` (the settings and public inputs of the query), gives an independent sample.

    Where all take part, units of which only the number is known are left out, unless each adds noise of its own: they
    send zeros, however many are declared.

    Raises:
        ValueError: `enrolled_units` raises it.
    """
    declared = ledger.declaration
    sampling = declared.sampling if query.batch is None else "poisson"
    if sampling == "full" and declared.aggregation != "local":
        return _known_units(samples, ledger)
    return participants(
        enrolled_units(samples, ledger),
        sampling=sampling,
        clients_per_round=declared.clients_per_round if query.batch is None else query.batch,
        population=ledger.population,
        key=key,
        stream=_draw_stream(query, ledger),
    )


def sampling_name(query: Query, ledger: Ledger) -> str:
    """Compute a name for the sample that `sampled_units` draws: samples of different names are independent.

    Under full participation all have one name: the query's settings then do not change who takes part.
    """
    if ledger.declaration.sampling == "full" and query.batch is None:
        return NO_SAMPLING
    return hashlib.sha256(json.dumps(_draw_stream(query, ledger)).encode()).hexdigest()[:16]


def _draw_stream(query: Query, ledger: Ledger) -> tuple[str, ...]:
    """Return all that tells one release from another: accounting assumes an independent sample for each."""
    cost_terms = json.dumps([*query.cost_terms, ledger.population])
    return (query.name, str(query.round), ledger.declaration.draw_name(), cost_terms, *query.draw)


def enrolled_units(samples: PrivateSamples, ledger: Ledger) -> Int64[np.ndarray, " unit"]:
    """Return the codes of all units of the ledger, ascending; units without data and of unknown id get made-up codes.

    Raises:
        ValueError: samples of units that are not enrolled, or more units than were declared.
    """
    known = _known_units(samples, ledger)
    return np.union1d(known, codes_without_text(ledger.population - len(known)))


def _known_units(samples: PrivateSamples, ledger: Ledger) -> Int64[np.ndarray, " unit"]:
    known = np.unique(samples.enrolled.astype(np.int64))
    if not np.isin(samples.unit, known).all():
        raise InputError(
            f"some {ledger.declaration.unit}s hold samples and are not enrolled: correct privacy.enrolment or the data",
            code="not-enrolled",
        )
    most = ledger.most_units
    if len(known) > most:
        raise InputError(
            f"more {ledger.declaration.unit}s hold samples than the {most} that the ledger was opened for: declare as "
            "many as there are (privacy.population)",
            code="more-units-than-declared",
            parameter="privacy.population",
            value=most,
        )
    return known


def _code(label: str | None) -> int:
    if label is None:
        return UNLABELLED
    return int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], "big") >> 1


Messages = Iterable[tuple[int, Int64[np.ndarray, " dim"]]]


def population_of(parties: Sequence[Party], named: tuple[str, ...]) -> int:
    """Return how many units the named parties hold.

    Raises:
        ValueError: one of them is not among `parties`.
    """
    held = {party.name: party.population for party in parties}
    if strangers := set(named) - held.keys():
        raise InputError(
            f"party '{min(strangers)}' is none of the ledger's: open it with every party that takes part",
            code="unknown-party",
            value=min(strangers),
        )
    return sum(held[name] for name in set(named))


def taking_part(ledger: Ledger, named: tuple[str, ...] | None) -> Ledger:
    """Restrict the ledger to the named parties and their units; None keeps all.

    Raises:
        ValueError: one of them is not among the ledger's parties.
    """
    if named is None:
        return ledger
    population = population_of(ledger.parties, named)
    parties = tuple(party for party in ledger.parties if party.name in set(named))
    return ledger.model_copy(update={"parties": parties, "population": population})


def holders_of(ledger: Ledger) -> int | None:
    """Return how many data holders of the ledger's units add noise; None: every unit is its own holder."""
    return len(ledger.parties) or ledger.declaration.holders


def most_draws(declaration: Privacy, population: int, parties: int | None) -> int:
    """Return how many draws of noise a sum may carry: one of each data holder under `local`, one otherwise."""
    if declaration.aggregation != "local":
        return 1
    return parties or declaration.holders or most_units(declaration, population)


def local_stddev(ledger: Ledger) -> float:
    """Compute the deviation of the sum of all holders' noise in the last `local` release; one holder's is accounted."""
    declaration, release = ledger.declaration, ledger.releases[-1]
    part = taking_part(ledger, release.parties)
    asked = None if declaration.sampling == "full" else declaration.clients_per_round
    return release.noise_stddev * math.sqrt(holders_of(part) or asked or part.population)


def samples_of(samples: PrivateSamples, ledger: Ledger, part: Ledger) -> PrivateSamples:
    """Return the samples that the parties of `part` hold; all of them where the ledger tells no parties apart.

    Raises:
        ValueError: no parties are given for the samples, a party holds more units than it declared, or some units
            belong to no party.
    """
    if not ledger.parties:
        return samples
    holder = samples.holder_of()
    held = Counter(holder.values())
    for party, code in zip(ledger.parties, _codes(ledger.parties).tolist(), strict=True):
        if held.pop(code, 0) > party.population:
            raise InputError(
                f"{party} holds more units than the {party.population} that it declares: declare as many",
                code="more-units-than-party-declares",
                value=party.population,
            )
    if held:
        raise InputError(
            "some samples are held by nobody whom the ledger knows: open it with all parties", code="held-by-nobody"
        )
    own = samples.of_holders(_codes(part.parties))
    return replace(own, enrolled=np.unique(own.unit))


def sums_by_holder(messages: Messages, samples: PrivateSamples) -> dict[int, Int64[np.ndarray, " dim"]]:
    """Return the sum of the units' messages for each data holder of the samples, by its code.

    Raises:
        ValueError: no holders are given, or a unit has two holders.
    """
    holder_of, sums = samples.holder_of(), dict[int, Int64[np.ndarray, " dim"]]()
    for unit, message in messages:
        if (holder := holder_of.get(unit)) is None:
            continue  # a unit without samples sends zeros, and its holder is unknown
        if holder in sums:
            sums[holder] += message
        else:
            sums[holder] = message.copy()
    return sums


def sent_by_holders(
    sums: Iterable[Mapping[int, Int64[np.ndarray, " dim"]]], samples: PrivateSamples, part: Ledger, dim: int
) -> Iterator[tuple[int, Int64[np.ndarray, " dim"]]]:
    """Yield the code of each data holder and what it sends before noise: the sum of its units' messages.

    Every holder sends, whether or not one of its units was sampled or contributes. Memory holds one vector a holder.

    Args:
        sums: The sampled units' messages, added up by holder, some units at a time (`sums_by_holder`).
        samples: The samples of all units that take part, sampled or not.
        part: The ledger of the parties that take part.
        dim: Width of a message.

    Raises:
        ValueError: no holders are given, a unit has two holders, or there are more holders than were declared.
    """
    known = set(samples.holder_of().values())
    total = {holder: np.zeros(dim, dtype=np.int64) for holder in _senders(part, known)}
    for some in sums:
        for holder, message in some.items():
            total[holder] += message
    yield from total.items()


def _senders(part: Ledger, known: set[int]) -> list[int]:
    """Return the codes of all holders, ascending.

    They are the parties, or the `known` clients and as many silent ones as are missing to the declared number.
    """
    if part.parties:
        return sorted(_codes(part.parties).tolist())
    most = part.declaration.holders or 0
    if len(known) > most:
        raise InputError(
            f"more clients hold records than the {most} that privacy.holders declares: declare as many",
            code="more-holders-than-declared",
            parameter="privacy.holders",
            value=most,
        )
    return sorted(known | set(codes_without_text(most - len(known)).tolist()))


def _codes(parties: Sequence[Party]) -> Int64[np.ndarray, " party"]:
    return unit_codes([party.name for party in parties])

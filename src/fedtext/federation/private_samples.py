"""Private samples as the clients hold them, which class each is of, and who of the clients is asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int, Int64, Shaped

from fedtext.federation.participation import participants
from fedtext.federation.query import Query
from fedtext.federation.units import silent_codes
from fedtext.params.privacy import Unit
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.system.errors import InputError

UNLABELLED = -1
NO_LOTS = "no lots"


@dataclass(frozen=True)
class PrivateSamples:
    """Private samples as the clients hold them: `unit[s]` and `label[s]` say whose sample s is and of which class.

    Units go by their codes (fedtext.federation.units). `enrolled` are all that may be asked, those without a sample
    among them. `label` is -1 for a sample of no declared class; such a sample contributes nothing. `holder[s]` is the
    code of who holds the unit and sends for it: a client or a party; None: every unit holds itself.
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
        """From the private arrays `features`, `client`, `record` and `label` (`label_codes`) and the enrolled units."""
        label = class_index(embeddings["label"], classes)
        holder = embeddings["client"] if unit == "record" else None
        return cls(embeddings["features"], embeddings[unit], label, enrolled, holder)

    @classmethod
    def of_one_class(
        cls,
        features: Shaped[np.ndarray, "sample dim"],
        unit: Int[np.ndarray, " sample"],
        holder: Int[np.ndarray, " sample"] | None = None,
    ) -> PrivateSamples:
        """Samples without a class; of the units, those that hold one are known to be enrolled."""
        return cls(features, unit, np.zeros(len(unit), dtype=np.int64), np.unique(unit), holder)

    def holder_of(self) -> dict[int, int]:
        """The code of the holder of each unit that has a sample.

        Raises:
            ValueError: nobody says who holds them, or two hold one unit.
        """
        if self.holder is None:
            raise InputError(
                "nobody says who holds the samples: give PrivateSamples.holder, or leave holders undeclared"
            )
        held = dict(zip(self.unit.tolist(), self.holder.tolist(), strict=True))
        if len(set(zip(self.unit.tolist(), self.holder.tolist(), strict=True))) > len(held):
            raise InputError("a unit has two holders: it must have one, or both would pay for it")
        return held

    def of_units(self, chosen: Int[np.ndarray, " chosen"]) -> PrivateSamples:
        """The samples of the chosen units only."""
        return self._kept(np.isin(self.unit, chosen))

    def of_holders(self, chosen: Int[np.ndarray, " chosen"]) -> PrivateSamples:
        """The samples that the chosen hold only; all of them where nobody says who holds them."""
        return self if self.holder is None else self._kept(np.isin(self.holder, chosen))

    def of_class(self, label: int) -> PrivateSamples:
        """The samples of one class only."""
        return self._kept(self.label == label)

    def _kept(self, kept: Bool[np.ndarray, " sample"]) -> PrivateSamples:
        if kept.all():
            return self  # not copied: a large federation's embeddings are gigabytes
        holder = None if self.holder is None else self.holder[kept]
        return PrivateSamples(self.features[kept], self.unit[kept], self.label[kept], self.enrolled, holder)


def label_codes(labels: Sequence[str | None]) -> Int[np.ndarray, " sample"]:
    """A 63-bit digest of every label, -1 where there is none, so that any declared classes can be looked up later."""
    codes = {label: _code(label) for label in set(labels)}
    return np.asarray([codes[label] for label in labels], dtype=np.int64)


def class_index(codes: Int[np.ndarray, " sample"], classes: Sequence[str]) -> Int[np.ndarray, " sample"]:
    """Position of every label code among the declared classes, -1 for others; all 0 when no class is declared."""
    if not classes:
        return np.zeros(len(codes), dtype=np.int64)
    index = np.full(len(codes), UNLABELLED, dtype=np.int64)
    for position, name in enumerate(classes):
        index[codes == _code(name)] = position
    return index


def asked_units(samples: PrivateSamples, ledger: Ledger, key: NoiseKey, query: Query) -> Int64[np.ndarray, " asked"]:
    """Codes of the units that take part in a release, drawn among all that are enrolled.

    By the declaration, or by a Poisson draw of the query's own batch. The run's secret and a unit's own code draw it,
    anew for every release: another price (noise, clip, who takes part, of how many), name, round or declaration, or
    other words in `query.draw` (what the units are told to compute, and of which public inputs), give an independent
    draw.

    Raises:
        ValueError: what `enrolled_units` refuses.
    """
    declared = ledger.declaration
    return participants(
        enrolled_units(samples, ledger),
        sampling=declared.sampling if query.batch is None else "poisson",
        clients_per_round=declared.clients_per_round if query.batch is None else query.batch,
        population=ledger.population,
        key=key,
        stream=_draw_stream(query, ledger),
    )


def name_of_draw(query: Query, ledger: Ledger) -> str:
    """A name for the draw that `asked_units` makes: two draws of different names are independent.

    Where no lots are drawn, all have one name: what a query is told then changes nothing of who is asked.
    """
    if ledger.declaration.sampling == "full" and query.batch is None:
        return NO_LOTS
    return hashlib.sha256(json.dumps(_draw_stream(query, ledger)).encode()).hexdigest()[:16]


def _draw_stream(query: Query, ledger: Ledger) -> tuple[str, ...]:
    """All that tells one release from another: two releases are priced as if each had a draw of its own."""
    priced = json.dumps([*query.price, ledger.population])
    return (query.name, str(query.round), ledger.declaration.draw_name(), priced, *query.draw)


def enrolled_units(samples: PrivateSamples, ledger: Ledger) -> Int64[np.ndarray, " unit"]:
    """Codes of all units that the ledger was opened for, ascending; silent ones of unknown id have made-up ones.

    Raises:
        ValueError: samples of units that are not enrolled, or more units than were declared.
    """
    known = np.unique(samples.enrolled.astype(np.int64))
    if not np.isin(samples.unit, known).all():
        raise InputError(
            f"some {ledger.declaration.unit}s hold samples and are not enrolled: correct privacy.enrolment or the data"
        )
    most = ledger.most_units
    if len(known) > most:
        raise InputError(
            f"more {ledger.declaration.unit}s hold samples than the {most} that the ledger was opened for: declare as "
            "many as there are (privacy.population)"
        )
    return np.union1d(known, silent_codes(ledger.population - len(known)))


def _code(label: str | None) -> int:
    if label is None:
        return UNLABELLED
    return int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], "big") >> 1

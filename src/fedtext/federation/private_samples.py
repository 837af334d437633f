"""Private samples as the clients hold them, which class each is of, and who of the clients is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Int, Shaped

from fedtext.federation.participation import participants
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey

UNLABELLED = -1


@dataclass(frozen=True)
class PrivateSamples:
    """Private samples as the clients hold them: `unit[s]` and `label[s]` say whose sample s is and of which class.

    `label` is -1 for a sample of no declared class; such a sample contributes nothing.
    """

    features: Shaped[np.ndarray, "sample dim"]
    unit: Int[np.ndarray, " sample"]
    label: Int[np.ndarray, " sample"]
    units: int

    @classmethod
    def of(
        cls, embeddings: Mapping[str, np.ndarray], classes: Sequence[str], unit: Literal["client", "record"]
    ) -> PrivateSamples:
        """From the private arrays `features`, `client` and `label` (`label_codes`); a unit is a client or a record."""
        client = embeddings["client"]
        units = np.arange(len(client)) if unit == "record" else client
        label = class_index(embeddings["label"], classes)
        return cls(embeddings["features"], units, label, int(units.max(initial=-1)) + 1)

    def of_units(self, chosen: Int[np.ndarray, " chosen"]) -> PrivateSamples:
        """The samples of the chosen units only, with every unit keeping its number."""
        return self._kept(np.isin(self.unit, chosen))

    def of_class(self, label: int) -> PrivateSamples:
        """The samples of one class only, with every unit keeping its number."""
        return self._kept(self.label == label)

    def _kept(self, kept: Bool[np.ndarray, " sample"]) -> PrivateSamples:
        if kept.all():
            return self  # not copied: a large federation's embeddings are gigabytes
        return PrivateSamples(self.features[kept], self.unit[kept], self.label[kept], self.units)


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


def asked_units(
    units: int, ledger: Ledger, key: NoiseKey, *, name: str, round: int, settings: str, input_digest: str
) -> Int[np.ndarray, " unit"]:
    """Numbers of the units that take part in a release, drawn among the whole population that the ledger prices.

    The run's secret draws them, anew for every release: another name, round or declaration, other `settings` (what the
    units are told to compute) or other inputs (`input_digest`, what they compute with) give an independent draw.

    Raises:
        ValueError: there are more units than the ledger was opened for.
    """
    if units > ledger.population:
        raise ValueError(f"{units} units hold samples, the ledger was opened for {ledger.population}: rerun it")
    return participants(
        ledger.population,
        sampling=ledger.declaration.sampling,
        clients_per_round=ledger.declaration.clients_per_round,
        key=key,
        stream=(name, str(round), ledger.declaration.model_dump_json(), settings, input_digest),
    )


def _code(label: str | None) -> int:
    if label is None:
        return UNLABELLED
    return int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], "big") >> 1

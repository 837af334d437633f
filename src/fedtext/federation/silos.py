"""Silos as parties: their clients, roles and budgets, and a partition that gives strong silos chosen labels.

Everything here is public: names, roles, numbers of units and budgets. A silo holds units; a neighbouring data set
changes one unit within its silo. Releases compose in sequence within a silo and in parallel across silos
(`fedtext.privacy.parties`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Int

from fedtext.params.corpus import Corpus, Partition, naming
from fedtext.params.silos import Silos
from fedtext.params.task import parts_of
from fedtext.privacy.parties import Party
from fedtext.seeding import derived_seed, stream
from fedtext.system.errors import InputError, did_you_mean

STRONG, WEAK = "strong silo", "weak silo"
_WHERE = {"path", "snapshot", "config", "silo_column"}  # with `naming`: these decide a record's client and silo


def silo_name(client: str, groups: int | None) -> str:
    """Return the silo of a client without a silo column: one of `groups` by a hash of its id, or the client itself."""
    if groups is None:
        return client
    return numbered("silo", derived_seed(0, "silo", client) % groups, groups)


def numbered(kind: str, number: int, of: int) -> str:
    """Format a name with a zero-padded number: `silo`, 3, 12 -> `silo-03`, so that names sort as their numbers."""
    return f"{kind}-{number:0{len(str(of - 1))}d}"


def strong_names(names: Collection[str], silos: Silos) -> frozenset[str]:
    """Return the silos that train: the named ones, or the first by name.

    The first are as many as the declared share of all silos, rounded, and at least one if it is above 0.

    Raises:
        ValueError: a name in `silos.strong` is no silo's.
    """
    if isinstance(silos.strong, tuple):
        _validate_silo_names(silos.strong, names, "silos.strong")
        return frozenset(silos.strong)
    return frozenset(sorted(names)[: strong_number(len(names), silos.strong)])


def strong_number(silos: int, share: float) -> int:
    """Return how many silos the share is, at least one if it is not 0."""
    return max(round(share * silos), 1) if share else 0


def parties_of(units: Mapping[str, int], silos: Silos, epsilon: float) -> tuple[Party, ...]:
    """Build the ledger's parties, by name: every silo that holds a unit, its role as its kind, and its budget.

    Args:
        units: How many units each silo holds, public or declared; a weak one without any has nothing to protect.
        silos: Roles and budgets.
        epsilon: The run's epsilon, the upper limit of every budget.

    Raises:
        ValueError: a role or a budget is of no silo, no silo holds a unit, or a strong one holds none to train on.
    """
    _validate_silo_names(silos.budgets, units, "silos.budgets")
    strong = strong_names(units, silos)
    if not any(units.values()):
        raise InputError(
            "no silo holds a unit to train on: check the corpus, or lower partition's held-out shares",
            code="no-silo-trains",
        )
    _validate_strong(strong, units)
    return tuple(
        Party(
            name=name,
            kind=STRONG if name in strong else WEAK,
            population=held,
            epsilon=silos.budgets.get(name, epsilon),
        )
        for name, held in sorted(units.items())
        if held
    )


def silo_partition(corpus: Corpus, partition: Partition, silos: Silos) -> str:
    """Compute a digest of all settings that decide which silo holds a record: it tells two partitions apart.

    Simulated clients are `client-00` and so on in every partition, with other records under each.
    """
    whose = naming(corpus.model_dump()) | corpus.model_dump(include=_WHERE)
    decide: list[object] = [whose, silos.groups, partition.method]
    if partition.method != "natural":
        decide += [partition.clients, partition.alpha, partition.labels_per_client, partition.seed]
        decide += [corpus.paragraphs, corpus.min_chars, corpus.max_clients]
    if partition.method == "biased":
        decide += [silos.strong, silos.strong_codes]
    return hashlib.sha256(json.dumps(decide, sort_keys=True).encode()).hexdigest()[:16]


def of_kind(parties: Sequence[Party], kind: str) -> tuple[Party, ...]:
    """Return the parties of one role."""
    return tuple(party for party in parties if party.kind == kind)


def biased(
    labels: Sequence[str], silos: int, *, strong: int, codes: Collection[str], seed: int
) -> Int[np.ndarray, " record"]:
    """Partition records so that the first `strong` silos hold only records of `codes`.

    Each strong silo gets as many as an equal partition would give it, or all that there are; "then we uniformly
    partition the remaining data" (Flexible participation, section 4) over the other silos.

    Args:
        labels: Each record's code, its parts separated by TAB.
        silos: How many silos there are.
        strong: How many of them are strong.
        codes: Whole codes, or parts of codes.
        seed: The seed of the public draw.

    Returns:
        The number of each record's silo.

    Raises:
        ValueError: all silos are strong, or none is; or the chosen records, or the others, do not suffice for a silo.
    """
    if not 0 < strong < silos:
        raise InputError(
            f"{strong} of {silos} silos are strong: partition.method 'biased' sets strong silos apart from weak ones, "
            "so choose silos.strong between 0 and 1",
            code="silos-of-one-kind",
            parameter="silos.strong",
            value=strong,
        )
    random = stream(seed, "partition", "biased")
    chosen = random.permutation(np.flatnonzero(_of_codes(labels, codes)))[: strong * (len(labels) // silos)]
    rest = random.permutation(np.setdiff1d(np.arange(len(labels)), chosen))
    if len(chosen) < strong or len(rest) < silos - strong:
        raise InputError(
            f"{len(chosen)} records of silos.strong_codes ({', '.join(sorted(codes)) or 'none'}) for {strong} strong "
            f"silos, {len(rest)} for the others: name codes of more records, or take fewer silos",
            code="codes-do-not-fit-silos",
            parameter="silos.strong_codes",
        )
    index = np.empty(len(labels), dtype=np.int64)
    index[chosen] = np.arange(len(chosen)) % strong
    index[rest] = strong + np.arange(len(rest)) % (silos - strong)
    return index


def _of_codes(labels: Sequence[str], codes: Collection[str]) -> Bool[np.ndarray, " record"]:
    wanted = set(codes)
    return np.array([label in wanted or not wanted.isdisjoint(parts_of(label)) for label in labels], dtype=bool)


def _validate_strong(strong: Collection[str], units: Mapping[str, int]) -> None:
    """Raise if a strong silo holds no unit: the model would silently train in fewer silos than were chosen."""
    if empty := sorted(name for name in strong if not units[name]):
        raise InputError(
            f"{len(empty)} of {len(strong)} strong silos hold 0 units to train on, first {empty[0]!r}: all that they "
            "hold was held out; set partition.split=record and privacy.unit=record, so that every silo keeps training "
            "records, or name silos that hold some by silos.strong",
            code="strong-silo-without-units",
            parameter="silos.strong",
        )


def _validate_silo_names(named: Collection[str], names: Collection[str], parameter: str) -> None:
    if strangers := sorted(set(named) - set(names)):
        raise InputError(
            f"{parameter} names {strangers[0]!r}, which is no silo: {did_you_mean(strangers[0], names)}",
            code="unknown-silo",
            parameter=parameter,
            value=strangers[0],
        )

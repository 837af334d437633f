"""Silos of made-up records: small enough for a whole run without a language model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.silos import parties_of
from fedtext.federation.units import Block, unit_codes
from fedtext.params.flexible import Flexible
from fedtext.params.privacy import Privacy
from fedtext.params.silos import Silos
from fedtext.privacy.parties import Party
from tests.parameters import conf_base

DIM = 6
CODES = ("tea", "rum", "ale")


def declared(**changes: Any) -> Privacy:
    """Records in silos; noise of DP-SGD and votes is declared, since to find it takes seconds."""
    base = {"epsilon": 50.0, "delta": 1e-4, "unit": "record", "noise_seed": 5, "noise_multiplier": 1.5}
    return conf_base(Privacy, base | changes)


def params(**changes: Any) -> Flexible:
    base: dict[str, Any] = {
        "labels": CODES,
        "training": {"rounds": 3, "local_steps": 2, "batch_size": 8},
        "texts": 60,
        "kept": 0.25,
        "votes_per_record": 3,
        "profile_stddev": 2.0,
    }
    return conf_base(Flexible, {**base, **changes})


def silos(**changes: Any) -> Silos:
    return conf_base(Silos, {"groups": None, "strong": 0.5, **changes})


def parties(units: Mapping[str, int], epsilon: float = 50.0, **changes: Any) -> tuple[Party, ...]:
    return parties_of(units, silos(**changes), epsilon)


def units_of(number: int, each: int = 40) -> dict[str, int]:
    return {f"silo-{k:02d}": each for k in range(number)}


def held(units: Mapping[str, int], codes: int = len(CODES), only: str | None = None) -> PrivateSamples:
    """Each silo's records, which depend on its name alone: unit directions, codes in turn; `only`: of one silo."""
    parts = []
    for name, number in units.items():
        rng = np.random.default_rng(int(unit_codes([name])[0] % 2**32))
        rows = rng.normal(size=(number, DIM)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        unit = unit_codes([f"{name}/{k}" for k in range(number)])
        if only in (None, name):
            parts.append((rows, unit, np.arange(number) % codes, np.full(number, unit_codes([name])[0])))
    features, unit, label, holder = (np.concatenate(part) for part in zip(*parts, strict=True))
    return PrivateSamples(features, unit, label, np.unique(unit), holder)


def pull(weights: np.ndarray, samples: PrivateSamples) -> Iterator[Block]:
    """Gradients (`GradientsAt`) of half the squared distance to a unit's features: training finds their mean."""
    yield Block(samples.unit, weights - samples.features)


def candidates(texts: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Directions of made-up texts, codes in turn."""
    rows = np.random.default_rng(3).normal(size=(texts, DIM)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), np.arange(texts) % len(CODES)

"""Test clients as a priced evaluation asks them: what they are promised, who is asked, with which samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float, Int, Int64

from fedtext.federation.blocks import Block
from fedtext.federation.private_samples import PrivateSamples, enrolled_units
from fedtext.federation.secure_sum import private_sum
from fedtext.federation.units import record_codes, unit_codes
from fedtext.params.evaluation import Evaluation
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger, Release, open_ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.privacy.plan import planned_multiplier

FEATURES = "evaluation.features"


def accuracy_release(algorithm: str) -> str:
    """Name of an algorithm's own release; the features of one data root are released alike for all, and so once."""
    return f"evaluation.{algorithm}.accuracy"


def evaluation_ledger(privacy: Privacy, evaluation: Evaluation, test_units: int, planned: Sequence[str]) -> Ledger:
    """The test clients' own empty ledger, for releases of these names at one noise.

    Raises:
        ValueError: there is no test client, or delta is too large for so few.
    """
    declared = evaluation.declaration(privacy)
    if test_units < 1:
        raise ValueError(
            f"{test_units} test {privacy.unit}s are expected: raise partition.test_share or privacy.population, or "
            "measure without protection (evaluation.priced=false)"
        )
    noise = planned_multiplier(declared, test_units, len(planned))
    described = {"mechanism": "discrete Gaussian", "sensitivity": 1.0, "noise_stddev": noise, "unit": privacy.unit}
    releases = [Release.model_validate({"name": name, "round": 0, **described}) for name in planned]
    return open_ledger(declared, test_units, releases, part="test")


def unit_of_samples(ids: list[str], texts: list[str], privacy: Privacy) -> Int64[np.ndarray, " sample"]:
    """Code of the protected unit that each held-out sample belongs to."""
    return unit_codes(ids) if privacy.unit == "client" else record_codes(ids, texts)


def noised_sum(
    name: str,
    blocks: Iterable[Block],
    unit: Int[np.ndarray, " sample"],
    *,
    dim: int,
    clip_norm: float,
    ledger: Ledger,
    key: NoiseKey,
    public_digest: str,
) -> tuple[Float[np.ndarray, " dim"], Ledger]:
    """One planned release over all test units, those without text among them."""
    nobody = np.zeros((len(unit), 0))
    held = PrivateSamples(nobody, unit, np.zeros(len(unit), dtype=np.int64), np.unique(unit))
    return private_sum(
        blocks,
        dim=dim,
        asked=enrolled_units(held, ledger),
        clip_norm=clip_norm,
        noise_multiplier=next(plan.noise_multiplier for plan in ledger.planned or () if plan.name == name),
        name=name,
        round=0,
        ledger=ledger,
        key=key,
        public_digest=public_digest,
    )


def samples_of_each(evaluation: Evaluation, test_units: int) -> int:
    """How many samples a test client is asked about: a public number, so that nobody's choice depends on the others."""
    return max(evaluation.max_eval_samples // test_units, 1)


def spread_over_own(unit: Int[np.ndarray, " sample"], most: int) -> Int[np.ndarray, " kept"]:
    """Ascending positions of at most `most` samples of every unit, evenly spread over the unit's own."""
    order = np.argsort(unit, kind="stable")
    _, first, count = np.unique(unit[order], return_index=True, return_counts=True)
    place = np.arange(len(unit)) - np.repeat(first, count)
    held = np.repeat(count, count)
    kept = place * most // held > (place - 1) * most // held  # the first sample of each of `most` equal stretches
    return np.sort(order[kept])

"""The tally of a vote: the asked units' ballots on all candidates, class by class, in one noised sum.

In conditional generation a sample votes on candidates of its own class only, but a unit's ballot is ONE vector over
the candidates of all classes, clipped once, as a whole, by the mechanism: how many samples a unit or a class has is
read nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from fedtext.federation.blocks import Block
from fedtext.federation.private_samples import PrivateSamples, asked_units
from fedtext.federation.secure_sum import digest, private_sum
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey

UNCLIPPED = float(np.finfo(np.float32).max)  # the mechanism clips the whole ballot; a class's part alone stays as it is

Embeddings = Float[np.ndarray, "row dim"]
Ballots = Iterator[Float[np.ndarray, "unit candidate"]]
Cast = Callable[[Embeddings, Int[np.ndarray, " sample"], int, Embeddings], Ballots]


def noised_tally(
    samples: PrivateSamples,
    candidate_embeddings: Float[np.ndarray, "candidate dim"],
    candidate_label: Int[np.ndarray, " candidate"],
    cast: Cast,
    *,
    voted_on: Bool[np.ndarray, " candidate"],
    clip_norm: float,
    noise_multiplier: float,
    name: str,
    round: int,
    settings: str,
    ledger: Ledger,
    key: NoiseKey,
) -> tuple[Float[np.ndarray, " candidate"], Ledger]:
    """Noised sum over the asked units of their ballots, each clipped to `clip_norm`, and the ledger that paid for it.

    `cast(features, unit, units, candidates)` gives the ballots of one class, unclipped, in blocks of units that do not
    depend on the class. A candidate that is not `voted_on` gets no vote, only noise. `settings` tell this vote from
    others on the same candidates: they name the draw of who is asked.

    Raises:
        BudgetExceeded: the ledger cannot pay; nothing has been read.
    """
    public = digest(candidate_embeddings, candidate_label)
    asked = asked_units(samples, ledger, key, name=name, round=round, settings=settings, public_digest=public)
    return private_sum(
        joint_ballots(samples.of_units(asked), candidate_embeddings, candidate_label, cast, voted_on),
        dim=len(candidate_embeddings),
        asked=asked,
        clip_norm=clip_norm,
        noise_multiplier=noise_multiplier,
        name=name,
        round=round,
        ledger=ledger,
        key=key,
        public_digest=public,
    )


def joint_ballots(
    samples: PrivateSamples,
    candidates: Float[np.ndarray, "candidate dim"],
    candidate_label: Int[np.ndarray, " candidate"],
    cast: Cast,
    voted_on: Bool[np.ndarray, " candidate"],
) -> Iterator[Block]:
    """Blocks of ballots over all candidates, not yet clipped; units without samples send nothing."""
    present = np.unique(samples.unit)
    columns, ballots = [], []
    for c in np.unique(candidate_label[voted_on]):
        held, own = samples.of_class(int(c)), np.flatnonzero((candidate_label == c) & voted_on)
        columns.append(own)
        ballots.append(cast(held.features, np.searchsorted(present, held.unit), len(present), candidates[own]))
    first = 0
    for blocks in zip(*ballots, strict=True):
        joint = np.zeros((len(blocks[0]), len(candidates)))
        for own, block in zip(columns, blocks, strict=True):
            joint[:, own] = block
        yield Block(present[first : first + len(joint)], joint)
        first += len(joint)

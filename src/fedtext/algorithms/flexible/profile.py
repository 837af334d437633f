"""The profile of all silos (Equation 4): how many records each code has, noised, and how many texts that makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from fedtext.federation.blocks import Block
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import Answer, answer
from fedtext.generation.allotment import allotment
from fedtext.params.flexible import Flexible
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.voting.class_means import class_sum_blocks

Counts = Float[np.ndarray, " code"]


def code_counts(samples: PrivateSamples, codes: int) -> Iterator[Block]:
    """How many samples of each code every unit holds; a sample of no declared code counts for none."""
    ones = replace(samples, features=np.ones((len(samples.unit), 1), dtype=np.float32))
    return class_sum_blocks(ones, codes)


def noised_profile(query: Query, samples: PrivateSamples, params: Flexible, ledger: Ledger, key: NoiseKey) -> Answer:
    """The release of the profile, and the ledger in which every silo paid for it."""
    asked = query.about("", repr(("profile", params.labels)))
    return answer(asked, lambda held: code_counts(held, len(params.classes)), samples, ledger, key)


def proportions(profile: Counts) -> Counts:
    """The shares of codes nearest to the noised ones: their projection on the simplex; equal where all is noise."""
    total = profile.sum()
    if not np.isfinite(profile).all() or total <= 0:
        return np.full(len(profile), 1 / len(profile))
    shares = profile / total
    falling = np.sort(shares)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(falling) + 1)
    threshold = excess[np.flatnonzero(falling > excess)[-1]]
    return np.asarray(np.maximum(shares - threshold, 0.0))


def text_counts(profile: Counts, params: Flexible) -> list[int]:
    """s_j: how many texts of each code are written, in proportion to the profile, by largest remainder."""
    return allotment(params.candidates, proportions(profile).tolist())


def pick_counts(written: list[int], params: Flexible) -> list[int]:
    """How many texts of each code are kept, in proportion to how many were to be written."""
    return allotment(min(params.synthetic_texts, sum(written)), [float(count) for count in written])

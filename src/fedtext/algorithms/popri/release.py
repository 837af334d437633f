"""The one release that serves every round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float

from fedtext.algorithms.popri.scoring.by_name import single_release
from fedtext.federation.blocks import Block
from fedtext.federation.mechanism import summed_stddev
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import answer
from fedtext.params.popri import Popri
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.privacy.plan import expected_units
from fedtext.voting.ballots import client_mean_blocks


def release_private_mean(
    query: Query, samples: PrivateSamples, popri: Popri, ledger: Ledger, key: NoiseKey
) -> tuple[Float[np.ndarray, "class feature"], Ledger]:
    """One release that serves every round: each class's mean features, noised once.

    A unit sends its mean of phi over its samples, each sample in the block of its class (norm <= 1 by convexity), so
    the joint vector over classes has sensitivity 1. With declared classes phi carries one constant coordinate (and is
    scaled by 1/sqrt 2): its released sum stands for the class size, which is never read exactly. Without, the sum is
    divided by the public number of units that were to be expected.
    """
    asked = replace(query, public_digest=_features_told(popri), draw=(popri.model_dump_json(), ""))
    total, charged = answer(asked, partial(sent_blocks, popri=popri), samples, ledger, key)
    sums = total.reshape(len(popri.classes), -1)
    if not popri.labels:
        return sums / expected_units(ledger), charged
    floor = summed_stddev(charged)  # a class lost in the noise is not divided by next to nothing, or less
    return sums[:, :-1] / np.maximum(sums[:, -1:], floor), charged


def _features_told(popri: Popri) -> str:
    """What the clients are told to send: the parameters of the feature map, and no others, name coins and noise."""
    of_words = (popri.word_buckets, popri.word_share) if single_release(popri).words else ()
    return repr((popri.scoring, popri.random_features, popri.bandwidth, popri.seed, tuple(popri.labels), *of_words))


def _sent_features(seen: Float[np.ndarray, "sample seen"], popri: Popri) -> Float[np.ndarray, "sample sent"]:
    phi = single_release(popri).features(seen, popri)
    if not popri.labels:
        return phi
    joined: np.ndarray = np.concatenate([phi, np.ones((len(phi), 1))], axis=1) / np.sqrt(2)
    return joined


def sent_blocks(held: PrivateSamples, popri: Popri, block: int = 256) -> Iterator[Block]:
    """What each unit that holds samples hands to the sum."""
    present = np.unique(held.unit)
    means = client_mean_blocks(
        held.features,
        np.searchsorted(present, held.unit),
        len(present),
        features=partial(_sent_features, popri=popri),
        label=held.label,
        classes=len(popri.classes),
        block=block,
    )
    for number, rows in enumerate(means):
        yield Block(present[number * block : number * block + len(rows)], rows)

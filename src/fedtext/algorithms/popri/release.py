"""The one release that serves every round."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from fedtext.algorithms.popri.budget import CLIP_NORM
from fedtext.algorithms.popri.features import feature_map
from fedtext.federation.mechanism import summed_stddev
from fedtext.federation.private_samples import PrivateSamples, asked_units
from fedtext.federation.secure_sum import digest, private_sum
from fedtext.params.popri import Popri
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.privacy.plan import expected_units
from fedtext.voting.ballots import client_mean_blocks

RELEASE = "popri.mean_features"


def release_private_mean(
    samples: PrivateSamples, popri: Popri, ledger: Ledger, key: NoiseKey, noise: float
) -> tuple[Float[np.ndarray, "class feature"], Ledger]:
    """One release that serves every round: each class's mean features, noised once.

    A unit sends its mean of phi over its samples, each sample in the block of its class (norm <= 1 by convexity), so
    the joint vector over classes has sensitivity 1. With declared classes phi carries one constant coordinate (and is
    scaled by 1/sqrt 2): its released sum stands for the class size, which is never read exactly. Without, the sum is
    divided by the public number of units that were to be expected.
    """
    inputs, settings = digest(samples.features, samples.unit, samples.label), popri.model_dump_json()
    asked = asked_units(samples.units, ledger, key, name=RELEASE, round=0, settings=settings, input_digest=inputs)
    classes = len(popri.classes)
    dim = _sent_features(samples.features[:1], popri).shape[1]
    total, charged = private_sum(
        _sent_blocks(samples.of_units(asked), popri, asked),
        dim=classes * dim,
        asked=asked,
        clip_norm=CLIP_NORM,
        noise_multiplier=noise,
        name=RELEASE,
        round=0,
        ledger=ledger,
        key=key,
        input_digest=inputs,
    )
    sums = total.reshape(classes, dim)
    if not popri.labels:
        return sums / expected_units(ledger), charged
    floor = summed_stddev(charged)  # a class lost in the noise is not divided by next to nothing, or less
    return sums[:, :-1] / np.maximum(sums[:, -1:], floor), charged


def _sent_features(embeddings: Float[np.ndarray, "sample dim"], popri: Popri) -> Float[np.ndarray, "sample sent"]:
    phi = feature_map(embeddings, popri)
    if not popri.labels:
        return phi
    joined: np.ndarray = np.concatenate([phi, np.ones((len(phi), 1))], axis=1) / np.sqrt(2)
    return joined


def _sent_blocks(
    held: PrivateSamples, popri: Popri, asked: Int[np.ndarray, " unit"], block: int = 256
) -> Iterator[Float[np.ndarray, "unit class*sent"]]:
    """What each of the `asked` units hands to the sum, given the samples they hold."""
    return client_mean_blocks(
        held.features,
        np.searchsorted(asked, held.unit),
        len(asked),
        features=partial(_sent_features, popri=popri),
        label=held.label,
        classes=len(popri.classes),
        block=block,
    )

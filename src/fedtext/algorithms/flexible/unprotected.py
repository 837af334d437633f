"""The same three reads without a mechanism (`noise: false`): they protect no unit, as guard and ledger record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float

from fedtext.algorithms.flexible.plan import DP_SGD, MEANS, PROFILE, VOTES
from fedtext.algorithms.flexible.profile import Counts, code_counts
from fedtext.algorithms.flexible.selection import ballot
from fedtext.algorithms.flexible.training import GradientsAt, Weights, federated_averaging, local_training
from fedtext.federation.messages import BlocksOf
from fedtext.federation.noisy_steps import NoisyStep
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import Block, unit_codes
from fedtext.params.flexible import Flexible
from fedtext.privacy.budget_guard import current
from fedtext.privacy.ledger import Ledger
from fedtext.seeding import stream
from fedtext.voting.class_means import class_sum_blocks
from fedtext.voting.tally import Candidates, joint_ballots

UNPROTECTED_READS = {
    DP_SGD: "the strong silos' gradients were added up without clip and noise",
    PROFILE: "the counts of codes were read without noise",
    VOTES: "the votes were read without noise",
    MEANS: "the sums of embeddings were read without noise",
}


def record_unprotected_read(name: str, ledger: Ledger) -> Ledger:
    """Enter the unprotected read `name` in the ledger, after reporting it to the budget guard."""
    current().unaccounted(name, UNPROTECTED_READS[name], ledger)
    return ledger.unaccounted_read(name, UNPROTECTED_READS[name])


def of_silos(samples: PrivateSamples, silos: Sequence[str]) -> PrivateSamples:
    """Return the samples that the named silos hold."""
    return samples.of_holders(unit_codes(silos))


def plain_weights(
    silos: Sequence[str], gradients_at: GradientsAt, start: Weights, samples: PrivateSamples, params: Flexible
) -> Weights:
    """Train the common weights on unclipped gradients without noise; batches are sampled publicly."""
    training = params.training
    asks = [
        _exact_step(silo, of_silos(samples, [silo]), training.batch_size, start.size, params.seed)
        for silo in sorted(silos)
    ]
    return federated_averaging([local_training(ask, gradients_at, training) for ask in asks], start, training)


def plain_profile(samples: PrivateSamples, params: Flexible) -> Counts:
    """Count the samples of each code."""
    return _total(code_counts(samples, len(params.classes)), len(params.classes))


def plain_votes(samples: PrivateSamples, candidates: Candidates, params: Flexible) -> Float[np.ndarray, " text"]:
    """Sum the votes."""
    texts = len(candidates.label)
    return _total(joint_ballots(samples, candidates, ballot(texts, params)), texts)


def plain_means(samples: PrivateSamples, params: Flexible) -> Float[np.ndarray, "code dim"]:
    """Sum the embeddings of each code."""
    codes, dim = len(params.classes), samples.features.shape[1]
    return _total(class_sum_blocks(samples, codes), codes * dim).reshape(codes, dim)


def _exact_step(silo: str, held: PrivateSamples, batch: int, dim: int, seed: int) -> NoisyStep:
    units, steps = np.unique(held.unit), iter(range(10**9))

    def ask(blocks_of: BlocksOf, public_digest: str) -> Float[np.ndarray, " dim"]:
        drawn = stream(seed, "plain batches", silo, next(steps)).choice(units, min(batch, len(units)), replace=False)
        return _total(blocks_of(held.of_units(drawn)), dim)

    return ask


def _total(blocks: Iterable[Block], dim: int) -> np.ndarray:
    total = np.zeros(dim)
    for block in blocks:
        total += np.where(np.isfinite(block.rows), block.rows, 0.0).sum(axis=0)
    return total

"""The release mechanism of one sum: clip, round to a grid, add modulo 2^k, add exact discrete noise, charge.

The server of a deployment sees the noisy sum and nothing else; this module plays all parts in one process and keeps the
arithmetic of a deployment (Bonawitz et al., CCS 2017; Kairouz, Liu and Steinke, ICML 2021). `Privacy.aggregation`
declares once per run who adds the noise:

- `secure`: the data holders, in shares, behind secure aggregation. The server sees the noisy sum of all. The sum of the
  shares is drawn here as one exact discrete Gaussian; `fedtext.federation.mechanism.share_divergence` bounds the
  difference.
- `local`: every holder adds all of its noise itself, once, to the sum of its units' contributions. The server sees each
  holder's noisy sum and its sender; the sum of all carries the noise of all of them.
- `trusted`: a curator holds the contributions and adds the noise once. The server sees the noisy sum of all.

A data holder sends messages: a client, a silo, a party (fedtext.federation.private_samples). It sees the contributions
of its own units.

A client's message depends on the client, public values and the run's secret alone: its rounding randomness comes from a
stream of its own. Charge, noise and record are those of every release (`fedtext.federation.charged_release`).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int64

from fedtext.federation.charged_release import charged_releases
from fedtext.federation.mechanism import PlannedSum, dequantise, planned_sum
from fedtext.federation.messages import BlocksOf, Request, holder_sums, message_sum, noised_sums
from fedtext.federation.private_samples import PrivateSamples, holders_of, sampled_units, sent_by_holders, taking_part
from fedtext.federation.query import Query
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey


class GridSum(NamedTuple):
    """The noisy sum in grid points, its plan, and the ledger that was charged for it."""

    sum: Int64[np.ndarray, " dim"]
    plan: PlannedSum
    ledger: Ledger


class NoisySum(NamedTuple):
    """The noisy sum, a multiple of the grid's step in every coordinate, and the ledger that was charged for it."""

    sum: Float[np.ndarray, " dim"]
    ledger: Ledger


def release_noisy_sum(
    query: Query,
    blocks_of: BlocksOf,
    samples: PrivateSamples,
    ledger: Ledger,
    key: NoiseKey,
    *,
    modulus_bits: int = 64,
    bound_to: str = "",
) -> NoisySum:
    """Release the noisy sum of the sampled units' contributions, each clipped here, and charge the ledger.

    Plan, budget and budget guard are checked before a private value is read. Then the units are sampled as the ledger
    declares, and `blocks_of` computes the contributions from the samples of the sampled units, a piece of them at a
    time (`fedtext.federation.messages`), in blocks of rows of any size; memory holds one block and `query.dim`
    integers. The same call gives the same bytes, however units are cut into blocks and ordered; other sums, or the same
    name with other parameters or public inputs, give independent noise.

    A unit without a contribution needs no row: it sends zeros, and under `local` its noise, so that its silence does
    not show. The same holds for a row with NaN or an infinity: whether a release happens must not depend on one client.
    An empty Poisson sample gives pure noise; under `local` it gives the holders' noise, or zeros where units are their
    own holders and none is there to add noise.

    Args:
        query: As it was planned (`fedtext.federation.mechanism.opened_ledger`).
        blocks_of: Computes the contributions of units from their samples, not yet clipped, at most one row a unit.
        samples: The samples of all units.
        ledger: The ledger to charge.
        key: The run's secret noise key.
        modulus_bits: Sums are taken modulo 2^modulus_bits.
        bound_to: What names the noise beside the sum (`release_grid_sum`).

    Raises:
        BudgetExceeded: ledger or budget guard refuse; no private value has been read.
        ValueError: the sum could wrap around modulo 2^modulus_bits or the key is not of the declared source (no private
            value has been read), samples are of units that the ledger was not opened for, a block is not `query.dim`
            wide, or a unit contributes that was not sampled, or twice.
    """
    total, plan, charged = release_grid_sum(
        query, blocks_of, samples, ledger, key, modulus_bits=modulus_bits, bound_to=bound_to
    )
    return NoisySum(dequantise(total, plan.step), charged)


def release_grid_sum(
    query: Query,
    blocks_of: BlocksOf,
    samples: PrivateSamples,
    ledger: Ledger,
    key: NoiseKey,
    *,
    modulus_bits: int = 64,
    shares: int | None = None,
    bound_to: str = "",
) -> GridSum:
    """Release the noisy sum in whole grid points (`release_noisy_sum`): what a data holder sends to a server.

    With `shares` it is one of so many sums that secure aggregation adds up, and carries one share of the noise. Noise
    is bound to what `bound_to` names, beside the sum: two sums that are equal then look no more alike than others.
    """
    part = taking_part(ledger, query.parties)
    plan = planned_sum(query, ledger.declaration, part.population, shares or len(part.parties) or None)
    if shares:
        plan = plan.in_shares(shares)
    plan.validate_modulus(modulus_bits)
    stream = sum_stream(plan)
    with charged_releases([plan], samples, ledger, key) as (charged, [release]):
        samples = release.samples
        sampled = sampled_units(samples, part, key, query)
        request = Request(blocks_of, plan, key, stream)
        stream = (*stream, bound_to) if bound_to else stream
        if ledger.declaration.aggregation != "local":
            total = release.noised(message_sum(request, samples, sampled), stream)
        elif holders_of(part) is None:
            total = release.sum_of_noised(partial(noised_sums, request, samples, sampled), stream, query.dim)
        else:
            sent = sent_by_holders(holder_sums(request, samples, sampled), samples, part, query.dim)
            held = {} if samples.holder is None else samples.digests_of(samples.holder)
            total = release.sum_of_noised(lambda noise: [noise.sum_of(sent, query.dim, held)], stream, query.dim)
        # 2^modulus_bits is a divisor of 2^64, modulo which the sums are taken
        return GridSum(centred(total, modulus_bits), plan, charged)


def sum_stream(plan: PlannedSum) -> tuple[str, ...]:
    """Return the name of a sum, which names rounding randomness and noise."""
    return (plan.release.stream_name(), str(plan.query.dim), plan.query.public_digest)


def centred(total: Int64[np.ndarray, " dim"], bits: int) -> Int64[np.ndarray, " dim"]:
    """Return the residue modulo 2^bits nearest to zero: the server's reading of the modular sum."""
    unused = np.uint64(64 - bits)
    return np.asarray((total.view(np.uint64) << unused).view(np.int64) >> np.int64(unused))

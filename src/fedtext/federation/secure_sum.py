"""The door out of a client for one sum: clip, round to a grid, add modulo 2^k, add exact discrete noise, charge.

The server of a deployment sees the noisy sum and nothing else; this module plays all parts in one process and keeps the
arithmetic a deployment would have (Bonawitz et al., CCS 2017; Kairouz, Liu and Steinke, ICML 2021). Who adds the noise
is declared once per run, in `Privacy.aggregation`:

- `secure`: the clients, in shares, behind secure aggregation. The sum of the shares is drawn here as one exact discrete
  Gaussian; `fedtext.federation.mechanism.share_divergence` bounds the difference.
- `local`: every client adds all of its noise itself, so the sum carries the noise of all of them.
- `trusted`: a curator holds the contributions and adds the noise once.

What a client sends depends on the client, public values and the run's secret alone: its coins for rounding come from a
stream of its own. Noise is bound to the very sum it hides, so that two different sums never share their noise, which
their difference would otherwise cancel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np
from jaxtyping import Float, Int, Int64, Shaped

from fedtext.federation.blocks import Block
from fedtext.federation.mechanism import PlannedSum, planned_sum
from fedtext.privacy.clipping import clip_rows
from fedtext.privacy.gate import current
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey, discrete_gaussian, keyed_bytes
from fedtext.privacy.quantisation import randomly_rounded

_CELLS = 2**18  # coordinates that are clipped and rounded in one go


def digest(*arrays: Shaped[np.ndarray, " ..."]) -> str:
    """SHA-256 over shape, type and bytes of each array, in order."""
    state = hashlib.sha256()
    for array in arrays:
        state.update(f"{array.shape} {array.dtype.str};".encode())
        state.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)  # no copy: embeddings are large
    return state.hexdigest()


def private_sum(
    blocks: Iterable[Block],
    *,
    dim: int,
    asked: Int[np.ndarray, " unit"],
    clip_norm: float,
    noise_multiplier: float,
    name: str,
    round: int,
    ledger: Ledger,
    key: NoiseKey,
    public_digest: str,
    modulus_bits: int = 64,
) -> tuple[Float[np.ndarray, " dim"], Ledger]:
    """Noisy sum over clients of their contributions, each clipped here to `clip_norm`, and the ledger that paid for it.

    A block has the rows of some clients, as many as it likes; memory holds one block and `dim` integers. Plan, budget
    and gate are asked before the first block is read. The same call gives the same bytes, however the clients are cut
    into blocks and ordered; other sums, or the same name with other parameters or public inputs, give independent
    noise. Every value returned is a multiple of the grid's step. Of the clients `asked` (their codes) those that have
    nothing to say need no row: they send zeros, and under `local` their noise, for who is silent must not show. So does
    whose row holds NaN or an infinity: whether a release happens must not be one client's say. Nobody asked (an empty
    Poisson draw) gives pure noise, or zeros under `local`, where nobody is there to add any.

    Args:
        blocks: What the clients contribute.
        dim: Width of a contribution.
        asked: Codes of all clients that are asked, silent ones among them.
        clip_norm: Largest L2 norm of a contribution.
        noise_multiplier: Deviation of the noise over the sensitivity.
        name: The release's, for ledger and streams.
        round: The release's.
        ledger: What pays.
        key: The run's secret.
        public_digest: Digest of the public inputs that contributions are made with (candidates, weights).
        modulus_bits: Sums are taken modulo 2^modulus_bits.

    Raises:
        BudgetExceeded: ledger or gate refuse; nothing has been read.
        ValueError: the sum could wrap around modulo 2^modulus_bits (nothing has been read), a block is not `dim` wide,
            the key is not of the declared source, a client contributes that was not asked or twice, or more are asked
            than were priced.
    """
    plan = planned_sum(
        ledger.declaration,
        ledger.population,
        dim=dim,
        clip_norm=clip_norm,
        noise_multiplier=noise_multiplier,
        name=name,
        round=round,
    )
    plan.refuse_wrap(modulus_bits)
    key.refuse_undeclared(ledger.declaration.noise_seed)
    if len(asked) > plan.contributors:
        raise ValueError(f"{name}: {len(asked)} clients are asked, {plan.contributors} were accounted for")
    charged = ledger.charge(plan.release)
    current().admit(plan.release, ledger)
    stream = (plan.release.model_dump_json(), str(dim), public_digest)
    local = ledger.declaration.aggregation == "local"
    waiting, total = set(asked.tolist()), np.zeros(dim, dtype=np.int64)
    for unit, message in client_messages(blocks, plan, clip_norm, key, stream):
        if unit not in waiting:
            raise ValueError(f"{name}: a client contributes that was not asked, or contributes twice")
        waiting.remove(unit)
        total += message  # int64 sums are sums modulo 2^64, of which 2^modulus_bits is a divisor
        if local:
            total += _noise(plan, key, ("client", str(unit), *stream, digest(message)))
    if local:
        silent = digest(np.zeros(dim, dtype=np.int64))
        for unit in sorted(waiting):
            total += _noise(plan, key, ("client", str(unit), *stream, silent))
    hidden = (*stream, digest(total))
    current().confirm(plan.release, round, receipt(key, hidden))
    if not local:
        total += _noise(plan, key, hidden)
    return _centred(total, modulus_bits) * plan.step, charged


def client_messages(
    blocks: Iterable[Block], plan: PlannedSum, clip_norm: float, key: NoiseKey, stream: tuple[str, ...]
) -> Iterator[tuple[int, Int64[np.ndarray, " dim"]]]:
    """What each client would send, with its code: clipped, and rounded to the grid by coins of its own."""
    for block in blocks:
        if block.rows.ndim != 2 or block.rows.shape != (len(block.unit), plan.dim):
            raise ValueError(
                f"{plan.release.name}: a block of shape {block.rows.shape} of {len(block.unit)} clients; rows of "
                f"{plan.dim} numbers were declared"
            )
        rows = max(1, _CELLS // plan.dim)  # a few at a time: working memory in the cache, whatever a block's size
        for first in range(0, len(block.rows), rows):
            clipped = clip_rows(block.rows[first : first + rows], clip_norm)
            for unit, row in zip(block.unit[first : first + rows].tolist(), clipped, strict=True):
                yield unit, randomly_rounded(row[None], plan.step, _coins(key, (*stream, str(unit))))[0]


def receipt(key: NoiseKey, stream: tuple[str, ...]) -> str:
    """A name for what leaves, the same for the same noised sum; without the key it says nothing about it."""
    return keyed_bytes(key, 16, ("receipt", *stream)).hex()


def _coins(key: NoiseKey, stream: tuple[str, ...]) -> np.random.Generator:
    """Stands for a client's own coin tosses."""
    return np.random.Generator(np.random.SFC64(int.from_bytes(keyed_bytes(key, 16, ("rounding", *stream)), "big")))


def _noise(plan: PlannedSum, key: NoiseKey, stream: tuple[str, ...]) -> Int64[np.ndarray, " dim"]:
    """One draw of the planned noise."""
    return discrete_gaussian(key, stddev_on_grid=plan.stddev_on_grid, size=plan.dim, stream=stream)


def _centred(total: Int64[np.ndarray, " dim"], bits: int) -> Int64[np.ndarray, " dim"]:
    """The residue modulo 2^bits nearest to zero: what a server reads out of the modular sum."""
    unused = np.uint64(64 - bits)
    return np.asarray((total.view(np.uint64) << unused).view(np.int64) >> np.int64(unused))

"""The door out of a client for one sum: clip, round to a grid, add modulo 2^k, add exact discrete noise, charge.

The server of a deployment sees the noisy sum and nothing else; this module plays all parts in one process and keeps the
arithmetic a deployment would have (Bonawitz et al., CCS 2017; Kairouz, Liu and Steinke, ICML 2021). Who adds the noise
is declared once per run, in `Privacy.aggregation`:

- `secure`: the clients, in shares, behind secure aggregation. The sum of the shares is drawn here as one exact discrete
  Gaussian; `fedtext.federation.mechanism.share_divergence` bounds the difference.
- `local`: every client adds all of its noise itself, so the sum carries the noise of all of them.
- `trusted`: a curator holds the contributions and adds the noise once.

Noise is bound to the input digest AND to the very sum it hides. Should a caller forget an input in its digest, two
different sums still never share their noise, which their difference would otherwise cancel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np
from jaxtyping import Float, Int, Int64, Shaped

from fedtext.federation.mechanism import PlannedSum, planned_sum
from fedtext.privacy.clipping import clip_rows
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
    blocks: Iterable[Float[np.ndarray, "_ dim"]],
    *,
    dim: int,
    asked: Int[np.ndarray, " unit"],
    clip_norm: float,
    noise_multiplier: float,
    name: str,
    round: int,
    ledger: Ledger,
    key: NoiseKey,
    input_digest: str,
    modulus_bits: int = 64,
) -> tuple[Float[np.ndarray, " dim"], Ledger]:
    """Noisy sum over clients of their contributions, each clipped here to `clip_norm`, and the ledger that paid for it.

    A block has the rows of some clients, as many as it likes; memory holds one block and `dim` integers. Plan and
    budget are checked before the first block is read. The same call gives the same bytes, however the clients are cut
    into blocks; other inputs, or the same name with other parameters, give independent noise. Every value returned is a
    multiple of the grid's step. Of the clients `asked` (their numbers) those that have nothing to say need no row: they
    send zeros, and under `local` their noise, for who is silent must not show. Nobody asked (an empty Poisson draw)
    gives pure noise, or zeros under `local`, where nobody is there to add any.

    Raises:
        BudgetExceeded: the ledger cannot pay; nothing has been read.
        ValueError: the sum could wrap around modulo 2^modulus_bits (nothing has been read), a block is not `dim` wide
            or holds NaN or an infinity, the key is not of the declared source, more clients contribute than were
            asked, or more are asked than were priced.
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
    stream = _stream(plan, input_digest + digest(asked))
    local = ledger.declaration.aggregation == "local"
    total, clients = np.zeros(dim, dtype=np.int64), 0
    for message in client_messages(blocks, plan, clip_norm, key, stream):
        if local:
            message += _client_noise(message, clients, plan, key, stream)
        total += message.sum(axis=0)  # int64 sums are sums modulo 2^64, of which 2^modulus_bits is a divisor
        clients += message.shape[0]
        if clients > len(asked):
            raise ValueError(f"{name}: more clients contribute than the {len(asked)} that were asked")
    if local:
        silent = np.zeros((1, dim), dtype=np.int64)
        for client in range(clients, len(asked)):
            total += _client_noise(silent, client, plan, key, stream)[0]
    else:
        total += _noise(plan, key, (*stream, digest(total)))
    return _centred(total, modulus_bits) * plan.step, charged


def _stream(plan: PlannedSum, input_digest: str) -> tuple[str, ...]:
    """The name of a release's randomness: its ledger entry (name, round, every parameter), width and inputs."""
    return (plan.release.model_dump_json(), str(plan.dim), input_digest)


def client_messages(
    blocks: Iterable[Float[np.ndarray, "_ dim"]],
    plan: PlannedSum,
    clip_norm: float,
    key: NoiseKey,
    stream: tuple[str, ...],
) -> Iterator[Int64[np.ndarray, "_ dim"]]:
    """What the clients of each block would send: clipped and rounded to the grid. Stands for their own coin tosses."""
    seed = int.from_bytes(keyed_bytes(key, 16, ("rounding", *stream)), "big")
    rng = np.random.Generator(np.random.SFC64(seed))
    for block in blocks:
        if block.ndim != 2 or block.shape[1] != plan.dim:
            raise ValueError(f"{plan.release.name}: a block of shape {block.shape}, (clients, {plan.dim}) was declared")
        rows = max(1, _CELLS // plan.dim)  # a few at a time: working memory in the cache, whatever a block's size
        for first in range(0, len(block), rows):
            yield randomly_rounded(clip_rows(block[first : first + rows], clip_norm), plan.step, rng)


def _client_noise(
    message: Int64[np.ndarray, "client dim"], first: int, plan: PlannedSum, key: NoiseKey, stream: tuple[str, ...]
) -> Int64[np.ndarray, "client dim"]:
    """Each client's own noise; `first` counts the clients of earlier blocks."""
    own = [
        _noise(plan, key, ("client", str(first + row), *stream, digest(message[row]))) for row in range(len(message))
    ]
    return np.array(own, dtype=np.int64).reshape(message.shape)


def _noise(plan: PlannedSum, key: NoiseKey, stream: tuple[str, ...]) -> Int64[np.ndarray, " dim"]:
    """One draw of the planned noise."""
    return discrete_gaussian(key, stddev_on_grid=plan.stddev_on_grid, size=plan.dim, stream=stream)


def _centred(total: Int64[np.ndarray, " dim"], bits: int) -> Int64[np.ndarray, " dim"]:
    """The residue modulo 2^bits nearest to zero: what a server reads out of the modular sum."""
    unused = np.uint64(64 - bits)
    return np.asarray((total.view(np.uint64) << unused).view(np.int64) >> np.int64(unused))

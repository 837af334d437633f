"""Privacy noise: the one module that draws it, as an exact discrete Gaussian from a secret keyed stream.

A float Gaussian added to a float sum is not the mechanism that was analysed: the low bits of the output depend on the
sum (Mironov, CCS 2012). Here noise is an integer on a grid, and a draw is a function of a secret key and a stream name,
so a step that is repeated after a crash repeats its bytes and remains one release.

Randomness is SHAKE-256 of the key and the name. The sampler is rejection from a proposal made of fair bits alone (an
octave v with probability 2^-(v+1), a uniform position within it, a sign). Acceptance has the probability 2^v exp(-y^2 /
2 stddev^2) / K; a uniform real, known bit by bit, is compared with that number. Floating point decides when it is
certain to be right, rational and decimal arithmetic of growing precision otherwise. The outcome is therefore a
mathematical function of the bits, the same on every platform. As in Canonne, Kamath and Steinke (NeurIPS 2020), the
sampler is exact, but for one cut: values beyond 16 standard deviations are rejected, at a cost in total variation of
less than `TAIL_MASS` a coordinate, to be added to delta (at 10^6 coordinates, 10^-49).

A choice by the exponential mechanism (`exponential_choice`) is drawn in the same way, and has no cut.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Iterator
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Literal

import numpy as np
from jaxtyping import Bool, Int64, UInt64
from pydantic import BaseModel, ConfigDict, Field

from fedtext.system.errors import InputError
from fedtext.system.threads import arrays_over_cores

MAX_STDDEV = 2.0**40
MIN_STDDEV = 2.0**-10
TAIL_MASS = 2.0**-183
_OCTAVES = 16
_TRIALS = 2**22  # proposals at a time: bounds the memory of a draw for a model's worth of coordinates
_SLICE = 2**15  # proposals that are decided in one go: what is computed of them stays in a core's cache
_MARGIN = 2.0**-40  # the float evaluation of an acceptance probability errs by less than 2^-48
_SMOOTHING = 2.0  # grid points; makes the rounding kernel of `covering_stddev` flat to 2^-112


class NoiseKey(BaseModel):
    """The secret of a run, stored with the private data and never shown.

    `source` is `operating system` for a secret key, `seed` for a simulation that anyone can repeat.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    secret: str = Field(repr=False, pattern=r"^[0-9a-f]{64}$")
    source: Literal["operating system", "seed"]

    def validate_noise_source(self, noise_seed: int | None) -> None:
        """Raise ValueError if reports would call a public key secret, or a secret one public."""
        if (self.source == "seed") != (noise_seed is not None):
            raise InputError(
                f"the noise key comes from the {self.source}, but privacy.noise_seed is {noise_seed}: remove the data "
                "root's private_noise_key, or declare what it was made with",
                code="noise-key-contradicts-seed",
                parameter="privacy.noise_seed",
                value=noise_seed,
            )


def new_noise_key(seed: int | None = None) -> NoiseKey:
    """Create a 256-bit key from the operating system, or the key of a simulation's `seed`."""
    if seed is None:
        return NoiseKey(secret=secrets.token_bytes(32).hex(), source="operating system")
    return NoiseKey(secret=hashlib.sha256(f"fedtext noise key {seed}".encode()).hexdigest(), source="seed")


def keyed_bytes(key: NoiseKey, size: int, stream: tuple[str, ...]) -> bytes:
    """Return `size` bytes of the stream: SHAKE-256 of the key and the length-prefixed parts of its name."""
    state = hashlib.shake_256(bytes.fromhex(key.secret))
    for part in stream:
        encoded = part.encode()
        state.update(len(encoded).to_bytes(8, "big") + encoded)
    return state.digest(size)


def covering_stddev(stddev: float) -> float:
    """Return the stddev of the discrete Gaussian that may be accounted as a continuous one of `stddev` (grid points).

    A continuous Gaussian rounded to the integers by a discrete Gaussian kernel of stddev 2 is, at every point and
    within a factor 1 +- 2^-110, the discrete Gaussian of variance stddev^2 + 4 (Poisson summation; Peikert, CRYPTO
    2010). Rounding is post-processing, so every bound that an accountant proves for the continuous noise, under any
    sampling and composition, holds for this one, with 2^-110 added to epsilon for each coordinate. A discrete Gaussian
    of `stddev` has the same concentrated-DP curve but a larger delta: at 2 grid points by a third and more.
    """
    return math.nextafter(math.hypot(stddev, _SMOOTHING), math.inf)


def noise_bound(stddev_on_grid: float) -> int:
    """Return a number that no draw of `discrete_gaussian` reaches in absolute value: at most 32 standard deviations."""
    return _OCTAVES << _position_bits(stddev_on_grid)


def discrete_gaussian(
    key: NoiseKey, *, stddev_on_grid: float, size: int, stream: tuple[str, ...]
) -> Int64[np.ndarray, " size"]:
    """Sample `size` independent integers y with probability proportional to exp(-y^2 / 2 stddev_on_grid^2).

    The same key, stream, size and stddev give the same integers everywhere; any other gives independent ones.

    Raises:
        ValueError: `stddev_on_grid` is not in [2^-10, 2^40], or `size` is negative.
    """
    validate_exact_noise(stddev_on_grid)
    if size < 0:
        raise InputError(
            f"noise for {size} coordinates: the size must be at least 0",
            code="size-below-zero",
            parameter="size",
            value=size,
        )
    stretch = min((1 << _position_bits(stddev_on_grid)) / stddev_on_grid, 2.0)
    # Size and stddev name the stream too: the same bits at two scales would reveal the noise.
    named = ("discrete gaussian", float(stddev_on_grid).hex(), str(size), *stream)
    drawn = np.empty(size, dtype=np.int64)
    filled = batch = 0
    while filled < size:
        trials = min(int(2.1 * stretch * (size - filled)) + 64, _TRIALS)
        for accepted in _accepted(key, float(stddev_on_grid), trials, (*named, str(batch))):
            taken = accepted[: size - filled]
            drawn[filled : filled + taken.size] = taken
            filled += taken.size
            if filled == size:
                break
        batch += 1
    return drawn


_MOST_CHOICES = 2**20  # to draw among
_CHOSEN_AT_ONCE = 64  # proposals beyond one for each choice


def exponential_choice(
    key: NoiseKey, scores: Int64[np.ndarray, " choice"], *, scale: float, stream: tuple[str, ...]
) -> int:
    """Draw i with probability proportional to exp(scores[i] / scale): the exponential mechanism, exactly.

    A proposal is uniform among the choices, from fair bits alone. It is accepted with probability exp((scores[i] - max)
    / scale), and a uniform real, known bit by bit, is compared with that number as for `discrete_gaussian`. So the
    choice is a mathematical function of the integers and the bits: no sum of floating-point probabilities, and no
    logarithm of a uniform, decides. The same key, scores, scale and stream give the same choice everywhere.

    Raises:
        ValueError: there is no choice or too many, or `scale` is not positive and finite.
    """
    if not 1 <= len(scores) <= _MOST_CHOICES:
        raise InputError(
            f"a choice among {len(scores)}: give 1 to {_MOST_CHOICES}", code="nothing-to-choose", value=len(scores)
        )
    if not (scale > 0 and math.isfinite(scale)):
        raise InputError(
            f"the scale of a choice is {scale}: it must be positive and finite",
            code="choice-without-scale",
            value=scale,
        )
    gaps = scores.max().view(np.uint64) - scores.view(np.uint64)  # a difference may be beyond int64
    mask, exact = np.uint64((1 << (len(scores) - 1).bit_length()) - 1), Fraction(scale)
    named = ("exponential choice", float(scale).hex(), str(len(scores)), *stream)
    trials, batch = int(mask) + 1 + _CHOSEN_AT_ONCE, 0
    while True:
        drawn = np.frombuffer(keyed_bytes(key, 16 * trials, (*named, str(batch))), dtype="<u8").reshape(trials, 2)
        proposed, uniform = (drawn[:, 0] & mask).astype(np.int64), drawn[:, 1]
        legal = np.flatnonzero(proposed < len(scores))
        gap = np.exp(gaps[proposed[legal]] / -scale) - uniform[legal] * 2.0**-64
        for trial, above in zip(legal[gap > -_MARGIN].tolist(), gap[gap > -_MARGIN].tolist(), strict=True):
            exponent = Fraction(int(gaps[proposed[trial]])) / exact
            further = (*named, str(batch), "further bits", str(trial))
            if above > _MARGIN or _is_below(key, int(uniform[trial]), exponent, Fraction(1), further):
                return int(proposed[trial])
        batch += 1


def validate_exact_noise(stddev_on_grid: float) -> None:
    """Raise ValueError if noise of this deviation cannot be drawn exactly."""
    if not MIN_STDDEV <= stddev_on_grid <= MAX_STDDEV:
        raise InputError(
            f"noise of {stddev_on_grid} grid points: the sampler is exact from 2^-10 to 2^40; take a larger epsilon, "
            "fewer rounds or a smaller model",
            code="noise-beyond-sampler",
            parameter="stddev_on_grid",
            value=stddev_on_grid,
        )


def _position_bits(stddev: float) -> int:
    """Return the smallest b with 2^b >= stddev: the width of an octave of the proposal, in bits."""
    return max(0, math.ceil(stddev) - 1).bit_length()


def _envelope(stddev: float) -> float:
    """Compute K, at least 2^v exp(-(v 2^b)^2 / 2 stddev^2) for every octave v: exact, so the same everywhere."""
    return 1.0 if 4.0 ** _position_bits(stddev) >= 1.4 * stddev * stddev else 1.25


def _accepted(
    key: NoiseKey, stddev: float, trials: int, stream: tuple[str, ...]
) -> Iterator[Int64[np.ndarray, " accepted"]]:
    """Yield the accepted ones of `trials` proposals, slice by slice in their order; 16 bytes of the stream each."""
    words = np.frombuffer(keyed_bytes(key, 16 * trials, stream), dtype="<u8").reshape(trials, 2)
    return arrays_over_cores(
        lambda first: _accepted_of(key, stddev, words[first : first + _SLICE], first, stream),
        range(0, trials, _SLICE),
    )


def _accepted_of(
    key: NoiseKey, stddev: float, words: UInt64[np.ndarray, "trial word"], first: int, stream: tuple[str, ...]
) -> Int64[np.ndarray, " accepted"]:
    """Return the accepted proposals among those that `words` encode; `first` is the number of the first of them."""
    drawn, uniform = words.astype(np.uint64).T
    bits, one = np.uint64(_position_bits(stddev)), np.uint64(1)
    octave_word, sign = drawn & np.uint64(0xFFFF), (drawn >> np.uint64(16)) & one
    octave = np.bitwise_count((octave_word - one) & ~octave_word).astype(np.uint64)
    position = (drawn >> np.uint64(17)) & ((one << bits) - one)
    magnitude = (octave << bits) | position
    # Sixteen zero bits are the cut tail; accepting a negative zero would give zero twice its probability.
    legal = np.flatnonzero((octave_word != 0) & ((magnitude != 0) | (sign == 0)))
    heads = _rounding_randomness(key, stddev, uniform[legal], magnitude[legal], octave[legal], first + legal, stream)
    signed = magnitude[legal][heads].astype(np.int64)
    return np.asarray(np.where(sign[legal][heads] == one, -signed, signed))


def _rounding_randomness(
    key: NoiseKey,
    stddev: float,
    uniform: UInt64[np.ndarray, " trial"],
    magnitude: UInt64[np.ndarray, " trial"],
    octave: UInt64[np.ndarray, " trial"],
    index: Int64[np.ndarray, " trial"],
    stream: tuple[str, ...],
) -> Bool[np.ndarray, " trial"]:
    """Accept each trial with probability 2^octave exp(-magnitude^2 / 2 stddev^2) / K.

    A decision needs the first 64 bits of a uniform real, and further ones where these do not suffice.
    """
    envelope = _envelope(stddev)
    tilted = np.exp(-0.5 * np.square(magnitude / stddev))
    probability = np.ldexp(tilted, octave.astype(np.int32)) / envelope
    gap = probability - uniform * 2.0**-64
    heads = gap > 0
    for trial in np.flatnonzero(np.abs(gap) <= _MARGIN):
        exponent = Fraction(int(magnitude[trial])) ** 2 / (2 * Fraction(stddev) ** 2)
        factor = Fraction(2 ** int(octave[trial])) / Fraction(envelope)
        further = (*stream, "further bits", str(index[trial]))
        heads[trial] = _is_below(key, int(uniform[trial]), exponent, factor, further)
    return heads


def _is_below(key: NoiseKey, first: int, exponent: Fraction, factor: Fraction, stream: tuple[str, ...]) -> bool:
    """Return True if a uniform real is below factor * exp(-exponent), exactly.

    Its first 64 bits are those of `first`; the bits of `stream` follow.
    """
    further = 0
    while True:
        tail = int.from_bytes(keyed_bytes(key, further, stream), "big")
        known = (first << (8 * further)) | tail
        scale = 2 ** (64 + 8 * further)
        context = Context(prec=len(str(scale)) + 20, Emin=MIN_EMIN, Emax=MAX_EMAX)
        x = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
        bound = context.multiply(Decimal(factor.numerator * scale), context.exp(x.copy_negate()))
        bound = context.divide(bound, Decimal(factor.denominator))
        doubt = context.multiply(bound, (x + 8).scaleb(2 - context.prec, context))
        if context.subtract(bound, doubt) >= known + 1 or (exponent == 0 and factor == 1):
            return True
        if context.add(bound, doubt) <= known:
            return False
        further += 16

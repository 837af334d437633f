"""The sequence that every release goes through: it is charged, admitted, drawn with noise, and confirmed.

1. The ledger is charged, for all releases of one call before the first of them.
2. The budget guard admits it (fedtext.privacy.budget_guard). No private value has been read so far.
3. The release function computes its sums of messages, and noise is drawn for each. It is bound to the question, to the
   sample of units where they are sampled, to all samples that were held, and to the very sum it hides. Two sums never
   share their noise, which their difference would otherwise cancel. Nor do two that happen to be equal, which equal
   bytes would otherwise show. A release that draws tokens by the exponential mechanism draws each by bits that are
   bound in the same way.
4. The budget guard confirms and records it, by a keyed digest of the sums, before a result is returned.

`charged_releases` is the only code that charges a ledger, asks the guard and draws noise (tests/contracts). A release
function gets its samples and its noise from it, and cannot leave out a step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int64

from fedtext.federation.private_samples import (
    NO_SAMPLING,
    Messages,
    PrivateSamples,
    samples_of,
    sampling_name,
    taking_part,
)
from fedtext.federation.query import Query
from fedtext.federation.units import digest
from fedtext.privacy.budget_guard import current
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.noise import NoiseKey, discrete_gaussian, exponential_choice, keyed_bytes, new_noise_key
from fedtext.system.errors import InputError


@runtime_checkable
class PlannedRelease(Protocol):
    """The public facts of a release that is to be made."""

    @property
    def query(self) -> Query:
        """The query, of this round."""

    @property
    def release(self) -> Release:
        """The release that the ledger is charged with; one may cover all rounds."""


@runtime_checkable
class PlannedNoise(PlannedRelease, Protocol):
    """The public facts of a release that adds noise to sums."""

    @property
    def stddev_on_grid(self) -> float:
        """Standard deviation of one draw of noise, in grid points."""


@dataclass(frozen=True)
class Noise:
    """Draws of a release's noise, from the run's secret."""

    key: NoiseKey
    stddev_on_grid: float

    def on(self, sums: Int64[np.ndarray, "*shape"], stream: tuple[str, ...]) -> Int64[np.ndarray, "*shape"]:
        """Return the sums with the draw of noise that `stream` names."""
        drawn = discrete_gaussian(self.key, stddev_on_grid=self.stddev_on_grid, size=sums.size, stream=stream)
        drawn = drawn.reshape(sums.shape)
        drawn += sums  # int64 sums are sums modulo 2^64
        return drawn


def seconds_of_noise(stddev_on_grid: float, numbers: int) -> float:
    """Return the processor seconds of a draw of so many numbers, from a key that hides nothing, for a plan."""
    began = time.process_time()
    Noise(new_noise_key(0), stddev_on_grid).on(np.zeros(numbers, dtype=np.int64), ("plan", "noise"))
    return time.process_time() - began


@dataclass(frozen=True)
class HolderNoise:
    """The noise that data holders add themselves, wherever their messages are computed (aggregation `local`)."""

    noise: Noise
    stream: tuple[str, ...]

    def sum_of(self, sent: Messages, dim: int, held: Mapping[int, str]) -> Int64[np.ndarray, " dim"]:
        """Return the sum of what some holders send, by their codes, each with noise bound to it and to the holder.

        `held` are digests of what each holder has (`PrivateSamples.digests_of`): its noise is bound to its own samples
        and to nobody else's. Two messages that are equal then look no more alike than others.
        """
        total = np.zeros(dim, dtype=np.int64)
        for sender, message in sent:
            own = ("client", str(sender), *self.stream, f"{held.get(sender, '')} {digest(message)}")
            total += self.noise.on(message, own)
        return total


@runtime_checkable
class PlannedChoices(PlannedRelease, Protocol):
    """The public facts of a release that draws by the exponential mechanism."""

    @property
    def scale(self) -> float:
        """The grid points by which a score must differ to be e times as likely."""


class ChargedRelease:
    """A release that was charged and admitted: it has the samples, and adds the planned noise or draws by it.

    Attributes:
        ledger: The ledger after the charge.
        part: The ledger of the parties that take part.
        samples: The samples that these parties hold, in one order whatever that of the table (`in_one_order`).
    """

    samples: PrivateSamples

    def __init__(self, plan: PlannedRelease, ledger: Ledger, key: NoiseKey) -> None:
        self.part = taking_part(ledger, plan.query.parties)
        self.ledger = _charged(plan, ledger)
        self._plan, self._key = plan, key
        self._draw = sampling_name(plan.query, self.part)
        # Who was asked is secret: two sums of two draws that are equal must look no more alike than others.
        self._sample = () if self._draw == NO_SAMPLING else (self._draw,)
        self._hidden: list[str] = []  # the streams and digests of all sums
        self._chosen: list[tuple[str, ...]] = []  # the same of all scores: several threads may draw
        self._open = True
        current().admit(plan.release, ledger, self._draw)

    def noised(self, sums: Int64[np.ndarray, "*shape"], stream: tuple[str, ...]) -> Int64[np.ndarray, "*shape"]:
        """Return the sums, on the grid, with noise that is bound to them, to the samples and to the stream.

        Raises:
            ValueError: the release was confirmed already.
        """
        hidden = self._named(stream, self.samples, sums)
        self._hidden += hidden
        return self._noise().on(sums, hidden)

    def chosen(self, scores: Int64[np.ndarray, " choice"], held: PrivateSamples, stream: tuple[str, ...]) -> int:
        """Return a choice by the exponential mechanism, by bits that are bound to scores, samples and stream.

        `held` are the samples that the scores are of: those of one group, where groups are disjoint.

        Raises:
            ValueError: the release was confirmed already, or it was not planned to draw.
        """
        if not isinstance(self._plan, PlannedChoices):
            raise InputError(
                f"{self._plan.query.name}: its plan has no scale to draw by: ask for noise instead",
                code="plan-without-scale",
            )
        hidden = self._named(stream, held, scores)
        self._chosen.append(hidden)
        return exponential_choice(self._key, scores, scale=self._plan.scale, stream=hidden)

    def sum_of_noised(
        self,
        noised: Callable[[HolderNoise], Iterable[Int64[np.ndarray, " dim"]]],
        stream: tuple[str, ...],
        dim: int,
    ) -> Int64[np.ndarray, " dim"]:
        """Return the sum of what the data holders send, each with noise of its own (aggregation `local`).

        Args:
            noised: Returns sums of what the holders send, each holder in one of them, with the noise that it is given.
            stream: The name of the sum; a holder's noise is bound to its code and to what it sends, too.
            dim: Width of a message.

        Raises:
            ValueError: the release was confirmed already.
        """
        self._validate_open()
        total = np.zeros(dim, dtype=np.int64)
        for some in noised(HolderNoise(self._noise(), (*stream, *self._sample))):
            total += some
        self._hidden += self._named(stream, self.samples, total)
        return total

    def confirm(self) -> None:
        """Have the guard record the release, whose result is about to be returned.

        Raises:
            ValueError: no noise was drawn for it.
        """
        hidden = [*self._hidden, *(part for one in sorted(self._chosen) for part in one)]
        if not hidden:
            raise InputError(
                f"{self._plan.query.name}: nothing was asked, and it is charged: ask at least once, or leave the "
                "release out",
                code="charged-but-not-asked",
                value=self._plan.query.name,
            )
        receipt = keyed_bytes(self._key, 16, ("receipt", *hidden)).hex()
        current().confirm(self._plan.release, self._plan.query.round, receipt, self._draw)

    def close(self) -> None:
        """Refuse all further noise."""
        self._open = False

    def _named(
        self, stream: tuple[str, ...], held: PrivateSamples, sums: Int64[np.ndarray, "*shape"]
    ) -> tuple[str, ...]:
        """Return what binds noise to its stream, the units asked, the samples, and sums or scores of them.

        Raises:
            ValueError: the release was confirmed already.
        """
        self._validate_open()
        return (*stream, *self._sample, f"{held.digest} {digest(sums)}")

    def _noise(self) -> Noise:
        if not isinstance(self._plan, PlannedNoise):
            raise InputError(
                f"{self._plan.query.name}: its plan has no noise to add: draw by it instead", code="plan-without-noise"
            )
        return Noise(self._key, self._plan.stddev_on_grid)

    def _validate_open(self) -> None:
        if not self._open:
            raise InputError(
                f"{self._plan.query.name}: noise is drawn within the release, before it is confirmed",
                code="noise-drawn-outside-release",
                value=self._plan.query.name,
            )


@contextmanager
def charged_releases(
    plans: Sequence[PlannedRelease], samples: PrivateSamples, ledger: Ledger, key: NoiseKey
) -> Iterator[tuple[Ledger, list[ChargedRelease]]]:
    """Charge and admit the releases; at the end of the block, which draws their noise, confirm them.

    If the block raises, nothing is confirmed: its result is lost, and a repeated block gives the same bytes.

    Args:
        plans: The releases, in the order in which they are charged.
        samples: The samples of all units.
        ledger: The ledger to charge; a later round of a release that covers several needs the charged one.
        key: The run's secret noise key.

    Yields:
        The ledger that was charged for all of them, and each release, with its samples.

    Raises:
        BudgetExceeded: ledger or budget guard refuse one; no private value has been read.
        ValueError: the key is not of the declared source, a later round was not charged for, samples are of units that
            the ledger was not opened for, or the block draws no noise for one of them.
    """
    key.validate_noise_source(ledger.declaration.noise_seed)
    releases = []
    for plan in plans:
        releases.append(ChargedRelease(plan, ledger, key))
        ledger = releases[-1].ledger
    for release in releases:
        release.samples = samples_of(samples, ledger, release.part).in_one_order()
    try:
        yield ledger, releases
        for release in releases:
            release.confirm()
    finally:
        for release in releases:
            release.close()


def _charged(plan: PlannedRelease, ledger: Ledger) -> Ledger:
    """Charge the release; one that covers several rounds is charged by its first."""
    release, round = plan.release, plan.query.round
    if release.rounds == 1 or round == 1:
        return ledger.charge(release)
    if release not in ledger.releases:
        raise InputError(
            f"round {round} of '{release.name}' is charged by round 1, at the same weights, noise and clip norm, "
            "and this ledger has no such entry: hand on the ledger that round 1 returned, or run it again",
            code="release-of-first-round-missing",
            value=release.name,
        )
    return ledger

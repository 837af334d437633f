"""The release mechanism of private prediction: tokens drawn one after another by the exponential mechanism.

Units are dealt to groups by the run's secret and their own code, and each group writes texts of its own. So a unit
takes part in one group's texts, and the privacy cost of a run is that of one group: parallel composition. A token's
score is a public number and the mean of the group's contributions. Each contribution has one number a candidate,
clipped to [-clip, clip], and the mean is taken over the *declared* size of a group: what one unit adds does not depend
on who else is there, and a unit without text adds zeros. Candidates are public.

All tokens of a group's texts are charged before the first, as many as are planned. A text that ends sooner costs as
much: its length is released, and a cost that followed it would be a second release.

Numbers are whole: a contribution is rounded to a grid of 2^-20 of its clip, so sums are exact, and the draw is exact
too (`fedtext.privacy.noise.exponential_choice`). That a unit's contribution depends on itself alone, to the bit, is the
reader's part (`fedtext.algorithms.dp_prediction.next_tokens`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int, Int64

from fedtext.federation.charged_release import ChargedRelease, charged_releases
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.units import Block
from fedtext.params.privacy import Privacy
from fedtext.privacy.bounded_range import largest_range, unit_shift
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.noise import NoiseKey, keyed_bytes
from fedtext.system.errors import InputError

Texts = list[list[int]]  # the tokens of each
SideBySide = Callable[[Callable[[int], Texts], range], Iterable[Texts]]

GRID = 2**20  # points from 0 to the clip
_LARGEST = 2.0**61  # of a public score, which is public already: beyond it sums would not fit


@dataclass(frozen=True)
class PlannedTokens:
    """The public facts of the texts that are to be written.

    Attributes:
        query: The query; `clip_norm` is the clip of each number of a contribution, in nats at temperature 1, and `dim`
            the number of tokens, each of which has as many numbers as candidates.
        release: The release that the ledger is charged with.
        scale: The grid points by which a score must differ to be e times as likely.
        groups: Number of groups.
        texts: Texts that each group writes.
        tokens: The most tokens of a text.
    """

    query: Query
    release: Release
    scale: float
    groups: int
    texts: int
    tokens: int


def planned_tokens(
    name: str, declaration: Privacy, *, shift: float, group_size: int, groups: int, texts: int, tokens: int,
    temperature: float,
) -> PlannedTokens:  # fmt: skip
    """Plan texts with the largest clip at which a group's texts cost at most a Gaussian release of this shift.

    Raises:
        ValueError: the declaration has no curator who sees the text, samples units, or lets a replaced unit change
            groups; or there are too many tokens.
    """
    _validate(name, declaration)
    range_ = largest_range(shift, texts * tokens)  # of a token, in nats
    clip = range_ * group_size * temperature / 2
    release = Release(
        name=name,
        round=0,
        mechanism=f"exponential mechanism on {texts * tokens} tokens of a group of {group_size}, range {range_:.4g} "
        "nats a token, accounted as the Gaussian noise that dominates it",
        sensitivity=clip,
        noise_stddev=clip / unit_shift(range_, texts * tokens),
        unit=declaration.unit,
    )
    query = Query(name=name, round=0, dim=texts * tokens, clip_norm=clip, noise_multiplier=release.noise_multiplier)
    return PlannedTokens(query, release, 2 * GRID / range_, groups, texts, tokens)


def _validate(name: str, declaration: Privacy) -> None:
    if declaration.aggregation != "trusted":
        raise InputError(
            f"privacy.aggregation is {declaration.aggregation}: in {name} a curator shows the private text to a model "
            "for every token; set privacy.aggregation to trusted if you hold the table, or run popri",
            code="aggregation-not-trusted",
            parameter="privacy.aggregation",
            value=declaration.aggregation,
        )
    if declaration.sampling != "full":
        raise InputError(
            f"privacy.sampling is {declaration.sampling}: each {declaration.unit} is in one group of {name}, and none "
            "is left out; set privacy.sampling to full, and leave clients_per_round out",
            code="units-are-left-out",
            parameter="privacy.sampling",
            value=declaration.sampling,
        )
    if declaration.unit == "record" and declaration.adjacency == "replace_one":
        raise InputError(
            f"privacy.adjacency is replace_one and privacy.unit record: a record that is replaced may change groups of "
            f"{name}, and both would pay; set privacy.adjacency to zero_out or add_remove",
            code="replaced-record-changes-groups",
            parameter="privacy.adjacency",
            value=declaration.adjacency,
        )


@dataclass(frozen=True)
class Candidates:
    """The tokens that may come next, from public values alone.

    Attributes:
        tokens: Their numbers.
        nats: Their public scores: the logarithm of their odds where no unit contributes.
    """

    tokens: Int[np.ndarray, " candidate"]
    nats: Float[np.ndarray, " candidate"]


@runtime_checkable
class Reader(Protocol):
    """What a group's texts are written from: public candidates, and what each unit of the group says of them."""

    def candidates(self, written: Sequence[int]) -> Candidates | None:
        """Return the candidates behind the tokens written so far; None if the text is complete."""

    def contributions(self, candidates: Candidates) -> Block:
        """Return a row of each unit of the group that has text, one number a candidate, not yet clipped."""


def release_texts(
    plan: PlannedTokens,
    reader_of: Callable[[PrivateSamples, int, int], Reader],
    samples: PrivateSamples,
    ledger: Ledger,
    key: NoiseKey,
    side_by_side: SideBySide = map,
) -> tuple[Texts, Ledger]:
    """Write all planned texts, groups side by side, and return their tokens and the charged ledger.

    The same call gives the same bytes, on any number of cores.

    Args:
        plan: The plan that the ledger was opened for, with the digest of its public inputs (`Query.about`).
        reader_of: Makes the reader of one text, from the samples of the group's units, the group and the text's number.
        samples: The samples of all units.
        ledger: The ledger to charge.
        key: The run's secret noise key.
        side_by_side: Maps a function over the numbers of the groups, in their order; each group is computed by itself.

    Raises:
        BudgetExceeded: ledger or budget guard refuse; no private value has been read.
        ValueError: `charged_releases` raises it, or a reader's rows are not of the group's units, or not as wide as
            there are candidates.
    """
    with charged_releases([plan], samples, ledger, key) as (charged, [release]):
        held = release.samples
        units = np.unique(held.unit)
        group = group_of(units, plan, key)

        def written(number: int) -> Texts:
            own = held.of_units(units[group == number])
            return [
                _text(plan, release, reader_of(own, number, text), own, (f"group {number}", f"text {text}"))
                for text in range(plan.texts)
            ]

        texts = [text for of_group in side_by_side(written, range(plan.groups)) for text in of_group]
    return texts, charged


def group_of(units: Int64[np.ndarray, " unit"], plan: PlannedTokens, key: NoiseKey) -> Int64[np.ndarray, " unit"]:
    """Return the group of each unit, by the run's secret and its own code alone."""
    drawn = b"".join(keyed_bytes(key, 8, ("group", plan.query.name, str(unit))) for unit in units.tolist())
    return np.asarray(np.frombuffer(drawn, dtype="<u8") % np.uint64(plan.groups), dtype=np.int64)


def _text(
    plan: PlannedTokens, release: ChargedRelease, reader: Reader, own: PrivateSamples, place: tuple[str, ...]
) -> list[int]:
    stream = (plan.release.stream_name(), *plan.query.draw, *place)
    tokens: list[int] = []
    while len(tokens) < plan.tokens and (candidates := reader.candidates(tokens)) is not None:
        scores = _public(candidates, plan.scale) + _sum(reader.contributions(candidates), candidates, plan, own)
        chosen = release.chosen(scores, own, (*stream, f"token {len(tokens)}"))
        tokens.append(int(candidates.tokens[chosen]))
    return tokens


def _public(candidates: Candidates, scale: float) -> Int64[np.ndarray, " candidate"]:
    points = np.clip(candidates.nats * scale, -_LARGEST, _LARGEST)
    return np.rint(points).astype(np.int64)


def _sum(
    said: Block, candidates: Candidates, plan: PlannedTokens, own: PrivateSamples
) -> Int64[np.ndarray, " candidate"]:
    units = said.unit
    if len(np.unique(units)) < len(units) or not np.isin(units, own.unit).all():
        raise InputError(
            f"{plan.query.name}: a unit contributes that is not of the group, or contributes twice",
            code="contribution-of-another-group",
        )
    if said.rows.shape != (len(units), len(candidates.tokens)):
        raise InputError(
            f"{plan.query.name}: rows of shape {said.rows.shape} of {len(units)} units and {len(candidates.tokens)} "
            "candidates: each unit has one number a candidate",
            code="contribution-of-another-width",
        )
    return np.asarray(on_grid(said.rows, plan.query.clip_norm).sum(axis=0))


def on_grid(rows: Float[np.ndarray, "unit candidate"], clip: float) -> Int64[np.ndarray, "unit candidate"]:
    """Return each row clipped to [-clip, clip] in every number, in grid points; zeros for one that is not finite.

    Whether a token is drawn must not depend on one unit, so a row with NaN or an infinity says nothing.
    """
    points = np.rint(np.clip(rows, -clip, clip) / clip * GRID)
    return np.where(np.isfinite(rows).all(axis=1, keepdims=True), points, 0.0).astype(np.int64)

"""The tally of a vote: the noisy sum of the sampled units' ballots on all candidates, all classes and parts together.

In conditional generation a sample votes on candidates of its own class only, but a unit's ballot is ONE vector over the
candidates of all classes, clipped once, as a whole, by the mechanism: nothing else depends on how many samples a unit
or a class has. The same holds for the parts of a ballot, such as similar and dissimilar votes: they are one vector
under one clip.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from fedtext.federation.federation import Federation
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Parts, Query
from fedtext.federation.question import Question, classes_name
from fedtext.federation.units import Block, digest
from fedtext.privacy.ledger import Ledger
from fedtext.voting.ballots import nearest_histogram_blocks, top_q_blocks

UNCLIPPED = float(np.finfo(np.float32).max)  # the mechanism clips the whole ballot; a class's part alone stays as it is

Embeddings = Float[np.ndarray, "row dim"]
Ballots = Iterator[Float[np.ndarray, "unit candidate"]]
BallotFunction = Callable[[Embeddings, Int[np.ndarray, " sample"], int, Embeddings], Ballots]


@dataclass(frozen=True)
class Candidates:
    """The candidates of a vote: unit embeddings, the class of each, and a mask of those that can get votes."""

    embeddings: Float[np.ndarray, "candidate dim"]
    label: Int[np.ndarray, " candidate"]
    voted_on: Bool[np.ndarray, " candidate"]

    @property
    def public_digest(self) -> str:
        """Digest of the public inputs of a ballot."""
        return digest(self.embeddings, self.label)


@dataclass(frozen=True)
class Ballot:
    """A unit's ballot on candidates: in each named part one number a candidate, and one clip for all parts together.

    A part is computed as `cast(features, unit, units, candidates)`: the ballots of one class, unclipped, in blocks of
    units that depend neither on the class nor on the part. `rule` says how a unit votes, and nothing else: it is in
    the name of the noise, so that two rules that give equal sums share none. `settings` are all of the algorithm's
    parameters: they are in the name of the sample of units.
    """

    parts: Mapping[str, BallotFunction]
    settings: str
    rule: str

    def layout(self, candidates: int) -> Parts:
        """Return the places of the parts in a joint ballot on so many candidates."""
        return Parts(dict.fromkeys(self.parts, candidates))


def nearest_ballot(part: str, nearest: int, settings: str) -> Ballot:
    """Return the ballot of equal votes: each of a unit's samples for the `nearest` candidates, in one part."""
    if nearest == 1:
        cast: BallotFunction = partial(nearest_histogram_blocks, clip_norm=UNCLIPPED)
    else:
        cast = partial(top_q_blocks, votes=nearest, equal=True)
    return Ballot({part: cast}, settings, rule=f"nearest {nearest}")


class Vote(Question):
    """The question of a vote: the units' ballots on candidates.

    Attributes:
        embeddings: The candidates' unit embeddings, or zeros for an empty text.
        label: The class of each.
    """

    embeddings: np.ndarray
    label: np.ndarray

    @property
    @abstractmethod
    def ballot(self) -> Ballot:
        """How a unit votes."""

    @property
    def rule(self) -> str:
        """How a unit votes, and the classes that its samples are told apart by: both name the noise."""
        return f"{self.ballot.rule} {classes_name(self.classes)}" if self.classes else self.ballot.rule

    @property
    def voted_on(self) -> Bool[np.ndarray, " candidate"]:
        """Mask of the candidates that can get votes."""
        return np.ones(len(self.label), dtype=bool)

    @property
    def candidates(self) -> Candidates:
        """The candidates."""
        return Candidates(self.embeddings, self.label, self.voted_on)

    def blocks(self, held: PrivateSamples) -> Iterator[Block]:
        """Implement Question."""
        return joint_ballots(held, self.candidates, self.ballot)


class Tally(NamedTuple):
    """The noisy scores of the candidates, part by part, and the ledger that was charged for them."""

    scores: dict[str, Float[np.ndarray, " candidate"]]
    ledger: Ledger


def noised_tally(query: Query, vote: Vote, federation: Federation, ledger: Ledger) -> Tally:
    """Release the noisy sum of the sampled units' ballots, and charge the ledger.

    The query's width becomes that of the ballot on these candidates: a round with fewer candidates than planned has
    fewer coordinates, at the planned privacy cost. A candidate that cannot get votes gets only noise.

    Raises:
        BudgetExceeded: the release would overdraw the budget; no private value has been read.
    """
    ballot, candidates = vote.ballot, vote.candidates
    layout = ballot.layout(len(candidates.label))
    asked = replace(query, dim=layout.dim).about(f"{candidates.public_digest} {vote.rule}", ballot.settings)
    total, charged = federation.summed(asked, vote, ledger)
    return Tally(layout.read(total), charged)


def joint_ballots(samples: PrivateSamples, candidates: Candidates, ballot: Ballot) -> Iterator[Block]:
    """Yield blocks of unclipped ballots, all parts over all candidates; units without samples have no row."""
    present, layout = np.unique(samples.unit), ballot.layout(len(candidates.label))
    columns, ballots = [], []
    for name, cast in ballot.parts.items():
        for c in np.unique(candidates.label[candidates.voted_on]):
            held, own = samples.of_class(int(c)), np.flatnonzero((candidates.label == c) & candidates.voted_on)
            columns.append(layout.places[name].start + own)
            unit = np.searchsorted(present, held.unit)
            ballots.append(cast(held.features, unit, len(present), candidates.embeddings[own]))
    first = 0
    for blocks in zip(*ballots, strict=True):
        joint = np.zeros((len(blocks[0]), layout.dim))
        for own, block in zip(columns, blocks, strict=True):
            joint[:, own] = block
        yield Block(present[first : first + len(joint)], joint)
        first += len(joint)

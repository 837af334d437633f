"""Phase 2: selection of the written texts by the weak silos' votes, by their mean embeddings, or at random."""

from __future__ import annotations

from functools import partial

import numpy as np
from jaxtyping import Float, Int

from fedtext.algorithms.flexible.profile import pick_counts
from fedtext.federation.federation import Federation
from fedtext.federation.query import Query
from fedtext.params.flexible import Flexible
from fedtext.privacy.ledger import Ledger
from fedtext.seeding import stream
from fedtext.voting.ballots import top_q_blocks
from fedtext.voting.selection import herd, resampled
from fedtext.voting.tally import Ballot, Candidates, Vote, noised_tally

CELLS = 2**22  # numbers in a block of ballots: 32 MB
Embeddings = Float[np.ndarray, "text dim"]
Labels = Int[np.ndarray, " text"]


def candidates_of(embeddings: Embeddings, label: Labels) -> Candidates:
    """Return all written texts as candidates: none is empty."""
    return Candidates(embeddings, label, np.ones(len(label), dtype=bool))


def ballot(texts: int, params: Flexible) -> Ballot:
    """Return a record's ballot: one vote for each of the K nearest texts of its code (Algorithm A.2)."""
    block = max(1, CELLS // max(texts, 1))
    cast = partial(top_q_blocks, votes=params.votes_per_record, equal=True, block=block)
    settings = repr(("nearest", params.votes_per_record, params.labels))
    return Ballot({"near": cast}, settings, rule=f"nearest {params.votes_per_record}")


class NearestVotes(Vote):
    """The question of a unit's votes for the texts of its records' codes."""

    flexible: Flexible

    @property
    def classes(self) -> tuple[str, ...]:
        """The declared codes."""
        return self.flexible.labels

    @property
    def ballot(self) -> Ballot:
        """How a unit votes."""
        return ballot(len(self.label), self.flexible)


def noised_votes(
    query: Query, federation: Federation, candidates: Candidates, params: Flexible, ledger: Ledger
) -> tuple[Float[np.ndarray, " text"], Ledger]:
    """Release the votes, and charge every weak silo in the ledger."""
    vote = NearestVotes(flexible=params, embeddings=candidates.embeddings, label=candidates.label)
    tally = noised_tally(query, vote, federation, ledger)
    return tally.scores["near"], tally.ledger


def kept_by_votes(scores: Float[np.ndarray, " text"], label: Labels, params: Flexible) -> Int[np.ndarray, " kept"]:
    """Sample the rows of kept texts in proportion to votes, or uniformly where there is no vote (Algorithm A.4)."""
    voted = scores if len(scores) else np.zeros(len(label))
    picks = _picks(label, params)
    return resampled(voted, label, picks, stream(params.seed, "resampling"))


def kept_by_means(
    means: Float[np.ndarray, "code dim"], embeddings: Embeddings, label: Labels, params: Flexible
) -> Int[np.ndarray, " kept"]:
    """Select rows whose mean matches each code's released direction, at the length of its texts' own mean."""
    if not len(means):
        return kept_by_votes(np.zeros(0), label, params)
    found = []
    for code, count in enumerate(_picks(label, params)):
        own = np.flatnonzero(label == code)
        if not count:
            continue
        texts = embeddings[own].astype(np.float64)
        length = np.linalg.norm(means[code])
        direction = means[code] / length if length > 0 else means[code]
        found.append(own[herd(texts, np.linalg.norm(texts.mean(axis=0)) * direction, count)])
    return np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def _picks(label: Labels, params: Flexible) -> list[int]:
    if not len(label):
        return [0] * len(params.classes)
    return pick_counts(np.bincount(label, minlength=len(params.classes)).tolist(), params)

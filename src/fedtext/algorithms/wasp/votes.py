"""How units judge the texts so far: by near and far votes with noise, by one release for all rounds, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from fedtext.algorithms.wasp.budget import clip_norm
from fedtext.embedding.blanks import written
from fedtext.federation.blocks import Block
from fedtext.federation.digest import digest
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import Answer, answer
from fedtext.params.wasp import Wasp
from fedtext.privacy.clipping import clip_rows
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.seeding import stream
from fedtext.voting.tally import Ballot, Candidates, joint_ballots, noised_tally
from fedtext.voting.top_q import top_q_blocks

NEAR, FAR = 0, 1  # rows of the scores; the second is there with contrast alone
CELLS = 2**22  # numbers in a block of ballots: 32 MB
Scores = Float[np.ndarray, "part candidate"]  # as `Wasp.parts`


def candidates_of(embeddings: Float[np.ndarray, "candidate dim"], label: Int[np.ndarray, " candidate"]) -> Candidates:
    """All texts so far; an empty one gets no vote."""
    return Candidates(embeddings, label, written(embeddings))


def top_q_ballot(candidates: int, wasp: Wasp) -> Ballot:
    """A unit's ballot: near votes, beside far ones where there are any, as wide blocks as memory allows."""
    block = max(1, CELLS // max(len(wasp.parts) * candidates, 1))
    cast = partial(top_q_blocks, votes=wasp.votes_per_record, block=block)
    return Ballot({part: partial(cast, furthest=part == "far") for part in wasp.parts}, settings=_told(wasp))


def noised_votes(
    query: Query, samples: PrivateSamples, candidates: Candidates, wasp: Wasp, ledger: Ledger, key: NoiseKey
) -> tuple[Scores, Ledger]:
    """The release of a round: near and far votes (Algorithm 1, lines 7-8), and the ledger that paid for them."""
    tally = noised_tally(query, top_q_ballot(len(candidates.label), wasp), candidates, samples, ledger, key)
    return np.stack([tally.scores[part] for part in wasp.parts]), tally.ledger


def noised_model_sums(
    query: Query,
    samples: PrivateSamples,
    candidates: Candidates,
    model: Int[np.ndarray, " candidate"],
    wasp: Wasp,
    ledger: Ledger,
    key: NoiseKey,
) -> Answer:
    """The models' near votes, added up by the units themselves, and the ledger that paid for them."""
    ballot, writer = top_q_ballot(len(model), wasp), np.eye(query.dim)[model]

    def sums(held: PrivateSamples) -> Iterator[Block]:
        near = Ballot({"near": ballot.parts["near"]}, ballot.settings)
        for block in joint_ballots(held, candidates, near):
            yield Block(block.unit, block.rows @ writer)  # exact: votes are multiples of one power of two

    asked = query.about(digest(candidates.embeddings, candidates.label, model), ballot.settings)
    return answer(asked, sums, samples, ledger, key)


def plain_votes(samples: PrivateSamples, candidates: Candidates, wasp: Wasp) -> Scores:
    """The clipped votes without noise: no mechanism, so whoever asks must say so to gate and ledger."""
    total = np.zeros(len(wasp.parts) * len(candidates.label))
    for block in joint_ballots(samples, candidates, top_q_ballot(len(candidates.label), wasp)):
        total += clip_rows(block.rows, clip_norm(wasp)).sum(axis=0)
    return total.reshape(len(wasp.parts), -1)


def random_scores(candidates: int, round_number: int, wasp: Wasp) -> Scores:
    """A control: what the votes would say if they said nothing."""
    return stream(wasp.seed, "random votes", round_number).random((len(wasp.parts), candidates))


def _told(wasp: Wasp) -> str:
    """What units are told beside the candidates."""
    return repr(("top-q", wasp.votes_per_record, wasp.labels, wasp.clip_norm))

"""DP-RFT (Xu et al., "Learning to Generate Synthetic Text via Differentially Private Reinforcement Fine-Tuning", 2026).

The generator writes candidates, the private samples vote for the nearest of them, and the noisy votes are the reward by
which the generator is trained (`fedtext.training.policy_gradient`). Every round is one release. Private text is read by
the votes alone: nobody has to hold it where a model is trained.

What differs from the paper: the reward is less the mean of the prompt's other texts in place of a value model's
estimate, and there is no penalty on the distance from the public model; few rounds and a clipped ratio keep it near.
A unit's votes are clipped together, and noise is an exact discrete Gaussian.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from fedtext.embedding.nonempty import nonempty_mask
from fedtext.federation.federation import Federation
from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.query import Query
from fedtext.generation import few_shot
from fedtext.generation.prompt_forms import prompt_form
from fedtext.params.dp_rft import DpRft
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.plan import planned_multiplier
from fedtext.privacy.signal import Votes
from fedtext.seeding import stream
from fedtext.voting.tally import Ballot, Vote, nearest_ballot, noised_tally

NAME, VOTES = "dp_rft", "votes"


def planned_query(params: DpRft, privacy: Privacy, population: int, round_number: int) -> Query:
    """Plan a round's votes, at the noise that all rounds together may have."""
    return Query(
        name=f"{NAME}.votes",
        round=round_number,
        dim=params.prompts * params.responses,
        clip_norm=params.clip_norm,
        noise_multiplier=planned_multiplier(privacy, population, params.rounds, non_negative=True),
        non_negative=True,
        use=Votes(),
    )


def planned_ledger(population: int, params: DpRft, privacy: Privacy) -> Ledger:
    """Return an empty ledger for `population` units, before any of them is read.

    Raises:
        BudgetExceeded: a vote in every round would overdraw the budget.
        ValueError: the declaration is invalid for this population.
    """
    queries = [planned_query(params, privacy, population, number) for number in range(1, params.rounds + 1)]
    return opened_ledger(queries, privacy, population)


class CandidateVotes(Vote):
    """The question of a unit's votes for the nearest candidates; an empty one can get none."""

    dp_rft: DpRft

    @property
    def ballot(self) -> Ballot:
        """Every sample votes for its nearest candidates."""
        return nearest_ballot(VOTES, self.dp_rft.nearest, self.dp_rft.model_dump_json())

    @property
    def voted_on(self) -> Bool[np.ndarray, " candidate"]:
        """Mask of the candidates that are texts."""
        return nonempty_mask(self.embeddings)


def noised_votes(
    query: Query, federation: Federation, embeddings: Float[np.ndarray, "candidate dim"], params: DpRft, ledger: Ledger
) -> tuple[Float[np.ndarray, " candidate"], Ledger]:
    """Release the noisy votes of all candidates, and charge the ledger."""
    asked = CandidateVotes(dp_rft=params, embeddings=embeddings, label=np.zeros(len(embeddings), dtype=np.int64))
    tally = noised_tally(query, asked, federation, ledger)
    return tally.scores[VOTES], tally.ledger


def prompts(public: pd.DataFrame, params: DpRft, stage: str, count: int) -> pd.DataFrame:
    """Draw `count` prompts of public samples: columns `prompt_id`, `prompt`, `label` (none)."""
    return few_shot.draw_prompts(
        public,
        np.arange(len(public)),
        count=count,
        classes=[None],
        form=prompt_form(params.sampler),
        rng=stream(params.seed, "prompts", stage),
        examples=params.sampler.examples,
    )

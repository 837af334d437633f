"""WASP's planned releases, their rounds and noise, before a private value is read.

With `top_q` there is a vote after every round but the last, whose votes would not be used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.query import Parts, Query
from fedtext.params.privacy import Privacy
from fedtext.params.wasp import Wasp
from fedtext.privacy import plan
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.parties import Party
from fedtext.privacy.signal import Votes
from fedtext.system.errors import InputError
from fedtext.voting.ballots import ballot_norm, ballot_total

VOTES, MODEL_SUMS, CLASS_MEANS = "wasp.votes", "wasp.model_sums", "wasp.class_means"
SUMS_SHARE = 0.1  # share of the budget, in squared shifts, of the models' sums where they are a separate release
MEANS_CLIP = 1.0  # norm of a record's embedding
PUBLISHED_SENSITIVITY = 2.0  # 'Delta = 4' for near and far votes together: an L1 bound of either (Appendix D)


def clip_norm(wasp: Wasp) -> float:
    """Return the L2 clip norm of a unit's whole ballot: as declared, or one record's own norm."""
    return record_norm(wasp) if wasp.clip_norm is None else wasp.clip_norm


def record_norm(wasp: Wasp) -> float:
    """Return the L2 norm of one record's ballot: of its near votes, and of far ones where there are any."""
    return ballot_norm(wasp.votes_per_record, len(wasp.parts))


def vote_rounds(wasp: Wasp) -> range:
    """Return the rounds after which units vote: all but the last."""
    return range(1, wasp.rounds)


def votes_query(wasp: Wasp, privacy: Privacy, population: int, round_number: int) -> Query:
    """Plan near and far votes on all texts as one vector (section 4.4); without contrast near votes alone (Table 4).

    Raises:
        ValueError: there is no vote in this round.
    """
    if round_number not in vote_rounds(wasp):
        raise InputError(
            f"no vote is cast in round {round_number} of {wasp.rounds}: nothing would be made of the last one; raise "
            "wasp.rounds if there is to be another round",
            code="last-round-without-vote",
            parameter="wasp.rounds",
            value=wasp.rounds,
        )
    texts = wasp.texts_until(round_number)
    share = 1 - SUMS_SHARE if wasp.model_sums else 1.0
    return Query(
        name=VOTES,
        round=round_number,
        dim=Parts.of(**dict.fromkeys(wasp.parts, texts)).dim,
        clip_norm=clip_norm(wasp),
        noise_multiplier=_vote_multiplier(wasp, privacy, population) / math.sqrt(share),
        non_negative=True,
        use=Votes(),
    )


def model_sums_query(wasp: Wasp, privacy: Privacy, population: int, round_number: int, models: int) -> Query:
    """Plan the sums of each model's near votes, which have far less noise than sums of noisy votes."""
    whole = votes_query(wasp, privacy, population, round_number)
    return Query(
        name=MODEL_SUMS,
        round=round_number,
        dim=models,
        clip_norm=ballot_total(wasp.votes_per_record) * clip_norm(wasp) / record_norm(wasp),
        noise_multiplier=whole.noise_multiplier * math.sqrt((1 - SUMS_SHARE) / SUMS_SHARE),
        non_negative=True,
        use=Votes(),
    )


def class_means_query(wasp: Wasp, privacy: Privacy, population: int, embedding_dim: int) -> Query:
    """Plan one sum of embeddings per class for all rounds together (ours)."""
    return Query(
        name=CLASS_MEANS,
        round=0,
        dim=len(wasp.classes) * embedding_dim,
        clip_norm=MEANS_CLIP,
        noise_multiplier=plan.planned_multiplier(privacy, population, releases=1),
    )


def planned_queries(
    wasp: Wasp, privacy: Privacy, population: int, *, models: int, embedding_dim: int
) -> Sequence[Query]:
    """Return all planned queries."""
    if wasp.votes == "single_release":
        return [class_means_query(wasp, privacy, population, embedding_dim)]
    if wasp.votes != "top_q":
        return []
    queries = []
    for round_number in vote_rounds(wasp):
        queries.append(votes_query(wasp, privacy, population, round_number))
        if wasp.model_sums:
            queries.append(model_sums_query(wasp, privacy, population, round_number, models))
    return queries


def planned_ledger(
    population: int,
    wasp: Wasp,
    privacy: Privacy,
    *,
    models: int,
    embedding_dim: int,
    parties: Sequence[Party] = (),
) -> Ledger:
    """Return an empty ledger for `population` units, before any private text is embedded.

    `parties`: all holders of the units, where each is a silo with a budget of its own.

    Raises:
        BudgetExceeded: the planned releases would overdraw the budget.
        ValueError: the declaration is invalid for this population, or its noise belongs to another form.
    """
    if wasp.model_sums and privacy.sampling != "full":
        raise InputError(
            f"wasp.model_sums is true and privacy.sampling {privacy.sampling}: the budget is shared out as Gaussians "
            "without sampling compose; set one of the two to false or full",
            code="model-sums-with-sampling",
            parameter="wasp.model_sums",
            value=True,
        )
    queries = planned_queries(wasp, privacy, population, models=models, embedding_dim=embedding_dim)
    ledger = opened_ledger(queries, privacy, population, parties=parties)
    return ledger.model_copy(update={"planned_unaccounted": wasp.votes == "none"})


def _vote_multiplier(wasp: Wasp, privacy: Privacy, population: int) -> float:
    """Return the multiplier of all rounds' votes: calibrated to the budget, or the paper's (`published_stddev`)."""
    if privacy.calibration == "published" and privacy.noise_multiplier is None:
        return published_stddev(wasp, privacy) / record_norm(wasp)
    return plan.planned_multiplier(privacy, population, len(vote_rounds(wasp)), non_negative=True)


def published_stddev(wasp: Wasp, privacy: Privacy) -> float:
    """Return the paper's deviation, Delta sqrt(2 ln(1.25/delta_iter)) sqrt(T-1) / epsilon, 9.690 at its values.

    It is the same for any Q. delta_iter is that of a round (Table 14), by default the declared one. The classical
    formula at an L1 bound gives far more noise than the budget requires, so less of the budget is spent.
    """
    delta = privacy.delta if wasp.round_delta is None else wasp.round_delta
    classical = math.sqrt(2 * math.log(1.25 / delta))
    return len(wasp.parts) * PUBLISHED_SENSITIVITY * classical * math.sqrt(wasp.rounds - 1) / privacy.epsilon

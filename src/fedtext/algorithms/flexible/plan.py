"""Planned releases of flexible participation, their silos and noise, before a private value is read.

Strong silos spend budget on their DP-SGD and the profile, weak ones on the profile and their votes. The profile's noise
is declared. A silo's other release gets the rest of its budget, by the joint privacy loss distribution. The published
form gives each of the two an epsilon and half of delta, and adds up.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

from fedtext.federation.mechanism import opened_ledger, planned_release
from fedtext.federation.query import Query
from fedtext.federation.silos import STRONG, WEAK, of_kind
from fedtext.params.flexible import Flexible
from fedtext.params.privacy import Privacy, Sampling
from fedtext.privacy.accounting import SampledGaussian
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.parties import Party
from fedtext.privacy.plan import batch_rate, planned_multiplier, within_party
from fedtext.privacy.signal import Training, Use, Vector, Votes
from fedtext.system.errors import InputError

LOG = logging.getLogger(__name__)
DP_SGD, PROFILE, VOTES, MEANS = "flexible.dp_sgd", "flexible.profile", "flexible.votes", "flexible.means"
BATCH = "flexible.training.batch_size"
RECORD_NORM = 1.0  # norm of a record's counts, of one code, and of its embedding
Parties = Sequence[Party]


def profile_query(params: Flexible, privacy: Privacy) -> Query:
    """Plan the counts of records of each code, in all silos together (Equation 4)."""
    stddev = params.profile_stddev
    if _as_published(privacy):
        stddev = _phase_multiplier(privacy, params.profile_epsilon)
    return Query(PROFILE, 0, len(params.classes), RECORD_NORM, stddev / RECORD_NORM, non_negative=True)


def dp_sgd_queries(params: Flexible, privacy: Privacy, parties: Parties, *, dim: int) -> list[Query]:
    """Plan all steps of each strong silo (Algorithm A.3), with noise for its own budget and size."""
    training = params.training
    return [
        Query(
            name=DP_SGD,
            round=0,
            dim=dim,
            clip_norm=training.clip_norm,
            noise_multiplier=_dp_sgd_multiplier(params, privacy, party),
            parties=(party.name,),
            batch=training.batch_size,
            steps=training.steps,
            own=True,
            use=Training(),
        )
        for party in sorted(of_kind(parties, STRONG), key=lambda party: party.name)
    ]


def votes_query(params: Flexible, privacy: Privacy, parties: Parties) -> Query | None:
    """Plan the weak silos' votes for the texts (Algorithm A.2); None where no silo is weak."""
    norm = math.sqrt(params.votes_per_record)
    return _of_weak(
        VOTES, params, privacy, parties, dim=params.candidates, clip_norm=norm, non_negative=True, use=Votes()
    )


def means_query(params: Flexible, privacy: Privacy, parties: Parties, *, embedding_dim: int) -> Query | None:
    """Plan a sum of the weak silos' embeddings per code (ours, `selection: herd`), at the privacy cost of the votes."""
    dim = len(params.classes) * embedding_dim
    return _of_weak(MEANS, params, privacy, parties, dim=dim, clip_norm=RECORD_NORM, non_negative=False, use=Vector())


def planned_ledger(parties: Parties, params: Flexible, privacy: Privacy, *, dim: int, embedding_dim: int) -> Ledger:
    """Return an empty ledger of the silos, before any of their units is read.

    Args:
        parties: All silos (`fedtext.federation.silos.parties_of`).
        params: Parameters of the run.
        privacy: Privacy declaration of the run.
        dim: Number of trained weights.
        embedding_dim: Dimension of the encoder's embeddings.

    Raises:
        BudgetExceeded: the planned releases would overdraw a silo's budget.
        ValueError: sizes of silos are not public (add_remove), a batch is larger than a silo, or the declaration is
            invalid for one.
    """
    if privacy.adjacency == "add_remove":
        raise InputError(
            "privacy.adjacency is add_remove, but how many units a silo holds is public: declare zero_out or "
            "replace_one",
            code="adjacency-hides-public-counts",
            parameter="privacy.adjacency",
            value="add_remove",
        )
    population = sum(party.population for party in parties)
    _warn_of_delta(privacy, population)
    queries = planned_queries(parties, params, privacy, dim=dim, embedding_dim=embedding_dim) if params.noise else []
    ledger = opened_ledger(queries, privacy, population, parties=parties)
    return ledger.model_copy(update={"planned_unaccounted": not params.noise})


def planned_queries(
    parties: Parties, params: Flexible, privacy: Privacy, *, dim: int, embedding_dim: int
) -> list[Query]:
    """Return all planned queries, in order."""
    chosen = {
        "votes": lambda: votes_query(params, privacy, parties),
        "herd": lambda: means_query(params, privacy, parties, embedding_dim=embedding_dim),
    }.get(params.selection, lambda: None)()
    queries = [*dp_sgd_queries(params, privacy, parties, dim=dim), profile_query(params, privacy)]
    return [*queries, *([] if chosen is None else [chosen])]


def _dp_sgd_multiplier(params: Flexible, privacy: Privacy, party: Party) -> float:
    """Return the least multiplier of one silo's steps that its budget allows beside the profile."""
    training, held = params.training, party.population
    if training.batch_size > held:
        raise InputError(
            f"{BATCH} is {training.batch_size}, but {party} holds {held} {privacy.unit}s: lower "
            "it, or let larger silos train (silos.strong)",
            code="batch-above-silo",
            parameter=BATCH,
            value=training.batch_size,
        )
    within = within_party(privacy.model_copy(update={"epsilon": party.epsilon}))
    if _as_published(privacy):
        rate = batch_rate(within, held, training.batch_size, parameter=BATCH)
        return _phase_multiplier(privacy, _rest(params, privacy), steps=training.steps, rate=rate)
    beside = (_accounted_profile(params, privacy, held),)
    return planned_multiplier(
        within, held, training.steps, batch=training.batch_size, batch_parameter=BATCH, beside=beside
    )


def _of_weak(
    name: str,
    params: Flexible,
    privacy: Privacy,
    parties: Parties,
    *,
    dim: int,
    clip_norm: float,
    non_negative: bool,
    use: Use,
) -> Query | None:
    """Plan a query of all weak silos, with the noise that the smallest of their budgets requires beside the profile."""
    weak = of_kind(parties, WEAK)
    if not weak:
        return None
    if _as_published(privacy):
        noise = _phase_multiplier(privacy, _rest(params, privacy))
    else:
        least = privacy.model_copy(update={"epsilon": min(party.epsilon for party in weak)})
        beside = (_accounted_profile(params, privacy, sum(party.population for party in parties)),)
        held = sum(party.population for party in weak)
        noise = planned_multiplier(least, held, 1, non_negative=non_negative, beside=beside)
    named = tuple(party.name for party in weak)
    return Query(name, 0, dim, clip_norm, noise, non_negative=non_negative, parties=named, use=use)


def _accounted_profile(params: Flexible, privacy: Privacy, population: int) -> SampledGaussian:
    """Return the profile's mechanism for this population; without sampling any population gives the same."""
    return planned_release(profile_query(params, privacy), privacy, population).as_sampled()


def _as_published(privacy: Privacy) -> bool:
    return privacy.calibration == "published" and privacy.noise_multiplier is None


def _rest(params: Flexible, privacy: Privacy) -> float:
    """Return the published epsilon of training or votes: the total less that of the profile."""
    if params.profile_epsilon >= privacy.epsilon:
        raise InputError(
            f"flexible.profile_epsilon is {params.profile_epsilon:g} of privacy.epsilon {privacy.epsilon:g}: nothing "
            "is left for training and votes; lower it",
            code="profile-takes-all",
            parameter="flexible.profile_epsilon",
            value=params.profile_epsilon,
        )
    return privacy.epsilon - params.profile_epsilon


def _phase_multiplier(privacy: Privacy, epsilon: float, *, steps: int = 1, rate: float = 1.0) -> float:
    """Return a phase's multiplier at half of delta, by the analytic Gaussian or DP-SGD of `steps` steps.

    Appendix C: "For each phase, we choose" half of delta. Adjacency is always zero_out of one record, whatever the run
    declares: the published noise knows no other.
    """
    sampling: Sampling = "full" if rate == 1 else "poisson"
    return noise_multiplier(epsilon=epsilon, delta=privacy.delta / 2, rounds=steps, sampling=sampling, rate=rate)


def _warn_of_delta(privacy: Privacy, population: int) -> None:
    """Warn if delta exceeds one over all units, though not one over a silo's: some unit may be fully revealed."""
    if privacy.delta > 1 / population:
        LOG.warning(
            "privacy.delta is %.3g, more than one over all %d %ss: below it for each silo, but not for all of them "
            "together; lower it",
            privacy.delta,
            population,
            privacy.unit,
        )

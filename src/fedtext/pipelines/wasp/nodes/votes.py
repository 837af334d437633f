"""What private records say of the texts so far: the releases of a round."""

from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.wasp import budget, judging, votes
from fedtext.federation.private_samples import PrivateSamples
from fedtext.params.wasp import Wasp
from fedtext.privacy.gate import current
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey

State = dict[str, Any]


def cast_votes(
    private_embeddings: dict[str, np.ndarray],
    private_enrolment: dict[str, np.ndarray],
    private_noise_key: NoiseKey,
    ledger: Ledger,
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    state: State,
    wasp: Wasp,
) -> tuple[np.ndarray, Ledger]:
    """The round's release: near and far votes, one noised sum."""
    samples = PrivateSamples.of(private_embeddings, wasp.labels, ledger.declaration.unit, private_enrolment["unit"])
    voted = votes.candidates_of(candidate_embeddings, judging.label_index(candidates, wasp))
    query = budget.votes_query(wasp, ledger.declaration, ledger.population, state["round"] + 1)
    return votes.noised_votes(query, samples, voted, wasp, ledger, private_noise_key)


def sum_votes_by_model(
    private_embeddings: dict[str, np.ndarray],
    private_enrolment: dict[str, np.ndarray],
    private_noise_key: NoiseKey,
    ledger: Ledger,
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    state: State,
    wasp: Wasp,
) -> tuple[np.ndarray, Ledger]:
    """A further release of the round: each model's near votes together."""
    samples = PrivateSamples.of(private_embeddings, wasp.labels, ledger.declaration.unit, private_enrolment["unit"])
    voted = votes.candidates_of(candidate_embeddings, judging.label_index(candidates, wasp))
    names, number = sorted(state["weights"]), state["round"] + 1
    query = budget.model_sums_query(wasp, ledger.declaration, ledger.population, number, len(names))
    model = judging.model_index(candidates, names)
    total, charged = votes.noised_model_sums(query, samples, voted, model, wasp, ledger, private_noise_key)
    return total, charged


def count_votes_unaccounted(
    private_embeddings: dict[str, np.ndarray],
    private_enrolment: dict[str, np.ndarray],
    ledger: Ledger,
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    state: State,
    wasp: Wasp,
) -> tuple[np.ndarray, Ledger]:
    """`votes: none`: the votes as they are, read without a mechanism, so that epsilon is infinite."""
    name, reason = budget.VOTES, f"the votes of round {state['round'] + 1} were read without noise"
    current().unaccounted(name, reason, ledger)
    samples = PrivateSamples.of(private_embeddings, wasp.labels, ledger.declaration.unit, private_enrolment["unit"])
    voted = votes.candidates_of(candidate_embeddings, judging.label_index(candidates, wasp))
    return votes.plain_votes(samples, voted, wasp), ledger.unaccounted_read(name, f"{reason}, by no mechanism")

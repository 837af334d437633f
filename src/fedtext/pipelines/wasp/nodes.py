"""WASP's nodes: before the rounds, in a round, and after the rounds.

- Before the rounds: ledger, models with equal weights, no texts yet; and the one release, if there is one.
- The releases of a round: votes of private records on the texts so far.
- One round: every model's texts, their scores, the next examples, and the models' weights.
- After the rounds: the synthetic data set, and the rounds' figures for the evaluation.
- Figures of WASP's own: texts by model, examples called good and bad, the balance of classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from plotly.graph_objects import Figure

from fedtext.algorithms.wasp import judging, plan
from fedtext.algorithms.wasp.cost import communication
from fedtext.algorithms.wasp.judging import random_scores
from fedtext.algorithms.wasp.prompts import COLUMNS, chosen_examples
from fedtext.algorithms.wasp.writing import gathered, no_texts, written_texts
from fedtext.corpora.records import SYNTHETIC_COLUMNS
from fedtext.embedding.nonempty import encode_nonempty, nonempty_mask
from fedtext.evaluation.rounds import Rounds
from fedtext.federation.communication import Exchange
from fedtext.federation.federation import Simulated
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import Population
from fedtext.models.encoder import Encoder
from fedtext.models.generator import Generator
from fedtext.params.corpus import Chunking
from fedtext.params.privacy import Privacy
from fedtext.params.wasp import Wasp
from fedtext.privacy.budget_guard import current
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.reporting.figures_wasp import class_balance, example_table, model_shares
from fedtext.voting.class_means import noised_class_means

State = dict[str, Any]


def start_models(**generators: Generator) -> State:
    """Return the state before the first round: every model by name, with equal weights."""
    names = sorted(generators)
    return {
        "round": 0,
        "weights": dict.fromkeys(names, 1 / len(names)),
        "models": {name: generators[name].identity for name in names},
        "history": [],
    }


def open_wasp_ledger(population: Population, state: State, encoder: Encoder, wasp: Wasp, privacy: Privacy) -> Ledger:
    """Open an empty ledger, after checking that all planned releases fit the declared budget."""
    return plan.planned_ledger(
        population.training, wasp, privacy, models=len(state["weights"]), embedding_dim=encoder.dim
    )


def start_texts(encoder: Encoder) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    """Return the tables before the first round: no text, its embeddings, and no example."""
    examples = pd.DataFrame({name: pd.Series(dtype=str) for name in COLUMNS})
    return no_texts(), np.zeros((0, encoder.dim), dtype=np.float32), examples


def release_class_means(
    private_embeddings: dict[str, np.ndarray],
    private_enrolment: dict[str, np.ndarray],
    private_noise_key: NoiseKey,
    ledger: Ledger,
    wasp: Wasp,
) -> tuple[np.ndarray, Ledger]:
    """Release the class means, the one release of `votes: single_release`."""
    samples = PrivateSamples.protected_by(ledger, private_embeddings, private_enrolment, wasp.labels)
    dim = private_embeddings["features"].shape[1]
    query = plan.class_means_query(wasp, ledger.declaration, ledger.population, dim)
    return noised_class_means(query, Simulated(samples, private_noise_key), wasp.labels, ledger)


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
    """Release the round's similar and dissimilar votes, one noisy sum."""
    samples = PrivateSamples.protected_by(ledger, private_embeddings, private_enrolment, wasp.labels)
    voted = judging.candidates_of(candidate_embeddings, judging.label_index(candidates, wasp))
    query = plan.votes_query(wasp, ledger.declaration, ledger.population, state["round"] + 1)
    return judging.noised_votes(query, Simulated(samples, private_noise_key), voted, wasp, ledger)


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
    """Release each model's sum of similar votes, a further release of the round."""
    samples = PrivateSamples.protected_by(ledger, private_embeddings, private_enrolment, wasp.labels)
    voted = judging.candidates_of(candidate_embeddings, judging.label_index(candidates, wasp))
    names, number = sorted(state["weights"]), state["round"] + 1
    query = plan.model_sums_query(wasp, ledger.declaration, ledger.population, number, len(names))
    model = judging.model_index(candidates, names)
    federation = Simulated(samples, private_noise_key)
    total, charged = judging.noised_model_sums(query, federation, voted, model, wasp, ledger)
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
    """Count the votes as they are (`votes: none`), read without a mechanism, so that epsilon is infinite."""
    name, reason = plan.VOTES, f"the votes of round {state['round'] + 1} were read without noise"
    current().unaccounted(name, reason, ledger)
    samples = PrivateSamples.protected_by(ledger, private_embeddings, private_enrolment, wasp.labels)
    voted = judging.candidates_of(candidate_embeddings, judging.label_index(candidates, wasp))
    return judging.plain_votes(samples, voted, wasp), ledger.unaccounted_read(name, f"{reason}, by no mechanism")


Writer = Callable[[Generator, State, pd.DataFrame, Wasp, Chunking], pd.DataFrame]


def writer(name: str) -> Writer:
    """Create the node function of one model."""

    def write_texts(
        generator: Generator, state: State, examples: pd.DataFrame, wasp: Wasp, chunking: Chunking
    ) -> pd.DataFrame:
        """Write the model's texts of this round: as many of each class as its weight gives."""
        number = state["round"] + 1
        own = judging.round_counts(state, wasp)[name]
        return written_texts(generator, name, own, examples, number, wasp, chunking.length)

    return write_texts


def gather_texts(before: pd.DataFrame, *new: pd.DataFrame) -> pd.DataFrame:
    """Gather all texts so far, those of this round last."""
    return gathered(before, new)


def embed_new_texts(candidates: pd.DataFrame, before: np.ndarray, encoder: Encoder) -> np.ndarray:
    """Embed the new texts and return unit embeddings of all so far; zeros for an empty text."""
    new = encode_nonempty(encoder, candidates["text"].iloc[len(before) :].tolist(), label="new texts")
    return np.concatenate([before, new])


def score_by_means(
    class_means: np.ndarray, candidates: pd.DataFrame, candidate_embeddings: np.ndarray, wasp: Wasp
) -> np.ndarray:
    """Score texts by the one release: similarity to the direction of their class and of the others."""
    return judging.scores_by_means(class_means, candidates, candidate_embeddings, wasp)


def draw_scores(candidates: pd.DataFrame, state: State, wasp: Wasp) -> np.ndarray:
    """Draw random scores, for the baseline `votes: random`."""
    return random_scores(len(candidates), state["round"] + 1, wasp)


def weigh_by_votes(candidates: pd.DataFrame, scores: np.ndarray, ledger: Ledger, state: State, wasp: Wasp) -> State:
    """Compute the models' next weights from the votes of their texts."""
    return judging.weighed_by_votes(candidates, scores, ledger, state, wasp)


def weigh_by_sums(candidates: pd.DataFrame, model_sums: np.ndarray, ledger: Ledger, state: State, wasp: Wasp) -> State:
    """Compute the models' next weights from sums that were released by themselves."""
    return judging.weighed_by_sums(candidates, model_sums, ledger, state, wasp)


def weigh_by_best(candidates: pd.DataFrame, scores: np.ndarray, state: State, wasp: Wasp) -> State:
    """Compute the models' next weights from their share of each class's best texts."""
    return judging.weighed_by_best(candidates, scores, state, wasp)


def choose_examples(candidates: pd.DataFrame, scores: np.ndarray, wasp: Wasp) -> pd.DataFrame:
    """Choose good and bad texts of every class, for the next round's prompts."""
    return chosen_examples(candidates, scores, wasp)


def collect_texts(candidates: pd.DataFrame, candidate_embeddings: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    """Collect the synthetic data set and its embeddings: all texts of all rounds, except the empty ones."""
    kept = nonempty_mask(candidate_embeddings)
    return candidates.loc[kept, list(SYNTHETIC_COLUMNS)].reset_index(drop=True), candidate_embeddings[kept]


def report_rounds(wasp: Wasp) -> Rounds:
    """Report figures of the rounds: votes rank texts within a round and cannot be compared between rounds."""
    return Rounds(released_scores=[None] * wasp.rounds, stopped=False, chosen=wasp.rounds - 1)


def count_exchanged(encoder_width: np.ndarray, population: Population, wasp: Wasp, privacy: Privacy) -> Exchange:
    """Count what one unit exchanges, for the row of Table 2."""
    return communication(wasp, privacy, population.training, embedding_dim=encoder_width.shape[1])


def draw_models(candidates: pd.DataFrame, state: dict[str, Any], examples: pd.DataFrame) -> Figure:
    """Draw each model's share of the texts and its weight in every round, and the models of the good texts."""
    return model_shares(candidates, state, examples)


def draw_examples(examples: pd.DataFrame) -> Figure:
    """Draw the first good and bad texts of every class, by the last vote."""
    return example_table(examples)


def draw_classes(candidates: pd.DataFrame) -> Figure:
    """Draw texts of each class, by model."""
    return class_balance(candidates)

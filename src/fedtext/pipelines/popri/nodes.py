"""POPri's nodes: before the rounds, in a round, and after the rounds.

- Texts of the generator and their embeddings, for the rounds and the final set alike.
- Before the rounds: the ledger, the single release, the prompt pool, adapter 0 and the first state.
- One round: prompts, candidates, scores, preference pairs, policy training and the next state.
- After the rounds: the checkpoint, the final set and its baselines, and the exchanged floats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.popri import steps
from fedtext.algorithms.popri.checkpoints import Checkpoints
from fedtext.algorithms.popri.cost import communication
from fedtext.algorithms.popri.plan import planned_ledger, planned_query
from fedtext.algorithms.popri.release import release_private_mean, score_by_ballots
from fedtext.algorithms.popri.scoring import single_release
from fedtext.algorithms.popri.steps import (
    chosen_adapter,
    final_selection,
    label_index,
    matched_pool,
    next_state,
    prompt_word_weights,
    public_word_weights,
    word_weights,
)
from fedtext.corpora.records import SYNTHETIC_COLUMNS
from fedtext.embedding.nonempty import encode_nonempty, nonempty_mask
from fedtext.evaluation.distribution import frechet_distance
from fedtext.evaluation.rounds import Rounds
from fedtext.federation.communication import Exchange
from fedtext.federation.federation import Simulated
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import Population
from fedtext.generation import few_shot
from fedtext.generation.few_shot import check_text_count
from fedtext.generation.prompt_forms import prompt_form
from fedtext.models.encoder import Encoder
from fedtext.models.generator import GuidedGenerator, TrainableGenerator
from fedtext.params.corpus import Chunking
from fedtext.params.for_reading import ForReading
from fedtext.params.generation import prompts_for
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.privacy.budget_guard import current
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.seeding import derived_seed
from fedtext.system.missing import nullable
from fedtext.training.dpo import train_preferences
from fedtext.training.lora import Trained, TrainedAdapter, initial_adapter, saved_adapter


def sampled_texts(
    generator: TrainableGenerator,
    adapter: Path,
    prompts: pd.DataFrame,
    stage: str,
    responses: int,
    popri: Popri,
    chunking: Chunking,
) -> pd.DataFrame:
    """Sample `responses` texts a prompt under `adapter`; the candidates of the last policy belong to no round."""
    named = "after the last round" if stage == f"round {popri.rounds + 1}" else stage
    trained, label = generator.with_adapter(adapter), f"candidates, {named}"
    texts = few_shot.sampled_texts(
        trained,
        prompts,
        responses=responses,
        sampler=popri.sampler,
        length=chunking.length,
        seed=derived_seed(popri.seed, "responses", stage),
        label=label,
    )
    few_shot.validate_generated(texts, trained, label)
    return texts


def embed_candidates(candidates: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """Embed the candidates as unit vectors; zeros for an empty text, which gets no score (Algorithm 1 line 13)."""
    return encode_nonempty(encoder, candidates["text"].tolist(), label="candidates")


def open_popri_ledger(population: Population, encoder: Encoder, popri: Popri, privacy: Privacy) -> Ledger:
    """Open an empty ledger, after checking that everything the run plans to release fits the declared budget."""
    return planned_ledger(population.training, popri, privacy, embedding_dim=encoder.dim)


def release_mean_features(
    private_train: pd.DataFrame,
    private_embeddings: dict[str, np.ndarray],
    private_enrolment: dict[str, np.ndarray],
    private_noise_key: NoiseKey,
    ledger: Ledger,
    popri: Popri,
) -> tuple[np.ndarray, Ledger]:
    """Release noisy mean features per class, the one release of `witness_*` and `mean_embedding` scoring."""
    embeddings = private_embeddings["features"]
    seen = single_release(popri).seen(private_train["text"].tolist(), embeddings, popri)
    described = private_embeddings | {"features": seen}
    samples = PrivateSamples.protected_by(ledger, described, private_enrolment, popri.labels)
    width = embeddings.shape[1]
    query = planned_query(popri, ledger.declaration, ledger.population, embedding_dim=width, round_number=0)
    return release_private_mean(query, Simulated(samples, private_noise_key), popri, ledger)


def match_public_samples(
    public_samples: pd.DataFrame, public_embeddings: np.ndarray, released_mean: np.ndarray, popri: Popri
) -> np.ndarray:
    """Return the rows of public samples for prompts: all as in the paper, or those that match the release."""
    if popri.prompt_pool == "random":
        return np.arange(len(public_embeddings))
    size = max(len(public_embeddings) // 4, popri.pool_minimum)
    return matched_pool(public_samples["text"].tolist(), public_embeddings, released_mean, popri, size)


def write_control_texts(
    generator: TrainableGenerator, adapter: Path, public_samples: pd.DataFrame, popri: Popri, chunking: Chunking
) -> pd.DataFrame:
    """Write as many texts of the untuned generator as the public samples are fewer than all that POPri writes.

    Prompts are drawn from all public samples, so no release is read. A control that chose from fewer texts than POPri
    would make it look better than it is (decision 47).
    """
    count = max(popri.written_texts - len(public_samples), 0)
    prompts = steps.draw_prompts(
        public_samples, np.arange(len(public_samples)), popri, "control", math.ceil(count / popri.responses)
    )
    texts = sampled_texts(generator, adapter, prompts, "control", popri.responses, popri, chunking)
    usable = (texts["text"] != "") & ~texts["text"].duplicated() & ~texts["text"].isin(public_samples["text"])
    return texts[usable].head(count).reset_index(drop=True)


def match_public_control(
    public_samples: pd.DataFrame,
    public_embeddings: np.ndarray,
    control_texts: pd.DataFrame,
    control_embeddings: np.ndarray,
    released_mean: np.ndarray,
    popri: Popri,
) -> pd.DataFrame:
    """Select the public texts that match the release best, out of a pool as large as the synthetic texts' own.

    It is a baseline at the same privacy cost and of the same size.
    """
    columns = ["text", "label"]
    pool = pd.concat([public_samples[columns], control_texts[columns]], ignore_index=True)
    embeddings = np.concatenate([public_embeddings, control_embeddings])
    size = min(popri.synthetic_texts, len(pool))
    return pool.iloc[matched_pool(pool["text"].tolist(), embeddings, released_mean, popri, size)]


def all_public_samples(public_samples: pd.DataFrame) -> np.ndarray:
    """Return all rows of public samples for prompts, as in the paper."""
    return np.arange(len(public_samples))


def start_adapter(generator: TrainableGenerator, popri: Popri) -> TrainedAdapter:
    """Return adapter 0: untrained LoRA weights, under which the policy is the public checkpoint."""
    return initial_adapter(generator, popri.preference.lora, seed=derived_seed(popri.seed, "adapter"))


def start_state() -> dict[str, Any]:
    """Return the state before the first round."""
    return {"round": 0, "stopped": False, "released_scores": []}


State = dict[str, Any]


def draw_prompts(public_samples: pd.DataFrame, prompt_pool: np.ndarray, state: State, popri: Popri) -> pd.DataFrame:
    """Draw this round's prompts; none once the run has stopped early (Algorithm 1 line 10)."""
    count = 0 if state["stopped"] else popri.prompts
    return steps.draw_prompts(public_samples, prompt_pool, popri, f"round {state['round'] + 1}", count)


def generate_candidates(
    generator: TrainableGenerator, adapter: Path, prompts: pd.DataFrame, state: State, popri: Popri, chunking: Chunking
) -> pd.DataFrame:
    """Generate J responses a prompt, cut at the next sample's heading and to the chunk length (Algorithm 1 line 11)."""
    return sampled_texts(generator, adapter, prompts, f"round {state['round'] + 1}", popri.responses, popri, chunking)


def generate_guided_candidates(
    generator: GuidedGenerator,
    adapter: Path,
    prompts: pd.DataFrame,
    state: State,
    popri: Popri,
    chunking: Chunking,
    words: pd.DataFrame,
) -> pd.DataFrame:
    """Generate the same number of candidates, with words as frequent as in the release."""
    return generate_candidates(guided(generator, prompts, words, popri), adapter, prompts, state, popri, chunking)


def score_candidates(
    private_embeddings: dict[str, np.ndarray],
    private_enrolment: dict[str, np.ndarray],
    private_noise_key: NoiseKey,
    ledger: Ledger,
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    state: State,
    popri: Popri,
) -> tuple[np.ndarray, Ledger]:
    """Release one noisy sum of the clients' clipped ballots, charged to the ledger (Algorithm 1 lines 14-20)."""
    if candidates.empty:
        return np.zeros(0), ledger
    samples = PrivateSamples.protected_by(ledger, private_embeddings, private_enrolment, popri.labels)
    width, t = candidate_embeddings.shape[1], state["round"] + 1
    query = planned_query(popri, ledger.declaration, ledger.population, embedding_dim=width, round_number=t)
    labels = label_index(nullable(candidates["label"]), popri)
    federation = Simulated(samples, private_noise_key)
    return score_by_ballots(query, federation, candidate_embeddings, labels, popri, ledger)


def score_by_release(
    candidates: pd.DataFrame, candidate_embeddings: np.ndarray, released_mean: np.ndarray, popri: Popri
) -> np.ndarray:
    """Score candidates by post-processing of the one release: no private data, no privacy cost."""
    labels = label_index(nullable(candidates["label"]), popri)
    return steps.score_by_release(candidates["text"].tolist(), candidate_embeddings, labels, released_mean, popri)


def choose_preference_pairs(
    prompts: pd.DataFrame, candidates: pd.DataFrame, scores: np.ndarray, popri: Popri
) -> pd.DataFrame:
    """Choose the preference pairs (Algorithm 1 lines 21-26)."""
    return steps.preference_pairs(prompts, candidates, scores, popri)


def train_policy(
    generator: TrainableGenerator, adapter: Path, pairs: pd.DataFrame, state: State, popri: Popri
) -> tuple[Trained, pd.DataFrame]:
    """Train the policy by preference optimisation against the public checkpoint (Algorithm 1 line 27).

    Without pairs it stays as it is.
    """
    if pairs.empty:
        return saved_adapter(adapter), pd.DataFrame({"step": [], "loss": []})
    round_number, framing = state["round"] + 1, prompt_form(popri.sampler).framing
    trained, log = train_preferences(
        generator,
        pairs[["chosen", "rejected"]].assign(prompt=generator.completion_prompts(pairs["prompt"].tolist(), framing)),
        popri.preference,
        previous=adapter,
        schedule=popri.preference.schedule_part(round_number, popri.rounds),
        seed=derived_seed(popri.seed, "preference", round_number),
        label=f"preference training, round {round_number}",
        end=generator.ending(framing),
        lead=framing.lead,
    )
    return trained, pd.DataFrame(log)


def close_round(
    state: State,
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    scores: np.ndarray,
    pairs: pd.DataFrame,
    popri: Popri,
    released_mean: np.ndarray | None = None,
) -> State:
    """Return the state for the next round, from released values only, so that it may steer the round."""
    return next_state(state, candidates, candidate_embeddings, scores, released_mean, pairs, popri)


def choose_checkpoint(state: dict[str, Any], popri: Popri) -> dict[str, int]:
    """Choose the adapter that makes the final set, by released scores (adapter 0 is the untrained one)."""
    return {"adapter": chosen_adapter(Checkpoints.of(popri).scores_of_adapters(state["released_scores"]), popri)}


def embed_validation_samples(private_validation: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """Embed the validation clients' samples, for the paper's unaccounted checkpoint choice only."""
    return encoder.encode(private_validation["text"].tolist(), label="validation samples", undirected_as_zeros=True)


def choose_checkpoint_unaccounted(
    private_validation_embeddings: np.ndarray, ledger: Ledger, *candidate_embeddings: np.ndarray
) -> tuple[dict[str, int], Ledger]:
    """Choose the adapter with the lowest FID on private validation text, as the paper does (App. B.1).

    This is unaccounted, so epsilon is infinite. `candidate_embeddings[t]` are of adapter t; those of rounds skipped by
    early stopping are empty and not chosen.
    """
    name, reason = "popri.checkpoint", "the checkpoint with the lowest FID on private validation text was chosen"
    current().unaccounted(name, reason, ledger)
    texts = [rows[nonempty_mask(rows)] for rows in candidate_embeddings]
    distances = [frechet_distance(rows, private_validation_embeddings) if len(rows) > 1 else np.inf for rows in texts]
    charged = ledger.unaccounted_read(name, f"{reason} without a mechanism")
    return {"adapter": int(np.argmin(distances))}, charged


def draw_final_prompts(public_samples: pd.DataFrame, prompt_pool: np.ndarray, popri: Popri) -> pd.DataFrame:
    """Draw prompts of the final set: as many as the oversampled set needs, at `final_responses` each."""
    count = prompts_for(popri.synthetic_texts, popri.final_responses, popri.oversample)
    return steps.draw_prompts(public_samples, prompt_pool, popri, "final", count)


def generate_final_texts(
    generator: TrainableGenerator,
    prompts: pd.DataFrame,
    checkpoint: dict[str, int],
    popri: Popri,
    chunking: Chunking,
    *adapters: Path,
) -> pd.DataFrame:
    """Generate texts of the chosen adapter, `final_responses` a prompt (Algorithm 1 line 30)."""
    return sampled_texts(
        generator, adapters[checkpoint["adapter"]], prompts, "final", popri.final_responses, popri, chunking
    )


def weigh_words(public_samples: pd.DataFrame, popri: Popri, released_mean: np.ndarray) -> pd.DataFrame:
    """Compute each word's weight: how much more frequent it is in the release than in the public samples."""
    return public_word_weights(public_samples, released_mean, popri)


def weigh_words_by_candidates(
    public_samples: pd.DataFrame, popri: Popri, released_mean: np.ndarray, *candidates: pd.DataFrame
) -> pd.DataFrame:
    """Compute each word's weight: how much more frequent it is in the release than in all unguided candidates."""
    written = pd.concat(candidates, ignore_index=True)
    return word_weights(written, public_samples["text"].tolist(), released_mean, popri)


def guided(generator: GuidedGenerator, prompts: pd.DataFrame, words: pd.DataFrame, popri: Popri) -> GuidedGenerator:
    """Return the generator with the word weights of each prompt's class."""
    return generator.with_word_weights(prompt_word_weights(prompts, words, popri))


def generate_guided_texts(
    generator: GuidedGenerator,
    prompts: pd.DataFrame,
    checkpoint: dict[str, int],
    popri: Popri,
    chunking: Chunking,
    words: pd.DataFrame,
    *adapters: Path,
) -> pd.DataFrame:
    """Generate the same texts, with words as frequent as in the release."""
    return generate_final_texts(
        guided(generator, prompts, words, popri), prompts, checkpoint, popri, chunking, *adapters
    )


def write_for_reading(
    generator: TrainableGenerator,
    prompts: pd.DataFrame,
    checkpoint: dict[str, int],
    popri: Popri,
    chunking: Chunking,
    for_reading: ForReading,
    *adapters: Path,
) -> pd.DataFrame:
    """Ask for about `for_reading.texts` more texts of the chosen adapter, at the temperature for reading (decision 64).

    The first answers to all prompts come before the second ones, each text once and none empty. Models do not learn
    from them.
    """
    asked, responses = for_reading.shared_out(len(prompts), popri.sampler.batch_size)
    calm = popri.sampler.model_copy(update={"temperature": for_reading.temperature})
    texts = sampled_texts(
        generator,
        adapters[checkpoint["adapter"]],
        prompts.head(asked),
        "for reading",
        responses,
        popri.model_copy(update={"sampler": calm}),
        chunking,
    ).sort_values("response", kind="stable")
    return texts[(texts["text"] != "") & ~texts["text"].duplicated()].reset_index(drop=True)


def write_guided_for_reading(
    generator: GuidedGenerator,
    prompts: pd.DataFrame,
    checkpoint: dict[str, int],
    popri: Popri,
    chunking: Chunking,
    for_reading: ForReading,
    words: pd.DataFrame,
    *adapters: Path,
) -> pd.DataFrame:
    """Write the same texts, guided by the words of the release."""
    asked, _ = for_reading.shared_out(len(prompts), popri.sampler.batch_size)
    writer = guided(generator, prompts.head(asked), words, popri)
    return write_for_reading(writer, prompts, checkpoint, popri, chunking, for_reading, *adapters)


def select_synthetic(
    final_texts: pd.DataFrame, final_embeddings: np.ndarray, checkpoint: dict[str, int], popri: Popri
) -> tuple[pd.DataFrame, np.ndarray]:
    """Select the synthetic data set and its embeddings in order of generation, as in the paper; never an empty text."""
    return _selected(final_texts.assign(round=checkpoint["adapter"]), final_embeddings, None, popri)


def select_synthetic_by_release(
    final_texts: pd.DataFrame,
    final_embeddings: np.ndarray,
    checkpoint: dict[str, int],
    popri: Popri,
    released_mean: np.ndarray,
    *rounds: Any,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Select, of all written texts, those that together match the release best; return them and their embeddings.

    `rounds` are the candidates of adapter 0, 1, ... and then their embeddings. Choosing among more texts has no privacy
    cost.
    """
    tables, embeddings = rounds[: len(rounds) // 2], rounds[len(rounds) // 2 :]
    gathered = _gathered(final_texts, final_embeddings, checkpoint, tables, embeddings)
    return _selected(*gathered, released_mean, popri)


def _gathered(
    final_texts: pd.DataFrame,
    final_embeddings: np.ndarray,
    checkpoint: dict[str, int],
    candidates: Sequence[pd.DataFrame],
    candidate_embeddings: Sequence[np.ndarray],
) -> tuple[pd.DataFrame, np.ndarray]:
    """Gather all written texts, the final ones first, each once; `round` is how often its adapter was trained."""
    rounds = [table.assign(round=adapter) for adapter, table in enumerate(candidates)]
    table = pd.concat([final_texts.assign(round=checkpoint["adapter"]), *rounds], ignore_index=True)
    first = (~table["text"].duplicated()).to_numpy()
    return table[first].reset_index(drop=True), np.concatenate([final_embeddings, *candidate_embeddings])[first]


def _selected(
    table: pd.DataFrame, embeddings: np.ndarray, released_mean: np.ndarray | None, popri: Popri
) -> tuple[pd.DataFrame, np.ndarray]:
    kept = final_selection(table, embeddings, released_mean, popri)
    check_text_count(len(kept), popri.synthetic_texts)
    return table.iloc[kept][list(SYNTHETIC_COLUMNS)].reset_index(drop=True), embeddings[kept]


def collect_training_logs(*training_logs: pd.DataFrame) -> pd.DataFrame:
    """Collect preference-training logs of all rounds in one table with a `round` column."""
    return pd.concat([log.assign(round=t) for t, log in enumerate(training_logs, start=1)], ignore_index=True)


def report_rounds(state: dict[str, Any], checkpoint: dict[str, int], popri: Popri, *rounds: Any) -> Rounds:
    """Report the released score of each set of candidates, the chosen adapter, and which candidates were paired.

    `rounds` are the candidates of each round, then their embeddings, then the pairs.
    """
    scores = Checkpoints.of(popri).scores_of_candidates(state["released_scores"])
    each = len(rounds) // 3
    pairs = [
        steps.paired_rows(*one) for one in zip(rounds[:each], rounds[each : 2 * each], rounds[2 * each :], strict=True)
    ]
    return Rounds(released_scores=scores, stopped=state["stopped"], chosen=checkpoint["adapter"], pairs=pairs)


def count_communication(
    final_embeddings: np.ndarray, population: Population, popri: Popri, privacy: Privacy
) -> Exchange:
    """Count what one client exchanges, for the row of Table 2."""
    width = final_embeddings.shape[1]
    return communication(popri, privacy, population.training, embedding_dim=width)

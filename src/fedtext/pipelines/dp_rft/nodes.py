"""DP-RFT's nodes: thin, pure calls into fedtext.algorithms.dp_rft and fedtext.training.policy_gradient."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms import dp_rft as algorithm
from fedtext.embedding.nonempty import encode_nonempty, nonempty_mask
from fedtext.federation.communication import Exchange
from fedtext.federation.federation import Simulated
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import Population
from fedtext.generation.few_shot import sampled_texts, validate_generated
from fedtext.generation.prompt_forms import prompt_form
from fedtext.models.encoder import Encoder
from fedtext.models.generator import TrainableGenerator
from fedtext.params.corpus import Chunking
from fedtext.params.dp_rft import DpRft
from fedtext.params.generation import prompts_for
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.privacy.plan import expected_exchanges
from fedtext.seeding import derived_seed
from fedtext.training.lora import TrainedAdapter, initial_adapter
from fedtext.training.policy_gradient import improved_policy, leave_one_out
from fedtext.training.preference_pairs import completion

Arrays = dict[str, np.ndarray]
State = dict[str, Any]


def open_dp_rft_ledger(population: Population, dp_rft: DpRft, privacy: Privacy) -> Ledger:
    """Open an empty ledger, after checking that the votes of all rounds fit the declared budget."""
    return algorithm.planned_ledger(population.training, dp_rft, privacy)


def start_adapter(generator: TrainableGenerator, dp_rft: DpRft) -> TrainedAdapter:
    """Return the untrained adapter."""
    return initial_adapter(generator, dp_rft.lora, seed=derived_seed(dp_rft.seed, "adapter"))


def start_state() -> State:
    """Return the state before the first round."""
    return {"round": 0}


def draw_prompts(public_samples: pd.DataFrame, state: State, dp_rft: DpRft) -> pd.DataFrame:
    """Draw this round's prompts."""
    return algorithm.prompts(public_samples, dp_rft, f"round {state['round'] + 1}", dp_rft.prompts)


def write_candidates(
    generator: TrainableGenerator, adapter: Path, prompts: pd.DataFrame, state: State, dp_rft: DpRft, chunking: Chunking
) -> pd.DataFrame:
    """Write this round's candidates, `responses` of each prompt; some may be empty, not all."""
    label = f"candidates, round {state['round'] + 1}"
    texts = _written(generator, adapter, prompts, dp_rft.responses, label, dp_rft, chunking)
    validate_generated(texts, generator, label)
    return texts


def embed_candidates(candidates: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """Embed the candidates as unit vectors; zeros for an empty one."""
    return encode_nonempty(encoder, candidates["text"].tolist(), label="candidates")


def count_votes(
    private_embeddings: Arrays,
    private_enrolment: Arrays,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    candidate_embeddings: np.ndarray,
    state: State,
    dp_rft: DpRft,
) -> tuple[np.ndarray, Ledger]:
    """Release the round's votes: one noisy sum of the units' clipped ballots, charged to the ledger."""
    samples = PrivateSamples.protected_by(ledger, private_embeddings, private_enrolment)
    query = algorithm.planned_query(dp_rft, ledger.declaration, ledger.population, state["round"] + 1)
    return algorithm.noised_votes(query, Simulated(samples, private_noise_key), candidate_embeddings, dp_rft, ledger)


def reinforce(
    generator: TrainableGenerator,
    adapter: Path,
    prompts: pd.DataFrame,
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    scores: np.ndarray,
    dp_rft: DpRft,
) -> TrainedAdapter:
    """Train the adapter on this round's candidates, by their votes."""
    written, framing = nonempty_mask(candidate_embeddings), prompt_form(generator.own(dp_rft.sampler)).framing
    advantages = leave_one_out(scores, candidates["prompt_id"].to_numpy(), written)
    asked = prompts.set_index("prompt_id")["prompt"].loc[candidates["prompt_id"][written]].tolist()
    return improved_policy(
        generator,
        adapter,
        generator.completion_prompts(asked, framing),
        [completion(text, generator.ending(framing), framing.lead) for text in candidates["text"][written]],
        advantages[written],
        dp_rft.training,
        dp_rft.lora,
        ratio_clip=dp_rft.ratio_clip,
        seed=derived_seed(dp_rft.seed, "adapter"),
    )


def close_round(state: State, candidates: pd.DataFrame, scores: np.ndarray) -> State:
    """Return the state for the next round, with figures of released values."""
    distinct = int(candidates["text"].nunique())
    return {"round": state["round"] + 1, "distinct_candidates": distinct, "most_votes": float(scores.max())}


def write_final_texts(
    generator: TrainableGenerator, adapter: Path, public_samples: pd.DataFrame, dp_rft: DpRft, chunking: Chunking
) -> pd.DataFrame:
    """Write texts of the trained generator, `final_responses` a prompt."""
    count = prompts_for(dp_rft.synthetic_texts, dp_rft.final_responses)
    asked = algorithm.prompts(public_samples, dp_rft, "final", count)
    texts = _written(generator, adapter, asked, dp_rft.final_responses, "texts of the policy", dp_rft, chunking)
    return texts.assign(round=dp_rft.rounds)


def count_exchanged(
    candidate_embeddings: np.ndarray, population: Population, dp_rft: DpRft, privacy: Privacy
) -> Exchange:
    """Count what one client exchanges in a round: the candidates' embeddings down, a vote for each up."""
    exchanges = expected_exchanges(privacy, population.training, dp_rft.rounds)
    size, candidates = candidate_embeddings.size, len(candidate_embeddings)
    return Exchange(down_floats=size, up_floats=candidates, exchanges=exchanges)


def _written(
    generator: TrainableGenerator,
    adapter: Path,
    prompts: pd.DataFrame,
    responses: int,
    label: str,
    dp_rft: DpRft,
    chunking: Chunking,
) -> pd.DataFrame:
    return sampled_texts(
        generator.with_adapter(adapter),
        prompts,
        responses=responses,
        sampler=dp_rft.sampler,
        length=chunking.length,
        seed=derived_seed(dp_rft.seed, label),
        label=label,
    )

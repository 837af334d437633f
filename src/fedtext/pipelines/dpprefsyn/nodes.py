"""DPPrefSyn's nodes: thin, pure calls into fedtext.algorithms.dpprefsyn and the packages that it uses.

The nodes that align the downstream model on released preferences are post-processing, without privacy cost.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from fedtext.algorithms.dpprefsyn import cost, plan
from fedtext.algorithms.dpprefsyn.candidates import Candidates
from fedtext.algorithms.dpprefsyn.releases import learned_scorer
from fedtext.algorithms.dpprefsyn.scorer import LengthRule, Scorer, scorer_of
from fedtext.algorithms.dpprefsyn.selection import chosen_pairs
from fedtext.corpora import public as corpora
from fedtext.corpora.preferences import read_public_pairs
from fedtext.embedding.similarity import differences_of
from fedtext.federation.communication import Exchange
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import Population
from fedtext.generation.dialogue import Dialogue, answer_prompts, embedded_answers, generate_answers
from fedtext.models.encoder import Encoder
from fedtext.models.generator import Generator, TrainableGenerator
from fedtext.params.corpus import Corpus
from fedtext.params.dpprefsyn import Dpprefsyn
from fedtext.params.privacy import Privacy
from fedtext.pipelines.pairs.nodes import dialogue_of
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.seeding import derived_seed
from fedtext.training.dpo import train_preferences
from fedtext.training.lora import Trained, in_one
from fedtext.training.preference_pairs import completion
from fedtext.training.rl import train_on_rewards
from fedtext.training.supervised import train_on_texts

Arrays = dict[str, np.ndarray]


def open_dpprefsyn_ledger(population: Population, encoder: Encoder, dpprefsyn: Dpprefsyn, privacy: Privacy) -> Ledger:
    """Open an empty ledger, after checking that all planned releases fit the declared budget."""
    return plan.planned_ledger(population.training, dpprefsyn, privacy, embedding_dim=encoder.dim)


def read_public_prompts(corpus: Corpus, dpprefsyn: Dpprefsyn) -> pd.DataFrame:
    """Read public prompts, `prompt_id` and `prompt`: of `corpus.public_path`, or about installed packages."""
    return corpora.public_prompts(corpus, dpprefsyn.prompts, dpprefsyn.seed)


def write_candidates(
    generator: Generator, public_prompts: pd.DataFrame, source: str, dpprefsyn: Dpprefsyn
) -> pd.DataFrame:
    """Write `answers` answers to each prompt (line 14): `prompt_id`, `response`, `text`; some may be empty."""
    return generate_answers(
        generator,
        dialogue_of(source, chat=dpprefsyn.sampler.prompt == "chat"),
        public_prompts,
        responses=dpprefsyn.answers,
        sampler=dpprefsyn.sampler,
        seed=derived_seed(dpprefsyn.seed, "candidates"),
        label="answers to public prompts",
    )


def embed_candidates(
    public_prompts: pd.DataFrame, candidates: pd.DataFrame, encoder: Encoder, source: str, dpprefsyn: Dpprefsyn
) -> np.ndarray:
    """Embed each prompt with each of its answers; zeros for an empty answer."""
    answers = candidates["text"].to_numpy().reshape(-1, dpprefsyn.answers).tolist()
    prompts = public_prompts["prompt"].tolist()
    return embedded_answers(encoder, dialogue_of(source), prompts, answers, label="answers to public prompts")


def learn_scorer(
    private_pairs: Arrays,
    private_enrolment: Arrays,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    candidate_embeddings: np.ndarray,
    dpprefsyn: Dpprefsyn,
) -> tuple[Arrays, Ledger]:
    """Release the scorer, in one release or several one after another, charged to the ledger."""
    pairs = PrivateSamples.protected_by(ledger, private_pairs, private_enrolment)
    public = Candidates(candidate_embeddings)
    scorer, charged = learned_scorer(pairs, private_pairs["middle"], public, dpprefsyn, ledger, private_noise_key)
    return scorer.arrays(), charged


def draw_random_scorer(candidate_embeddings: np.ndarray, dpprefsyn: Dpprefsyn) -> Arrays:
    """Draw a random scorer (`form: random`), which does not depend on private pairs."""
    return Scorer.random(candidate_embeddings.shape[2], dpprefsyn.seed).arrays()


def prefer_by_length(dpprefsyn: Dpprefsyn) -> Arrays:
    """Return a length rule in place of a scorer (`form: longest` or `shortest`)."""
    return LengthRule(1.0 if dpprefsyn.form == "longest" else -1.0).arrays()


def learn_public_scorer(encoder: Encoder, source: str, dpprefsyn: Dpprefsyn) -> Arrays:
    """Learn a scorer without noise from the public pairs `dpprefsyn.public_pairs` (`form: public`).

    It has one head, the pairs' mean difference.
    """
    pairs = read_public_pairs(str(dpprefsyn.public_pairs))
    answers, prompts = pairs[["chosen", "rejected"]].to_numpy().tolist(), pairs["prompt"].tolist()
    embedded = embedded_answers(encoder, dialogue_of(source), prompts, answers, label="public pairs")
    return Scorer(differences_of(embedded)[0].mean(axis=0, keepdims=True), np.ones(1)).arrays()


def choose_preferences(
    public_prompts: pd.DataFrame,
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    scorers: Arrays,
    dpprefsyn: Dpprefsyn,
) -> pd.DataFrame:
    """Choose the synthetic preference data: `prompt`, `chosen`, `rejected`, `gap` (lines 15 to 17)."""
    public, scorer = Candidates(candidate_embeddings), scorer_of(scorers)
    return chosen_pairs(candidates, public_prompts, public, scorer, dpprefsyn)


def choose_at_random(
    public_prompts: pd.DataFrame, candidates: pd.DataFrame, candidate_embeddings: np.ndarray, dpprefsyn: Dpprefsyn
) -> pd.DataFrame:
    """Choose a baseline's pairs by a random direction, another one than `form: random` has."""
    public = Candidates(candidate_embeddings)
    scorer = Scorer.random(candidate_embeddings.shape[2], derived_seed(dpprefsyn.seed, "control"))
    return chosen_pairs(candidates, public_prompts, public, scorer, dpprefsyn)


def choose_longest(
    public_prompts: pd.DataFrame, candidates: pd.DataFrame, candidate_embeddings: np.ndarray, dpprefsyn: Dpprefsyn
) -> pd.DataFrame:
    """Choose a baseline's pairs: the longest answer against the shortest one."""
    public = Candidates(candidate_embeddings)
    return chosen_pairs(candidates, public_prompts, public, LengthRule(1.0), dpprefsyn)


def count_exchanged(
    candidate_embeddings: np.ndarray, population: Population, dpprefsyn: Dpprefsyn, privacy: Privacy
) -> Exchange:
    """Count what one unit exchanges, for the row of Table 2."""
    return cost.communication(dpprefsyn, privacy, population.training, embedding_dim=candidate_embeddings.shape[2])


Made = tuple[Trained, pd.DataFrame]


def tune_on_chosen(downstream: TrainableGenerator, pairs: pd.DataFrame, source: str, dpprefsyn: Dpprefsyn) -> Made:
    """Fine-tune on the chosen answers (SFT); the prompts are shown and not learned."""
    form = _form(source, dpprefsyn)
    end = downstream.ending(form.framing)
    trained, log = train_on_texts(
        downstream,
        [completion(text, end, form.framing.lead) for text in pairs["chosen"]],
        dpprefsyn.sft,
        dpprefsyn.preference.lora,
        seed=derived_seed(dpprefsyn.seed, "sft"),
        label="tuning on chosen answers",
        prompts=answer_prompts(downstream, form, pairs["prompt"]),
    )
    return trained, pd.DataFrame(log)


def prefer(downstream: TrainableGenerator, pairs: pd.DataFrame, source: str, dpprefsyn: Dpprefsyn) -> Made:
    """Run preference optimisation of the downstream model, which is its own reference."""
    form = _form(source, dpprefsyn)
    trained, log = train_preferences(
        downstream,
        pairs[["chosen", "rejected"]].assign(prompt=answer_prompts(downstream, form, pairs["prompt"])),
        dpprefsyn.preference,
        seed=derived_seed(dpprefsyn.seed, "preference"),
        label="preference training",
        end=downstream.ending(form.framing),
        lead=form.framing.lead,
    )
    return trained, pd.DataFrame(log)


def prefer_after_tuning(
    downstream: TrainableGenerator, pairs: pd.DataFrame, source: str, dpprefsyn: Dpprefsyn, tuned: Path
) -> Made:
    """Run preference optimisation of the tuned model, its own reference; the policy has both updates."""
    trained, log = prefer(downstream.with_adapter(tuned), pairs, source, dpprefsyn)
    return in_one(tuned, trained), log


def reinforce(
    downstream: TrainableGenerator,
    public_prompts: pd.DataFrame,
    encoder: Encoder,
    scorers: Arrays,
    source: str,
    dpprefsyn: Dpprefsyn,
) -> Made:
    """Run RLOO with the scorer's mean over heads as the reward of an answer to a public prompt."""
    form, scorer = _form(source, dpprefsyn), Scorer.of(scorers)
    prompts = public_prompts["prompt"].tolist()
    began = dict(zip(answer_prompts(downstream, form, prompts), prompts, strict=True))

    def rewards(asked: list[str], answers: list[str]) -> list[float]:
        cut = [[form.cut(answer)] for answer in answers]
        rows = embedded_answers(encoder, dialogue_of(source), [began[one] for one in asked], cut, label="rewards")
        found = scorer.reward(rows[:, 0])
        return [
            float(reward) for reward in np.where(rows[:, 0].any(axis=1), found, found.min())
        ]  # an empty answer is worst

    assert dpprefsyn.preference.lora is not None, "its parameters see to it"
    trained, log = train_on_rewards(
        downstream,
        list(began),
        rewards,
        dpprefsyn.rloo,
        dpprefsyn.preference.lora,
        sampler=dpprefsyn.sampler,
        seed=derived_seed(dpprefsyn.seed, "rloo"),
    )
    return trained, pd.DataFrame(log)


def reinforce_after_tuning(
    downstream: TrainableGenerator,
    public_prompts: pd.DataFrame,
    encoder: Encoder,
    scorers: Arrays,
    source: str,
    dpprefsyn: Dpprefsyn,
    tuned: Path,
) -> Made:
    """Run RLOO of the tuned model, its own reference; the policy has both updates."""
    trained, log = reinforce(downstream.with_adapter(tuned), public_prompts, encoder, scorers, source, dpprefsyn)
    return in_one(tuned, trained), log


def _form(source: str, dpprefsyn: Dpprefsyn) -> Dialogue:
    """Return the prompt template of the model that is aligned."""
    return dialogue_of(source, chat=dpprefsyn.aligned_in_chat)

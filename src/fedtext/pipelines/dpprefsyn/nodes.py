"""DPPrefSyn's nodes: thin, pure calls into fedtext.algorithms.dpprefsyn and the floors below it."""

import numpy as np
import pandas as pd

from fedtext.algorithms.dpprefsyn import budget, cost
from fedtext.algorithms.dpprefsyn.candidates import Candidates
from fedtext.algorithms.dpprefsyn.releases import learned_scorer
from fedtext.algorithms.dpprefsyn.scorer import LengthRule, Scorer, scorer_of
from fedtext.algorithms.dpprefsyn.selection import chosen_pairs
from fedtext.corpora import public_prompts as corpora
from fedtext.corpora.preferences import read_pairs
from fedtext.embedding.differences import differences_of
from fedtext.federation.communication import Exchange
from fedtext.federation.population import Population
from fedtext.federation.private_samples import PrivateSamples
from fedtext.generation.dialogue import embedded_answers, written_answers
from fedtext.models.encoder import Encoder
from fedtext.models.generator import Generator
from fedtext.params.corpus import Corpus
from fedtext.params.dpprefsyn import Dpprefsyn
from fedtext.params.privacy import Privacy
from fedtext.pipelines.pairs.form import dialogue_of
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.seeding import derived_seed

Arrays = dict[str, np.ndarray]


def open_dpprefsyn_ledger(population: Population, encoder: Encoder, dpprefsyn: Dpprefsyn, privacy: Privacy) -> Ledger:
    """An empty ledger, after checking that all planned releases fit the declared budget."""
    return budget.planned_ledger(population.training, dpprefsyn, privacy, embedding_dim=encoder.dim)


def read_public_prompts(corpus: Corpus, dpprefsyn: Dpprefsyn) -> pd.DataFrame:
    """Public prompts, `prompt_id` and `prompt`: of `corpus.public_path`, or about objects of installed packages."""
    return corpora.public_prompts(corpus, dpprefsyn.prompts, dpprefsyn.seed)


def write_candidates(
    generator: Generator, public_prompts: pd.DataFrame, source: str, dpprefsyn: Dpprefsyn
) -> pd.DataFrame:
    """`answers` answers to each prompt (line 14): `prompt_id`, `response`, `text`; some may be empty."""
    return written_answers(
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
    """Embeddings of each prompt with each of its answers; zeros for an empty answer."""
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
    """The release, or releases one after another: the scorer, and the ledger that paid for them."""
    pairs = PrivateSamples.of(private_pairs, (), ledger.declaration.unit, private_enrolment["unit"])
    public = Candidates(candidate_embeddings)
    scorer, charged = learned_scorer(pairs, private_pairs["middle"], public, dpprefsyn, ledger, private_noise_key)
    return scorer.arrays(), charged


def draw_random_scorer(candidate_embeddings: np.ndarray, dpprefsyn: Dpprefsyn) -> Arrays:
    """`form: random`: a scorer that says nothing."""
    return Scorer.random(candidate_embeddings.shape[2], dpprefsyn.seed).arrays()


def prefer_by_length(dpprefsyn: Dpprefsyn) -> Arrays:
    """`form: longest` or `shortest`: a rule in place of a scorer."""
    return LengthRule(1.0 if dpprefsyn.form == "longest" else -1.0).arrays()


def learn_public_scorer(encoder: Encoder, source: str, dpprefsyn: Dpprefsyn) -> Arrays:
    """`form: public`: one head, the mean difference of the public pairs `dpprefsyn.public_pairs`, without noise."""
    pairs = read_pairs("table", str(dpprefsyn.public_pairs))
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
    """The synthetic preference data: `prompt`, `chosen`, `rejected`, `gap` (lines 15 to 17)."""
    public, scorer = Candidates(candidate_embeddings), scorer_of(scorers)
    return chosen_pairs(candidates, public_prompts, public, scorer, dpprefsyn)


def choose_at_random(
    public_prompts: pd.DataFrame, candidates: pd.DataFrame, candidate_embeddings: np.ndarray, dpprefsyn: Dpprefsyn
) -> pd.DataFrame:
    """A control's pairs: by a direction that says nothing, another one than `form: random` has."""
    public = Candidates(candidate_embeddings)
    scorer = Scorer.random(candidate_embeddings.shape[2], derived_seed(dpprefsyn.seed, "control"))
    return chosen_pairs(candidates, public_prompts, public, scorer, dpprefsyn)


def choose_longest(
    public_prompts: pd.DataFrame, candidates: pd.DataFrame, candidate_embeddings: np.ndarray, dpprefsyn: Dpprefsyn
) -> pd.DataFrame:
    """A control's pairs: the longest answer against the shortest one."""
    public = Candidates(candidate_embeddings)
    return chosen_pairs(candidates, public_prompts, public, LengthRule(1.0), dpprefsyn)


def count_exchanged(
    candidate_embeddings: np.ndarray, population: Population, dpprefsyn: Dpprefsyn, privacy: Privacy
) -> Exchange:
    """What one unit exchanges, for the row of Table 2."""
    return cost.communication(dpprefsyn, privacy, population.training, embedding_dim=candidate_embeddings.shape[2])

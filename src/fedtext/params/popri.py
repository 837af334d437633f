"""POPri's parameters (Algorithms 1-5); the paper's values and words are in conf/paper/parameters/popri.yml."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fedtext.params import Seed
from fedtext.params.generation import Sampler, prompts_for
from fedtext.params.task import OfClasses
from fedtext.params.training import AdapterTraining
from fedtext.system.errors import InputError

Scoring = Literal[
    "mean_cosine",
    "mean_cosine_centred",
    "nearest_histogram",
    "mean_embedding",
    "witness_linear",
    "witness_rff",
    "witness_words",
]
CheckpointChoice = Literal["last", "released_score", "fid_on_private_validation"]
OF_WORDS: Scoring = "witness_words"
Guided = Literal["candidates_and_texts", "texts"]
WITH_CANDIDATES: Guided = "candidates_and_texts"
SINGLE_RELEASE: frozenset[str] = frozenset({"mean_embedding", "witness_linear", "witness_rff", "witness_words"})


class Popri(OfClasses):
    """One POPri run: K `prompts` with J `responses` each, for `rounds` rounds.

    `labels` are the classes of conditional generation (Algorithm 3), public and declared, never read from private data;
    none means unconditional. `variant: federated` is Algorithm 1; `central` is Algorithms 2, 3 and 5, where a curator
    holds the records; it requires `privacy.unit: record` and `privacy.aggregation: trusted`.

    `prompt_pool: matched` takes the few-shot examples from the public samples nearest to the single release
    (post-processing), `random` from all of them as in the paper. Scoring `witness_words` has five more parameters:
    words are hashed into `word_buckets` buckets, `word_share` is their share of a text's norm, `word_guidance` and
    `pair_guidance` are how closely generated words and pairs of words follow the release (without the first there is no
    second), and `guided` is where: in the candidates of every round and the final texts, or in the final texts only
    (`fedtext.algorithms.popri.steps`). `oversample` times `synthetic_texts` texts are generated at the end,
    `final_responses` a prompt, and the subset that matches the release best is kept.
    """

    group = "popri"

    rounds: int = Field(ge=1)
    prompts: int = Field(ge=1)
    responses: int = Field(ge=2)
    rejected_rank: int = Field(ge=2)
    variant: Literal["federated", "central"]
    labels: tuple[str, ...]
    scoring: Scoring
    centre: Literal["none", "all", "prompt"]
    projection: bool
    prompt_pool: Literal["random", "matched"]
    pool_minimum: int = Field(ge=3)
    random_features: int = Field(ge=2, multiple_of=2)
    bandwidth: float = Field(gt=0)
    word_buckets: int = Field(ge=2, le=1 << 20)
    word_share: float = Field(gt=0, lt=1)
    word_guidance: float = Field(ge=0)
    pair_guidance: float = Field(ge=0)
    guided: Guided
    checkpoint: CheckpointChoice
    patience: int | None = Field(ge=1)
    synthetic_texts: int = Field(ge=1)
    oversample: float = Field(ge=1)
    final_responses: int = Field(ge=1)
    sampler: Sampler
    preference: AdapterTraining
    seed: Seed

    @property
    def releases(self) -> int:
        """Number of queries to private data."""
        return 1 if self.single_release else self.rounds

    @property
    def written_texts(self) -> int:
        """Number of texts that are written, of which the synthetic ones are chosen: candidates and final texts."""
        final = prompts_for(self.synthetic_texts, self.final_responses, self.oversample) * self.final_responses
        return (self.rounds + 1) * self.prompts * self.responses + final

    @property
    def single_release(self) -> bool:
        """True if one release serves every round."""
        return self.scoring in SINGLE_RELEASE

    @model_validator(mode="after")
    def _release_serves_what_is_asked(self) -> Self:
        if not self.single_release and (self.prompt_pool == "matched" or self.oversample > 1):
            raise InputError(
                f"popri.scoring {self.scoring} releases scores of one round's candidates only: prompt_pool 'matched' "
                f"and oversample > 1 need one of {', '.join(sorted(SINGLE_RELEASE))}",
                code="pool-needs-single-release",
                parameter="popri.scoring",
                value=self.scoring,
            )
        return self

    @model_validator(mode="after")
    def _scores_allow_it(self) -> Self:
        if self.patience is not None and not self.single_release:
            raise InputError(
                f"popri.patience is {self.patience}, but scores of {self.scoring} rank candidates within a round "
                "and do not show whether rounds improve: set patience to null or choose another scoring",
                code="patience-without-progress",
                parameter="popri.patience",
                value=self.patience,
            )
        if self.projection and self.scoring == "nearest_histogram":
            raise InputError(
                "popri.projection with scoring nearest_histogram: votes do not lie in the span of the candidates' "
                "embeddings; set projection to false",
                code="histogram-is-not-projected",
                parameter="popri.projection",
                value=True,
            )
        return self

    @model_validator(mode="after")
    def _every_class_has_a_prompt(self) -> Self:
        final = prompts_for(self.synthetic_texts, self.final_responses, self.oversample)
        if len(self.classes) > min(self.prompts, final):
            raise InputError(
                f"popri.labels has {len(self.labels)} classes, but a round has {self.prompts} prompts (popri.prompts) "
                f"and the final set {final} (synthetic_texts x oversample / final_responses): some class would have "
                "none; ask for more prompts or synthetic texts, or fewer final_responses",
                code="classes-without-prompts",
                parameter="popri.labels",
                value=len(self.labels),
            )
        return self

    @model_validator(mode="after")
    def _rank_exists(self) -> Self:
        if self.rejected_rank > self.responses:
            raise InputError(
                f"popri.rejected_rank is {self.rejected_rank} but popri.responses is {self.responses}: "
                "ask for more responses or a smaller rank",
                code="rejected-rank-above-responses",
                parameter="popri.rejected_rank",
                value=self.rejected_rank,
            )
        return self

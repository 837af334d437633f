"""DPPrefSyn's parameters; published ones: conf/paper/parameters/dpprefsyn.yml."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from fedtext.params import LearningRate, Parameters, Seed
from fedtext.params.generation import Sampler
from fedtext.params.training import CausalTraining, PreferenceTraining
from fedtext.system.errors import InputError

Form = Literal["single", "clustered", "published", "random", "longest", "shortest", "public"]
BY_LENGTH = ("longest", "shortest")
UNLEARNED = ("random", *BY_LENGTH, "public")


class HeadTraining(Parameters):
    """Training of Bradley-Terry heads: `steps` on all pairs, or, with a `batch`, `epochs` of Poisson samples.

    `batch` is the expected number of units in a step; null: all of them. A unit's gradient is clipped to `clip_share`
    of the clip norm of differences.
    """

    batch: int | None = Field(ge=1)
    steps: int = Field(ge=1)
    epochs: float = Field(gt=0)
    learning_rate: LearningRate
    clip_share: float = Field(gt=0, le=1)


class Gap(Parameters):
    """A filter of pairs by the difference between their answers' scores.

    `absolute`: those at least `value` apart; `quantile`: all but the share `value` with the smallest gaps.
    """

    rule: Literal["absolute", "quantile"]
    value: float = Field(ge=0)

    @model_validator(mode="after")
    def _a_share_is_below_one(self) -> Self:
        if self.rule == "quantile" and self.value >= 1:
            raise InputError(
                f"dpprefsyn.gap.value is {self.value}: a quantile is a share below 1, or set rule: absolute",
                code="quantile-out-of-range",
                parameter="dpprefsyn.gap.value",
                value=self.value,
            )
        return self


class Rewarded(Parameters):
    """RLOO through TRL: `completions` answers a prompt, whose reward is the released scorer's, less their mean.

    `kl` is the weight of the divergence from the generator. The adapter is the preference training's.
    """

    completions: int = Field(ge=2)
    steps: int = Field(ge=1)
    prompts_per_step: int = Field(ge=1)
    kl: float = Field(ge=0)
    learning_rate: LearningRate


class Dpprefsyn(Parameters):
    """Private preference pairs give a released linear scorer, which forms pairs of public answers to public prompts.

    `form`: `single` has one head; `clustered` is the paper's, corrected so that its privacy claim holds, with `heads`
    heads; `published` is the paper's as printed, which reads exact sizes and has no privacy guarantee. Baselines read
    nothing private: `random` is a random direction, `longest` and `shortest` choose by characters, `public` trains on
    the file `public_pairs` (a table with prompt, chosen and rejected) without noise. `heads_by`: pairs are assigned to
    heads by noisy clusters of their differences, or by public clusters of their prompts (`prompt`). `scorer`: a head is
    the noisy sum of differences, or is trained on them. `score`: an answer's mean probability to win against the
    others, under the mixture of heads, or the score of one head sampled for each prompt.

    `parts` of the published form: `ours`, a noisy second moment and noisy tallies, or `cited`, DP-PCA and DP-KMeans as
    the paper cites them, whose draws no ledger counts.

    `projection`: on `dimensions` principal directions, of public candidates' differences or of the noisy second moment
    of private ones; `none`: differences as they are. `projection_share` and `cluster_share` are the shares of the
    budget for these, if they query private pairs; heads have the rest. Differences are clipped to the `radius_quantile`
    quantile of public candidates' differences.

    `prompts` public prompts get `answers` each, of which the best and the worst make a pair, if their `gap` is large.
    `alignment` is how the downstream model is trained on the pairs: not at all; on the chosen answers (`sft`), by
    preference optimisation (`dpo`), with the scorer as reward (`rloo`), or by one of these after `sft`. `chat`: it
    reads messages, else a transcript of turns; null: as the generator is asked for candidates.
    """

    form: Form
    parts: Literal["ours", "cited"]
    public_pairs: str | None
    heads: int = Field(ge=1)
    heads_by: Literal["none", "difference", "prompt"]
    scorer: Literal["mean_difference", "bradley_terry"]
    score: Literal["win_probability", "drawn_head"]
    projection: Literal["none", "public", "private"]
    dimensions: int = Field(ge=1)
    projection_share: float = Field(gt=0, lt=0.5)
    cluster_share: float = Field(gt=0, lt=0.5)
    radius_quantile: float = Field(gt=0, le=1)
    training: HeadTraining
    prompts: int = Field(ge=1)
    answers: int = Field(ge=2)
    gap: Gap
    sampler: Sampler
    alignment: Literal["none", "sft", "dpo", "sft_dpo", "rloo", "sft_rloo"]
    chat: bool | None
    sft: CausalTraining
    preference: PreferenceTraining
    rloo: Rewarded
    seed: Seed

    @model_validator(mode="after")
    def _heads_fit_the_form(self) -> Self:
        several = self.form in ("clustered", "published")
        if several != (self.heads > 1) or several != (self.heads_by != "none"):
            wanted = "heads of 2 or more and heads_by difference or prompt" if several else "heads 1 and heads_by none"
            raise InputError(
                f"dpprefsyn.form is {self.form}, heads {self.heads} and heads_by {self.heads_by}: it takes {wanted}",
                code="heads-do-not-fit-form",
                parameter="dpprefsyn.form",
                value=self.form,
            )
        if self.form == "published" and self.heads_by != "difference":
            raise InputError(
                "dpprefsyn.form is published, whose heads are those of differences: set heads_by difference",
                code="published-heads-are-differences",
                parameter="dpprefsyn.heads_by",
            )
        return self

    @model_validator(mode="after")
    def _cited_parts_are_published(self) -> Self:
        wanted = {"form": "published", "scorer": "bradley_terry", "projection": "private"}
        if self.parts == "cited" and any(getattr(self, name) != value for name, value in wanted.items()):
            raise InputError(
                f"dpprefsyn.parts is cited, form {self.form}, scorer {self.scorer} and projection {self.projection}: "
                "DP-PCA and DP-KMeans as cited are parts of form published, with scorer bradley_terry and projection "
                "private; or set dpprefsyn.parts to ours",
                code="cited-parts-are-published",
                parameter="dpprefsyn.parts",
            )
        return self

    @model_validator(mode="after")
    def _controls_have_what_they_need(self) -> Self:
        if (self.form == "public") != (self.public_pairs is not None):
            raise InputError(
                f"dpprefsyn.form is {self.form} and dpprefsyn.public_pairs {self.public_pairs}: name a file of public "
                "pairs where the form is public, and nowhere else",
                code="public-pairs-do-not-fit-form",
                parameter="dpprefsyn.public_pairs",
            )
        if self.form in BY_LENGTH and self.is_rewarded:
            raise InputError(
                f"dpprefsyn.form is {self.form} and alignment {self.alignment}: a length is no reward; set alignment "
                "to dpo or sft_dpo",
                code="length-is-no-reward",
                parameter="dpprefsyn.alignment",
            )
        return self

    @model_validator(mode="after")
    def _a_reward_trains_an_adapter(self) -> Self:
        if self.is_rewarded and self.preference.lora is None:
            raise InputError(
                f"dpprefsyn.alignment is {self.alignment} and dpprefsyn.preference.lora null: the reference of a "
                "reward's training is the model without its adapter; give dpprefsyn.preference.lora a rank, or set "
                "alignment to sft_dpo",
                code="reward-without-adapter",
                parameter="dpprefsyn.preference.lora",
            )
        return self

    @property
    def is_rewarded(self) -> bool:
        """True if the scorer is a reward, in place of pairs."""
        return self.alignment in ("rloo", "sft_rloo")

    @property
    def aligned_in_chat(self) -> bool:
        """True if the downstream model reads prompts as messages."""
        return self.sampler.prompt == "chat" if self.chat is None else self.chat

    @property
    def clusters_privately(self) -> bool:
        """True if the cluster centres come from private pairs."""
        return self.heads_by == "difference"

    @property
    def heads_share(self) -> float:
        """Share of epsilon for the heads' own releases: all, or what the cited parts leave, as printed (4.2)."""
        return 1.0 if self.parts == "ours" else 1.0 - self.projection_share - self.cluster_share

    @property
    def trains_heads(self) -> bool:
        """True if the heads are a release of their own; a cluster's mean difference is already in its last tally."""
        return self.scorer == "bradley_terry" or not self.clusters_privately

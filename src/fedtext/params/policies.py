"""How a policy, or preferences that a policy was trained on, are judged by answers; and what the policy gives away."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from fedtext.params import Parameters, Seed, words
from fedtext.params.conditions import LONGEST_POLICY, RANDOM_POLICY, SFT_ONLY
from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Evaluation
from fedtext.params.generation import Sampler
from fedtext.params.training import PairTokens
from fedtext.system.errors import InputError, did_you_mean

JudgeKind = Literal["rule", "reward", "model"]
TRAINED = (SFT_ONLY.name, RANDOM_POLICY.name, LONGEST_POLICY.name)  # controls that are policies of their own


class Membership(Parameters):
    """Whether the policy tells pairs that it was trained for from pairs of test clients; it reads protected pairs.

    `pairs` of either side are scored at most, the first `tokens` of each; `chat`: as the generator was asked.
    """

    measured: bool
    pairs: int = Field(ge=2)
    tokens: PairTokens
    chat: bool

    def validate_settings(self, corpus: Corpus, evaluation: Evaluation) -> None:
        """Raises ValueError where it is asked for and protected or held-out pairs may not be read for comparison."""
        if self.measured and not evaluation.has_private_control(corpus):
            raise InputError(
                "policies.membership.measured is true: it reads the protected pairs, and no epsilon covers what it "
                "finds; measure it on a public corpus (corpus.declared_public=true if this is public), or say "
                "evaluation.private_control=true"
            )
        if self.measured and evaluation.is_priced(corpus):
            raise InputError(
                "policies.membership.measured is true: it compares protected pairs with test clients' own, exactly, "
                "and this run's test clients pay for figures of their text: leave it out, or measure without "
                "protection (evaluation.priced=false)"
            )


class Policies(Parameters):
    """How much a policy's answers to held-out public prompts win against those of the generator as it was.

    `win_rate`: whether that is measured; null: where an algorithm leaves a policy and somebody can judge. `judge`: the
    made-up annotators' `rule`; a `reward` model learned from the validation clients' pairs, with its own accuracy on
    the test clients'; a `model`, models.judge, which is asked which answer is `better` and says it by `verdicts`; null:
    the rule where annotators are made up, else the reward model where held-out figures have no price, else nobody. The
    `controls` are policies of the same size that are trained beside it. `sampler` writes the answers to `prompts`
    prompts.
    """

    win_rate: bool | None
    judge: JudgeKind | None
    controls: tuple[str, ...]
    prompts: int = Field(ge=2)
    sampler: Sampler
    better: str = Field(min_length=1)
    verdicts: Sampler
    membership: Membership
    seed: Seed

    _words = field_validator("controls", mode="before")(words)

    @field_validator("controls")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in TRAINED:
                raise InputError(f"policies.controls names {name!r}: {did_you_mean(name, TRAINED)}")
        return value

    def judged_by(self, corpus: Corpus, *, priced: bool) -> JudgeKind | None:
        """Who judges; None: nobody.

        Raises:
            ValueError: the judge that is asked for cannot judge this corpus, or nobody can and figures were asked for.
        """
        if self.win_rate is False:
            return None
        made_up = corpus.source == "docstrings"
        judge = self.judge or ("rule" if made_up else None if priced else "reward")
        if judge == "rule" and not made_up:
            raise InputError(
                f"policies.judge is rule and corpus.source {corpus.source}: only made-up annotators (docstrings) have "
                "a rule; set policies.judge to reward or model"
            )
        if judge == "reward" and priced:
            raise InputError(
                "policies.judge is reward, which learns from held-out pairs, and those have a price here: set "
                "policies.judge to model"
            )
        if judge is None and self.win_rate:
            raise InputError(
                "policies.win_rate is true, and nobody can judge private pairs: set policies.judge to model"
            )
        return judge

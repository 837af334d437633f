"""How a policy, or the preferences that it was trained on, are evaluated, and how membership inference is tested."""

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
TRAINED = (SFT_ONLY.name, RANDOM_POLICY.name, LONGEST_POLICY.name)  # baselines that are policies of their own


class Membership(Parameters):
    """Membership inference: whether the policy tells its training pairs from pairs of test clients.

    It reads protected pairs. `pairs` is the most scored pairs of either side, `tokens` the most tokens of each; `chat`:
    as the generator is prompted.
    """

    measured: bool
    pairs: int = Field(ge=2)
    tokens: PairTokens
    chat: bool

    def validate_settings(self, corpus: Corpus, evaluation: Evaluation) -> None:
        """Raise ValueError if it is requested and protected or held-out pairs must not be read for comparison."""
        if self.measured and not evaluation.has_private_control(corpus):
            raise InputError(
                "policies.membership.measured is true: it reads the protected pairs, and no epsilon covers what it "
                "finds; measure it on a public corpus (corpus.declared_public=true if this is public), or say "
                "evaluation.private_control=true",
                code="membership-reads-protected-pairs",
                parameter="policies.membership.measured",
                value=True,
            )
        if self.measured and evaluation.is_dp(corpus):
            raise InputError(
                "policies.membership.measured is true: it compares protected pairs with test clients' own, exactly, "
                "and this run releases figures of held-out text only with noise: leave it out, or measure without "
                "protection (evaluation.dp=false)",
                code="membership-has-no-release",
                parameter="policies.membership.measured",
                value=True,
            )


class Policies(Parameters):
    """Win rates of a policy's answers to held-out public prompts against those of the untuned model.

    `win_rate`: whether they are measured; null: if an algorithm returns a policy and there is a judge. `judge`: the
    simulated annotators' `rule`; a `reward` model trained on the validation clients' pairs, with its own accuracy on
    the test clients'; a `model`, models.judge, which is prompted for the `better` answer and samples by `verdicts`;
    null: the rule if annotators are simulated, else the reward model if held-out figures may be exact, else none. The
    `controls` are policies of the same size that are trained as baselines. `sampler` generates the answers to `prompts`
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
                raise InputError(
                    f"policies.controls names {name!r}: {did_you_mean(name, TRAINED)}",
                    code="unknown-control",
                    parameter="policies.controls",
                    value=name,
                )
        return value

    def judged_by(self, corpus: Corpus, *, dp: bool) -> JudgeKind | None:
        """Return the kind of the judge, None without one.

        Raises:
            ValueError: the requested judge cannot judge this corpus, or no judge can and win rates were requested.
        """
        if self.win_rate is False:
            return None
        made_up = corpus.source == "docstrings"
        judge = self.judge or ("rule" if made_up else None if dp else "reward")
        if judge == "rule" and not made_up:
            raise InputError(
                f"policies.judge is rule and corpus.source {corpus.source}: only made-up annotators (docstrings) have "
                "a rule; set policies.judge to reward or model",
                code="no-rule-for-real-pairs",
                parameter="policies.judge",
                value="rule",
            )
        if judge == "reward" and dp:
            raise InputError(
                "policies.judge is reward, which learns from held-out pairs, and this run protects those: set "
                "policies.judge to model",
                code="reward-reads-protected-pairs",
                parameter="policies.judge",
                value="reward",
            )
        if judge is None and self.win_rate:
            raise InputError(
                "policies.win_rate is true, and there is no judge for private pairs: set policies.judge to model",
                code="win-rate-without-judge",
                parameter="policies.win_rate",
                value=True,
            )
        return judge

"""How a policy, or the preferences that it was trained on, are evaluated, and how membership inference is tested."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from fedtext.params import Parameters, Seed, words
from fedtext.params.conditions import LONGEST_POLICY, RANDOM_POLICY, SFT_ONLY
from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Evaluation
from fedtext.params.generation import Sampler
from fedtext.params.training import CausalTraining, PairTokens
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
        if self.measured:
            _validate_unprotected("policies.membership.measured", "what it finds", corpus, evaluation)


class NeuralReward(Parameters):
    """A neural reward model of the training pairs themselves, whose order of test pairs stands beside the scorer's.

    It starts from the downstream model's weights and trains all of them, without protection (DPPrefSyn, C.6). `tokens`
    are the most that it reads of a pair.
    """

    measured: bool
    training: CausalTraining
    tokens: PairTokens

    def validate_settings(self, corpus: Corpus, evaluation: Evaluation) -> None:
        """Raise ValueError if it is requested and protected or held-out pairs must not be read for comparison."""
        if self.measured:
            _validate_unprotected("policies.neural_reward.measured", "it", corpus, evaluation)


def _validate_unprotected(parameter: str, found: str, corpus: Corpus, evaluation: Evaluation) -> None:
    """Raise ValueError where a baseline may not read protected pairs, or compare with held-out ones exactly."""
    if not evaluation.has_private_control(corpus):
        raise InputError(
            f"{parameter} is true: it reads the protected pairs, and no epsilon covers {found}; measure it on a public "
            "corpus (corpus.declared_public=true if this is public), or say evaluation.private_control=true",
            code="reads-protected-pairs",
            parameter=parameter,
            value=True,
        )
    if evaluation.is_dp(corpus):
        raise InputError(
            f"{parameter} is true: it compares protected pairs with test clients' own, exactly, and this run releases "
            "figures of held-out text only with noise: leave it out, or measure without protection "
            "(evaluation.dp=false)",
            code="protected-pairs-without-release",
            parameter=parameter,
            value=True,
        )


class Policies(Parameters):
    """Win rates of a policy's answers to held-out public prompts against those of the untuned model.

    `win_rate`: whether they are measured; null: if an algorithm returns a policy and there is a judge. `judge`: the
    simulated annotators' `rule`; a `reward` model trained on the validation clients' pairs, with its own accuracy on
    the test clients'; a `model`, models.judge, which is prompted for the `better` answer and samples by `verdicts`;
    null: the rule if annotators are simulated, else the reward model if held-out figures may be exact, else none. The
    `controls` are policies of the same size that are trained as baselines. `sampler` generates the answers to `prompts`
    prompts. With `against_people` the answers to as many prompts of the test pairs are also judged against those that
    people chose.
    """

    win_rate: bool | None
    judge: JudgeKind | None
    against_people: bool
    controls: tuple[str, ...]
    prompts: int = Field(ge=2)
    sampler: Sampler
    better: str = Field(min_length=1)
    verdicts: Sampler
    membership: Membership
    neural_reward: NeuralReward
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

    def validate_people(self, corpus: Corpus, evaluation: Evaluation) -> None:
        """Raise ValueError if people's answers are to be judged and the test pairs may not be shown to a judge."""
        if not self.against_people:
            return
        said = "policies.against_people is true: a judge sees test pairs' prompts and the answers that people chose, "
        if not corpus.is_public:
            raise InputError(
                f"{said}and these are private; say corpus.declared_public=true if this corpus is public, or leave it "
                "out: win rates over public prompts read no private text",
                code="people-are-private",
                parameter="policies.against_people",
                value=True,
            )
        if evaluation.is_dp(corpus):
            raise InputError(
                f"{said}and this run releases figures of held-out text only with noise: leave it out, or measure "
                "without protection (evaluation.dp=false)",
                code="people-have-no-release",
                parameter="policies.against_people",
                value=True,
            )
        if self.win_rate is False:
            raise InputError(
                f"{said}and policies.win_rate is false: leave that out",
                code="people-without-judge",
                parameter="policies.against_people",
                value=True,
            )

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

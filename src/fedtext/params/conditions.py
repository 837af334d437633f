"""The conditions: what the on-device model is trained on before it is evaluated, each defined once.

Conditions are defined with the parameters, since the claims of a comparison name them. A private method justifies its
privacy cost only if it beats the baselines that have none. A generator is useful only if it beats the baseline at the
same epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Epsilon(Enum):
    """The privacy cost of a condition, in words."""

    ZERO = "no privacy cost"
    RUN = "the same ε"
    INFINITE = "no finite ε"


class Role(Enum):
    """The purpose of a condition."""

    START = "the model as it was"
    CONTROL = "what is to be beaten"
    JUDGED = "what an algorithm made"
    CEILING = "what can be reached without privacy"


@dataclass(frozen=True)
class Condition:
    """One kind of training text.

    `title` is for tables, `label` for the lines of figures and for sets of texts, `phrase` for a sentence about
    baselines. `made` is the output of an algorithm that this condition evaluates.
    """

    name: str
    title: str
    label: str
    role: Role
    epsilon: Epsilon
    phrase: str = ""
    made: str = ""

    def spent(self, by_run: float | None) -> float | None:
        """Return the condition's epsilon in a run that spent `by_run`; None is infinity."""
        return {Epsilon.ZERO: 0.0, Epsilon.RUN: by_run, Epsilon.INFINITE: None}[self.epsilon]


EPS0 = Condition("eps0", "public model, no fine-tuning (ε = 0)", "ε = 0", Role.START, Epsilon.ZERO)
PUBLIC_CONTROL = Condition(
    "public_control",
    "the same number of public texts",
    "public texts",
    Role.CONTROL,
    Epsilon.ZERO,
    phrase="as many public texts",
)
UNTUNED_CONTROL = Condition(
    "untuned_control",
    "samples of the untuned generator",
    "untuned generator's texts",
    Role.CONTROL,
    Epsilon.ZERO,
    phrase="the untuned generator's texts",
)
MATCHED_CONTROL = Condition(
    "matched_control",
    "public texts that match the release (same ε)",
    "public texts that match the release",
    Role.CONTROL,
    Epsilon.RUN,
    phrase="public texts that match the release",
)
SYNTHETIC = Condition(
    "synthetic",
    "the synthetic texts",
    "synthetic texts",
    Role.JUDGED,
    Epsilon.RUN,
    made="Synthetic text",
)
TRAINED_MODEL = Condition(
    "trained_model",
    "the private text, under differential privacy",
    "private text, under DP",
    Role.JUDGED,
    Epsilon.RUN,
    made="A model",
)
PREFERENCES = Condition(
    "preferences",
    "the released scorer",
    "released scorer",
    Role.JUDGED,
    Epsilon.RUN,
    made="Preference pairs",
)
POLICY = Condition(
    "policy",
    "the trained policy",
    "trained policy",
    Role.JUDGED,
    Epsilon.RUN,
    made="A policy",
)
LONGER = Condition(
    "longer", "the longer answer", "longer answer", Role.CONTROL, Epsilon.ZERO, phrase="taking the longer answer"
)
SHORTER = Condition(
    "shorter", "the shorter answer", "shorter answer", Role.CONTROL, Epsilon.ZERO, phrase="taking the shorter answer"
)
UNTUNED = Condition(
    "untuned",
    "the model as it was",
    "model as it was",
    Role.CONTROL,
    Epsilon.ZERO,
    phrase="the model as it was",
)
SFT_ONLY = Condition(
    "sft_only",
    "tuned on the chosen answers alone (same ε)",
    "chosen answers alone",
    Role.CONTROL,
    Epsilon.RUN,
    phrase="tuning on the chosen answers alone",
)
RANDOM_POLICY = Condition(
    "random_policy",
    "trained on pairs of a random direction",
    "random direction",
    Role.CONTROL,
    Epsilon.ZERO,
    phrase="training on pairs of a random direction",
)
LONGEST_POLICY = Condition(
    "longest_policy",
    "trained to prefer the longest answer",
    "longest answers",
    Role.CONTROL,
    Epsilon.ZERO,
    phrase="training to prefer the longest answer",
)
NEURAL_REWARD = Condition(
    "neural_reward",
    "a neural reward model of the pairs themselves (ε = ∞)",
    "neural reward model",
    Role.CEILING,
    Epsilon.INFINITE,
)
PRIVATE = Condition("private", "the private text itself (ε = ∞)", "ε = ∞", Role.CEILING, Epsilon.INFINITE)

CONDITIONS = {
    one.name: one
    for one in (
        *(EPS0, PUBLIC_CONTROL, UNTUNED_CONTROL, MATCHED_CONTROL, SYNTHETIC, TRAINED_MODEL),
        *(LONGER, SHORTER, UNTUNED, SFT_ONLY, RANDOM_POLICY, LONGEST_POLICY),
        *(PREFERENCES, POLICY, NEURAL_REWARD, PRIVATE),
    )
}
CONTROLS = tuple(one for one in CONDITIONS.values() if one.role is Role.CONTROL)
JUDGED = tuple(one for one in CONDITIONS.values() if one.role is Role.JUDGED)
BESIDE = tuple(name for name, one in CONDITIONS.items() if one.role is not Role.JUDGED)  # scored with every entry

"""Parameters of flexible participation; published ones: conf/flexible/parameters/flexible.yml."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fedtext.params import LearningRate, Parameters, Seed
from fedtext.params.federated import ServerOptimizer
from fedtext.params.generation import Sampler
from fedtext.params.task import OfClasses
from fedtext.params.training import GradientMethod, Lora

MOST_VOTES = 64


class SiloTraining(Parameters):
    """`rounds` of `local_steps` DP-SGD steps in each strong silo, each followed by one server step.

    A step uses a Poisson sample of `batch_size` units on average, each unit's gradient clipped to the L2 norm
    `clip_norm`; the silo's `optimizer`, new each round, uses the noisy mean as its gradient. The server adds
    `server_rate` times the silos' mean difference. `units_at_once` are computed side by side, on a CPU by each core, as
    `gradients` says (`DpSgd`).
    """

    rounds: int = Field(ge=1)
    local_steps: int = Field(ge=1)
    batch_size: int = Field(ge=1)
    clip_norm: float = Field(gt=0)
    optimizer: ServerOptimizer
    server_rate: LearningRate
    units_at_once: int = Field(ge=1)
    gradients: GradientMethod

    @property
    def steps(self) -> int:
        """Local steps of a silo in all rounds."""
        return self.rounds * self.local_steps


class Flexible(OfClasses):
    """Strong silos train the generator, all silos count their codes, weak silos vote for the texts that are kept.

    An adapter, `lora`, is trained; null: all weights, whose exact noise takes seconds a step.

    `labels` are the control codes, declared, never read from private data; a code of several parts joins them by TAB;
    none: one unnamed code. The share `kept` of `texts` texts is kept, by `selection`: `votes` of weak silos as in the
    paper; `herd`, ours, kernel herding with one noisy sum of their embeddings a code; `uniform` at random; `none`
    generates no more than are kept. A record votes for the `votes_per_record` nearest texts of its code.

    `profile_stddev` is the standard deviation of the noise on the counts of codes; the rest of each silo's budget goes
    to training or votes. With `privacy.calibration: published` the profile has `profile_epsilon` of the run's epsilon,
    the rest goes to training or votes, and either phase has half of delta. `noise: false` uses no mechanism and gives
    no protection.

    `untuned_prompt` is the prompt of an untuned generator; `{label}` stands for the code, `{1}` and so on for its
    parts; null: the form that the sampler names.
    """

    group = "flexible"

    labels: tuple[str, ...]
    training: SiloTraining
    lora: Lora | None
    noise: bool
    profile_stddev: float = Field(gt=0)
    profile_epsilon: float = Field(gt=0)
    texts: int = Field(ge=1)
    kept: float = Field(gt=0, le=1)
    votes_per_record: int = Field(ge=1, le=MOST_VOTES)
    selection: Literal["votes", "herd", "uniform", "none"]
    untuned_prompt: str | None
    final_responses: int = Field(ge=1)
    sampler: Sampler
    seed: Seed

    @property
    def synthetic_texts(self) -> int:
        """Number of texts that are kept: r s, and at least one."""
        return max(round(self.kept * self.texts), 1)

    @property
    def candidates(self) -> int:
        """Number of texts that are generated."""
        return self.synthetic_texts if self.selection == "none" else self.texts

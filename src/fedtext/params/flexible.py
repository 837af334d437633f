"""Parameters of flexible participation; published ones: conf/paper/parameters/flexible.yml."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fedtext.params import LearningRate, Parameters, Seed
from fedtext.params.federated import ServerOptimizer
from fedtext.params.generation import Sampler
from fedtext.params.task import OfClasses
from fedtext.params.training import Lora

MOST_VOTES = 64


class SiloTraining(Parameters):
    """`rounds` of `local_steps` DP-SGD steps in each strong silo, then one of the server.

    A step is of a Poisson draw of `batch_size` units on average, each unit's gradient clipped to the L2 norm
    `clip_norm`; the silo's `optimizer`, new each round, takes the noised mean for its gradient. The server adds
    `server_rate` times the silos' mean difference. `units_at_once` are computed side by side, on a CPU by each core.
    """

    rounds: int = Field(ge=1)
    local_steps: int = Field(ge=1)
    batch_size: int = Field(ge=1)
    clip_norm: float = Field(gt=0)
    optimizer: ServerOptimizer
    server_rate: LearningRate
    units_at_once: int = Field(ge=1)

    @property
    def steps(self) -> int:
        """Local steps of a silo in all rounds."""
        return self.rounds * self.local_steps


class Flexible(OfClasses):
    """Strong silos train the generator, all silos count their codes, weak silos vote for the texts that are kept.

    What is trained is an adapter, `lora`; null: all weights, whose exact noise takes seconds a step.

    `labels` are the control codes, declared, never read from private data; a code of several parts joins them by TAB;
    none: one nameless code. Of `texts` texts a share `kept` is kept, chosen by `selection`: `votes` of weak silos, as
    the paper's; `herd`, ours, by one noised sum of their embeddings a code; `uniform` at random; `none` writes no more
    than are kept. A record votes for the `votes_per_record` nearest texts of its code.

    `profile_stddev` is the deviation of the noise on the counts of codes, and what it leaves of each silo's budget is
    spent on training or votes. With `privacy.calibration: published` the profile has `profile_epsilon` of the run's
    epsilon, the rest goes to training or votes, and either phase has half of delta. `noise: false` reads all without a
    mechanism, and protects nobody.

    `untuned_prompt` asks a generator that nobody trained; `{label}` stands for the code, `{1}` and so on for its parts;
    null: the form that the sampler names.
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
        """How many texts are kept: r s, and one at least."""
        return max(round(self.kept * self.texts), 1)

    @property
    def candidates(self) -> int:
        """How many texts are written."""
        return self.synthetic_texts if self.selection == "none" else self.texts

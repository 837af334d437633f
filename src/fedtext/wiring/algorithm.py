"""An algorithm as a value: what the registry, the evaluation and the report need to know of it.

`pipelines/<name>/pipeline.py` defines one as `ALGORITHM`, or several as `ALGORITHMS`; `pipeline_registry` finds them
there. `Outputs` has the names of all data sets that other pipelines read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from kedro.pipeline import Pipeline

from fedtext.wiring.pipeline_settings import Settings


def control_scores(task: str, condition: str) -> str:
    """Return the data set of a downstream task's scores for each held-out text, for a baseline that all share."""
    return f"private_downstream_{task}_{condition}"


class Outputs:
    """Names of one algorithm's data sets; `conf/base/catalog` (algorithms.yml, results.yml) has the place of each.

    Args:
        algorithm: The algorithm's name.

    The algorithm itself writes:

    - `ledger`: after its last release; and `exchange` (`federation.communication.Exchange`).
    - `synthetic` and `synthetic_embeddings` if it makes texts, `model` if it makes a model.
    - `round_embeddings` (of the candidates, by `round_01`, ...) and `rounds` (`released_scores`, one a round, None
      where there is none; `chosen`, the round of the final texts from 0), if it makes texts in rounds.
    - `scorers` and `pairs` (`prompt`, `chosen`, `rejected`, `gap`) if it makes preferences, and `policy`, what was
      trained of the downstream model on them (an adapter, or all weights), with its `training_log`.
    - `reading_pool`: the texts from which those for reading are chosen, if it `writes_for_reading`.
    - `matched_public`: the public texts that match its release, if it has such a control.

    All else is written by the common outputs, the evaluation and the report.
    """

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm
        self.ledger = f"{algorithm}_ledger"
        self.exchange = f"{algorithm}_exchange"
        self.synthetic = f"{algorithm}_synthetic"
        self.reading_pool = f"{algorithm}_reading_pool"
        self.for_reading = f"{algorithm}_for_reading"
        self.synthetic_embeddings = f"{algorithm}_synthetic_embeddings"
        self.model = f"{algorithm}_model"
        self.round_embeddings = f"{algorithm}_round_embeddings"
        self.rounds = f"{algorithm}_rounds"
        self.scorers = f"{algorithm}_scorers"
        self.pairs = f"{algorithm}_pairs"
        self.policy = f"{algorithm}_policy"
        self.training_log = f"{algorithm}_training_log"
        self.matched_public = f"{algorithm}_matched_public"

        self.cost = f"{algorithm}_cost"
        self.privacy_report = f"{algorithm}_privacy_report"
        self.privacy_report_text = f"{algorithm}_privacy_report_text"

        self.test_features = f"{algorithm}_test_features"
        self.accuracy_sums = f"{algorithm}_accuracy_sums"
        self.accuracy = f"{algorithm}_accuracy"
        self.texts_alone = f"{algorithm}_texts_alone"
        self.distances = f"{algorithm}_distances"
        self.held_out_prompts = f"{algorithm}_held_out_prompts"
        self.win_rates = f"{algorithm}_win_rates"
        self.test_prompts = f"{algorithm}_test_prompts"
        self.people = f"{algorithm}_people"
        self.membership = f"{algorithm}_membership"
        self.purity = f"{algorithm}_purity"
        self.evaluation_privacy_report = f"{algorithm}_evaluation_privacy_report"

        self.scorecard = f"{algorithm}_scorecard"
        self.report = f"{algorithm}_report"

    @property
    def margins(self) -> str:
        """Name of a policy's margins: how much it prefers the chosen answer, in training pairs and in others."""
        return f"private_{self.algorithm}_margins"

    @property
    def reward_margins(self) -> str:
        """Name of a neural reward model's margins on test pairs."""
        return f"private_{self.algorithm}_reward_margins"

    def counts(self, condition: str) -> str:
        """Return the name of the data set of correct predictions in held-out text, for a condition of the algorithm."""
        return f"private_{self.algorithm}_counts_{condition}"

    def downstream(self, task: str) -> str:
        """Return the name of the data set of a downstream task's comparison of all conditions."""
        return f"{self.algorithm}_downstream_{task}"

    def downstream_sums(self, task: str) -> str:
        """Return the name of the data set of a downstream task's noisy sums."""
        return f"{self.algorithm}_downstream_sums_{task}"

    def downstream_scores(self, task: str, condition: str) -> str:
        """Return the name of the data set of a downstream task's score on each held-out text.

        The task's model is trained on `condition`, one of the algorithm's sets of texts.
        """
        return f"private_{self.algorithm}_downstream_{task}_{condition}"

    def answers(self, condition: str) -> str:
        """Return the name of the data set of a policy's answers to the held-out prompts, under a condition's name."""
        return f"{self.algorithm}.answers.{condition}"

    def test_answers(self, condition: str) -> str:
        """Return the name of the data set of a policy's answers to the test pairs' prompts."""
        return f"{self.algorithm}.test_answers.{condition}"

    def figure(self, name: str) -> str:
        """Return the name of the data set of one of the report's figures."""
        return f"{self.algorithm}_{name}_figure"


class OutputType(StrEnum):
    """The type of an algorithm's output: it decides what is measured and which report is written."""

    TEXTS = "texts"
    MODEL = "model"
    PREFERENCES = "preferences"
    POLICY = "policy"


@dataclass(frozen=True)
class Control:
    """Texts, or a policy, that only this algorithm can supply, as a baseline for its own output.

    Attributes:
        condition: Name among the evaluation's conditions.
        made: The data set: a table of texts, or a policy.
    """

    condition: str
    made: str


def no_controls(settings: Settings) -> tuple[Control, ...]:
    """Return no baselines, for an algorithm that is compared with the common ones only."""
    return ()


@dataclass(frozen=True)
class Algorithm:
    """One paper's algorithm.

    Attributes:
        name: The name of its job, parameters and data sets, and of its folder unless algorithms share one.
        title: Its name for people, for example "POPri".
        paper: Short citation.
        makes: The type of its output, which the evaluation measures.
        pipeline: Creates its graph for the settings; the graph writes the data sets of `outputs`.
        rounds: Whether it makes texts in rounds, whose candidates are measured one by one.
        writes_for_reading: Whether it writes texts for reading apart; else they are chosen from its synthetic texts.
        client_tokens: Whether its clients train the on-device model, so that it reads `private_token_rows`.
        depends_on: Name of the algorithm whose released values it reads. It then releases nothing itself: the clients'
            exchanges and privacy cost are that one's.
        controls: Returns the baselines that it supplies under the settings.
        policies: Returns its policies under the settings, its own first; the others are baselines.
        assumption: A sentence that its privacy report adds, or nothing.
        figures: Names, in the report, of figures that it draws itself.
    """

    name: str
    title: str
    paper: str
    makes: OutputType
    pipeline: Callable[[Settings], Pipeline]
    rounds: bool = False
    writes_for_reading: bool = False
    client_tokens: bool = False
    depends_on: str | None = None
    controls: Callable[[Settings], tuple[Control, ...]] = no_controls
    policies: Callable[[Settings], tuple[Control, ...]] = no_controls
    assumption: str = ""
    figures: tuple[str, ...] = ()

    @property
    def outputs(self) -> Outputs:
        """Names of the algorithm's data sets."""
        return Outputs(self.name)

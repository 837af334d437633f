"""An algorithm as a value: all that the registry, the handover, the evaluation and the report want to know of it.

`pipelines/<name>/pipeline.py` defines one as `ALGORITHM`; `pipeline_registry` finds it there.

What an algorithm hands over, and what is made of that: the name of every data set that others read, once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum

from kedro.pipeline import Pipeline


class HeldOutOutcome(Enum):
    """What a model that learned from a condition's texts leaves of each held-out text: never released itself."""

    CLASSIFIED = "classified"  # the class that a classifier says
    TAGGED = "tagged"  # how many entities are found
    ASKED = "asked"  # how right a reader answers

    def of_control(self, condition: str) -> str:
        """The data set of a control, which all algorithms share."""
        return f"private_{self.value}_{condition}"

    def of_texts(self, algorithm: str, condition: str) -> str:
        """The data set of an algorithm's own texts, under a condition's name."""
        return f"private_{algorithm}_{self.value}_{condition}"


class Outputs:
    """Names of one algorithm's data sets; `conf/base/catalog` (algorithms.yml, results.yml) says where each lies.

    Args:
        algorithm: The algorithm's name.

    The algorithm itself writes:

    - `ledger`: after its last release; and `exchange` (`federation.communication.Exchange`).
    - `synthetic` and `synthetic_embeddings` if it makes texts, `model` if it makes a model.
    - `round_embeddings` (of the candidates, by `round_01`, ...) and `rounds` (`released_scores`, one a round, None
      where there is none; `chosen`, the round of the final texts from 0), if it makes texts in rounds.
    - `scorers` and `pairs` (`prompt`, `chosen`, `rejected`, `gap`) if it makes preferences, and `policy`, an adapter of
      the generator that was aligned on them, with its `training_log`.
    - `matched_public`: the public texts that match its release, if it has such a control.

    All else is written by the handover, the evaluation and the report.
    """

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm
        self.ledger = f"{algorithm}_ledger"
        self.exchange = f"{algorithm}_exchange"
        self.synthetic = f"{algorithm}_synthetic"
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
        self.class_sums = f"{algorithm}_class_sums"
        self.accuracy = f"{algorithm}_accuracy"
        self.classification = f"{algorithm}_classification"
        self.entities = f"{algorithm}_entities"
        self.questions = f"{algorithm}_questions"
        self.texts_alone = f"{algorithm}_texts_alone"
        self.distances = f"{algorithm}_distances"
        self.held_out_prompts = f"{algorithm}_held_out_prompts"
        self.win_rates = f"{algorithm}_win_rates"
        self.membership = f"{algorithm}_membership"
        self.evaluation_privacy_report = f"{algorithm}_evaluation_privacy_report"

        self.scorecard = f"{algorithm}_scorecard"
        self.report = f"{algorithm}_report"

    @property
    def margins(self) -> str:
        """By how much a policy prefers the chosen answer of each pair that it may have learned from, and of others."""
        return f"private_{self.algorithm}_margins"

    def counts(self, condition: str) -> str:
        """What a model trained on the algorithm's own texts gets right in held-out text, under a condition's name."""
        return f"private_{self.algorithm}_counts_{condition}"

    def answers(self, condition: str) -> str:
        """What a policy answers to the held-out prompts, under a condition's name."""
        return f"{self.algorithm}.answers.{condition}"

    def figure(self, name: str) -> str:
        """One of the report's figures."""
        return f"{self.algorithm}_{name}_figure"


class OutputType(StrEnum):
    """What an algorithm makes: it decides what is measured and which report is written."""

    TEXTS = "texts"
    MODEL = "model"
    PREFERENCES = "preferences"
    POLICY = "policy"


@dataclass(frozen=True)
class Control:
    """Texts, or a policy, that only this algorithm can supply, to be compared with what it makes.

    Attributes:
        condition: Name among the evaluation's conditions.
        made: The data set: a table of texts, or an adapter of the generator.
    """

    condition: str
    made: str


def no_controls() -> tuple[Control, ...]:
    """For an algorithm that is compared with what every algorithm is compared with, and nothing else."""
    return ()


@dataclass(frozen=True)
class Algorithm:
    """One paper's algorithm.

    Attributes:
        name: Of its folder, its job, its parameters and its data sets.
        title: For people, for example "POPri".
        paper: Short citation.
        makes: What the evaluation judges.
        pipeline: Makes its graph for the active parameters; it writes what `outputs` says.
        rounds: Whether it makes texts in rounds, whose candidates are measured one by one.
        client_tokens: Whether its clients train the on-device model, so that it reads `private_token_rows`.
        depends_on: Name of the algorithm whose released values it reads. It then releases nothing itself: what clients
            exchange and what they pay is that one's.
        controls: Makes the controls that it supplies under the active parameters.
        policies: Makes the policies that it leaves under the active parameters, its own first; the others are controls.
        assumption: A sentence that its privacy report adds, or nothing.
        figures: Figures that it draws itself, by their names in the report.
    """

    name: str
    title: str
    paper: str
    makes: OutputType
    pipeline: Callable[[], Pipeline]
    rounds: bool = False
    client_tokens: bool = False
    depends_on: str | None = None
    controls: Callable[[], tuple[Control, ...]] = no_controls
    policies: Callable[[], tuple[Control, ...]] = no_controls
    assumption: str = ""
    figures: tuple[str, ...] = ()

    @property
    def outputs(self) -> Outputs:
        """Names of its data sets."""
        return Outputs(self.name)

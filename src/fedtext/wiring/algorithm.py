"""An algorithm as a value: all that the registry, the handover, the evaluation and the report want to know of it.

`pipelines/<name>/pipeline.py` defines one as `ALGORITHM`; `pipeline_registry` finds it there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from kedro.pipeline import Pipeline

from fedtext.wiring.outputs import Outputs


class Makes(StrEnum):
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
        stands_on: Name of the algorithm whose released values it reads. It then releases nothing itself: what clients
            exchange and what they pay is that one's.
        controls: Makes the controls that it supplies under the active parameters.
        policies: Makes the policies that it leaves under the active parameters, its own first; the others are controls.
        assumption: A sentence that its privacy report adds, or nothing.
        figures: Figures that it draws itself, by their names in the report.
    """

    name: str
    title: str
    paper: str
    makes: Makes
    pipeline: Callable[[], Pipeline]
    rounds: bool = False
    client_tokens: bool = False
    stands_on: str | None = None
    controls: Callable[[], tuple[Control, ...]] = no_controls
    policies: Callable[[], tuple[Control, ...]] = no_controls
    assumption: str = ""
    figures: tuple[str, ...] = ()

    @property
    def outputs(self) -> Outputs:
        """Names of its data sets."""
        return Outputs(self.name)

"""On which terms a run's figures were taken: what its report says before anybody reads a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Evaluation
from fedtext.params.privacy import Privacy
from fedtext.privacy.assumptions import SIMULATED
from fedtext.reporting.wording import count, scientific, spent


class TestUnits(BaseModel):
    """What the units that were measured on are promised."""

    __test__ = False  # no test, whatever pytest makes of the name
    model_config = ConfigDict(frozen=True, extra="forbid")

    unit: str
    units: int
    epsilon: float
    delta: float
    simulated: bool


class Terms(BaseModel):
    """`tested`: what test units are promised, None where nothing; `private_control`: trained on the protected text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tested: TestUnits | None = None
    private_control: bool = False
    aggregation: str = "trusted"

    @classmethod
    def of(
        cls, corpus: Corpus, evaluation: Evaluation, privacy: Privacy, report: Mapping[str, Any] | None = None
    ) -> Terms:
        """From the run's declaration and the privacy report of a priced evaluation; None: there was no price."""
        tested = None
        if report is not None:
            tested = TestUnits(
                unit=report["unit"],
                units=report["population"],
                epsilon=float(report["epsilon"]),
                delta=report["delta"],
                simulated=report["noise"] == SIMULATED,
            )
        control = evaluation.has_private_control(corpus)
        return cls(tested=tested, private_control=control, aggregation=privacy.aggregation)

    def notes(self) -> list[str]:
        """A sentence on each, for the report's first lines."""
        said = [_tested(self.tested)]
        if self.private_control:
            said.append(
                "The control at ε = ∞ was trained on the protected text itself: no ε covers its accuracy and the gap "
                "that it measures."
            )
        if self.aggregation == "secure":
            said.append(
                "This run simulates secure aggregation in one process: whoever runs it holds what every client said."
            )
        return said


def _tested(tested: TestUnits | None) -> str:
    if tested is None:
        return (
            "The test clients are not protected by these figures: accuracies and distances are measured on their text "
            "without noise."
        )
    price = f"ε = {spent(tested.epsilon)} at δ = {scientific(tested.delta)}"
    about = f"Each of about {count(tested.units)} test {tested.unit}s"
    if tested.simulated:
        return f"{about} would be protected as well, with {price}; but that noise came from a public seed, too."
    return f"{about} is protected as well, with {price}: figures of held-out text are noised sums, and so inexact."

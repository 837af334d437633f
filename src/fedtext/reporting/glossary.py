"""The report's glossary, and the terms (privacy and baselines) under which its figures were computed.

Words are explained in place (on hover) and again at the report's end. The terms are stated before the first number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from markupsafe import Markup
from pydantic import BaseModel, ConfigDict

from fedtext.evaluation.wording import count, scientific, spent
from fedtext.params.conditions import PUBLIC_CONTROL, UNTUNED_CONTROL
from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Evaluation
from fedtext.params.privacy import Privacy
from fedtext.privacy.assumptions import SIMULATED

WORDS = {
    "ε": "privacy loss: how much likelier one unit's text can make what was released; the smaller, the better",
    "δ": "the probability with which ε may be exceeded",
    "on-device model": "the small language model that clients would use; it is trained on the texts, and judged",
    "next-token accuracy": "how often the model's first guess of the next token is right",
    "held-out": "of clients that took no part in anything that was made",
    "what is left": "what training on private samples adds to the best control",
    "gap closed": "share of the way from the public model to one that is trained on the private text itself",
    "FID": "distance of two sets of texts, by the mean and spread of their embeddings; 0: alike",
    "MMD": "maximum mean discrepancy: distance of two sets of texts by all that a kernel sees; 0: alike",
    "mean gap": "distance of the mean embeddings of two sets of texts; 0: alike",
    "medoid": "the most central text: the one that is nearest to all others",
    "zero-out": "neighbouring data: one unit contributes nothing",
    "add-remove": "neighbouring data: one unit is left out or added",
    "replace-one": "neighbouring data: one unit holds other text",
}
EVERYWHERE = ("ε", "δ")  # a mark at each would be in the way
_MARKED = re.compile(f"({'|'.join(sorted(map(re.escape, WORDS.keys() - set(EVERYWHERE)), key=len))})")
_MARK = Markup('<abbr title="{}">{}</abbr>')


def explained(text: str) -> Markup:
    """Return `text` as escaped HTML, with an explanation on hover at the first mention of each word."""
    parts: list[str] = _MARKED.split(text)
    words = parts[1::2]  # every second part is one
    for word in dict.fromkeys(words):
        parts[1 + 2 * words.index(word)] = _MARK.format(WORDS[word], word)
    return Markup().join(parts)


def used_words(page: str) -> dict[str, str]:
    """Return the words that `page` uses, with their explanations."""
    return {word: meaning for word, meaning in WORDS.items() if word in page}


class TestUnits(BaseModel):
    """The privacy guarantee of the test units."""

    __test__ = False  # no test, whatever pytest makes of the name
    model_config = ConfigDict(frozen=True, extra="forbid")

    unit: str
    units: int
    epsilon: float
    delta: float
    simulated: bool


class Terms(BaseModel):
    """The terms under which figures were computed.

    Attributes:
        tested: The privacy guarantee of test units; None without one.
        private_control: A model was trained on the protected text itself.
        aggregation: How contributions were summed.
        chosen_on_validation: Trainings were chosen on the validation units' text, without a mechanism.
        own_public: The public texts are what the untuned generator writes by itself, so they are its baseline.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tested: TestUnits | None = None
    private_control: bool = False
    aggregation: str = "trusted"
    own_public: bool = False
    chosen_on_validation: bool = False

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        evaluation: Evaluation,
        privacy: Privacy,
        report: Mapping[str, Any] | None = None,
        conditions: Collection[str] = (),
    ) -> Terms:
        """Build from the run's declaration, the privacy report of a DP evaluation, and the compared conditions.

        The report is None if figures of held-out text are exact.
        """
        tested = None
        if report is not None:
            tested = TestUnits(
                unit=report["unit"],
                units=report["population"],
                epsilon=float(report["epsilon"]),
                delta=report["delta"],
                simulated=report["noise"] == SIMULATED,
            )
        scored_alone = PUBLIC_CONTROL.name in conditions and UNTUNED_CONTROL.name not in conditions
        return cls(
            tested=tested,
            private_control=evaluation.has_private_control(corpus),
            aggregation=privacy.aggregation,
            own_public=scored_alone and evaluation.untuned.written is None,
            chosen_on_validation=evaluation.training.chosen_on == "validation",
        )

    def notes(self) -> list[str]:
        """Return a sentence on each term, for the report's first lines."""
        said = [_tested(self.tested)]
        if self.private_control:
            said.append(
                "The control at ε = ∞ was trained on the protected text itself: no ε covers its accuracy and the gap "
                "that it measures."
            )
        if self.own_public:
            said.append(
                "The generator wrote the public texts by itself, so they stand for the untuned generator's texts too."
            )
        if self.aggregation == "secure":
            said.append(
                "This run simulates secure aggregation in one process, which holds every client's contribution."
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

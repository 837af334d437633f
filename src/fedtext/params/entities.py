"""How texts are judged by a model that learns from them where entities stand."""

from __future__ import annotations

from pydantic import Field

from fedtext.params import Parameters
from fedtext.system.errors import InputError


class Entities(Parameters):
    """Whether entities are found in the texts (`models.tagger`), learned, and looked for in held-out text.

    What learns is a logistic regression on words; `penalty` is C of scikit-learn's, the inverse of the L2 penalty's
    weight.
    """

    measured: bool
    penalty: float = Field(gt=0, allow_inf_nan=False)

    def refuse_impossible(self, *, priced: bool) -> None:
        """Raises ValueError where it is asked for and test clients pay for figures of their text."""
        if self.measured and priced:
            raise InputError(
                "evaluation.entities.measured is true, but this run's test clients pay for figures of their text and "
                "entities have no priced form: leave it out (evaluation.entities.measured=false), or measure without "
                "protection (evaluation.priced=false)"
            )

"""How texts are judged by a model that learns from them where entities stand."""

from __future__ import annotations

from pydantic import Field

from fedtext.params.unpriced import Unpriced


class Entities(Unpriced):
    """Whether entities are found in the texts (`models.tagger`), learned, and looked for in held-out text.

    What learns is a logistic regression on words; `penalty` is C of scikit-learn's, the inverse of the L2 penalty's
    weight.
    """

    group = "evaluation.entities"
    figures = "entities"

    measured: bool
    penalty: float = Field(gt=0)

"""Which form the evaluation's graph has, read from the active parameters when pipelines are registered."""

from typing import NamedTuple

from pydantic import ValidationError

from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Evaluation
from fedtext.wiring.config import active_group


class Form(NamedTuple):
    """`priced`: test clients pay for figures, which carry noise. `private_control`: epsilon = infinity is scored."""

    priced: bool
    private_control: bool


def active_form() -> Form:
    """The form that the active parameters ask for; the one that keeps most where Kedro will find them faulty."""
    try:
        corpus = Corpus.model_validate(active_group("corpus"))
        evaluation = Evaluation.model_validate(active_group("evaluation"))
    except ValidationError:
        return Form(priced=True, private_control=False)
    return Form(evaluation.is_priced(corpus), evaluation.has_private_control(corpus))

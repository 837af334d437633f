"""Which form the evaluation's graph has, read from the active parameters when pipelines are registered."""

from typing import NamedTuple

from pydantic import ValidationError

from fedtext.evaluation.measures.known import of_sets
from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Evaluation
from fedtext.system.refusal import RunRefusedError
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


def refuse_unknown_measures() -> None:
    """Refuses an `evaluation.measures` that cannot be taken before any work.

    Raises:
        RunRefusedError: a name is nobody's, or no measure of sets of texts.
    """
    try:
        names = Evaluation.model_validate(active_group("evaluation")).measures
    except ValidationError:
        return  # Kedro says what is wrong with the group
    try:
        of_sets(names)
    except ValueError as error:
        raise RunRefusedError(f"evaluation.measures: {error}") from None

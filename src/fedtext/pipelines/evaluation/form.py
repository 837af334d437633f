"""Which form the evaluation's graph has, read from the active parameters when pipelines are registered."""

from typing import NamedTuple

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
    """The form that the active parameters ask for."""
    corpus = Corpus.model_validate(_given("corpus", "source", "declared_public"))
    evaluation = Evaluation.model_validate(_given("evaluation", "priced", "private_control"))
    return Form(evaluation.is_priced(corpus), evaluation.has_private_control(corpus))


def refuse_unknown_measures() -> None:
    """Refuses an `evaluation.measures` that cannot be taken before any work.

    Raises:
        RunRefusedError: a name is nobody's, or no measure of sets of texts.
    """
    names = Evaluation.model_validate(_given("evaluation", "measures")).measures
    try:
        of_sets(names)
    except ValueError as error:
        raise RunRefusedError(f"evaluation.measures: {error}") from None


def _given(group: str, *fields: str) -> dict[str, object]:
    """The fields of a group that decide a graph, before Kedro has validated all of it."""
    values = active_group(group)
    return {field: values[field] for field in fields if field in values}

"""Which form the evaluation's graph has, read from the active parameters when pipelines are registered."""

from typing import NamedTuple

from pydantic import ValidationError

from fedtext.evaluation.measures.known import set_measures
from fedtext.params.conditions import PUBLIC_CONTROL, UNTUNED_CONTROL
from fedtext.params.corpus import Corpus
from fedtext.params.described import Described
from fedtext.params.evaluation import Classification, Evaluation
from fedtext.params.generation import Sampler
from fedtext.params.policies import JudgeKind, Policies
from fedtext.params.task import Task
from fedtext.system.refusal import RunRefusedError, parameter_faults, parameters_refusal
from fedtext.wiring.config import active_group, active_parameters
from fedtext.wiring.generators import generator_describes

COPIES = "held_out_copies"  # how much of the held-out text stands in the training text


class Form(NamedTuple):
    """Which measurements there are.

    `priced`: test clients pay for figures, which carry noise. `private_control`: epsilon = infinity is scored.
    `untuned_control`: the untuned generator writes a control.
    `classified`: classifiers are trained too. `tagged`: so are models that look for entities. `asked`: so are readers
    that answer questions.
    """

    priced: bool
    private_control: bool
    untuned_control: bool = True
    classified: bool = False
    tagged: bool = False
    asked: bool = False

    @property
    def counts_copies(self) -> bool:
        """Whether held-out text is looked for in the training text: its owners are protected by no figure of that."""
        return self.private_control and not self.priced


class PolicyForm(NamedTuple):
    """How policies are judged: by whom (None: by nobody), beside which other ones, and by what they give away."""

    judge: JudgeKind | None
    controls: tuple[str, ...]
    membership: bool


def active_policies() -> PolicyForm:
    """The form that the active parameters ask for; none where Kedro will find corpus or evaluation faulty.

    Raises:
        RunRefusedError: the group `policies` is faulty, which Kedro does not see where nobody judges; a judge is asked
            for that cannot judge; or membership where protected pairs may not be read.
    """
    try:
        policies = Policies.model_validate(active_group("policies"))
    except ValidationError:
        raise parameters_refusal(parameter_faults(active_parameters(), {"policies": Policies})) from None
    try:
        corpus = Corpus.model_validate(active_group("corpus"))
        evaluation = Evaluation.model_validate(active_group("evaluation"))
    except ValidationError:
        return PolicyForm(None, (), membership=False)
    try:
        policies.membership.validate_settings(corpus, evaluation)
        judge = policies.judged_by(corpus, priced=evaluation.is_priced(corpus))
    except ValueError as error:
        raise RunRefusedError(str(error)) from None
    return PolicyForm(judge, policies.controls if judge else (), policies.membership.measured)


def active_form() -> Form:
    """The form that the active parameters ask for; the one that keeps most where Kedro will find them faulty."""
    try:
        corpus = Corpus.model_validate(active_group("corpus"))
        evaluation = Evaluation.model_validate(active_group("evaluation"))
        task = Task.model_validate(active_group("task"))
        classification = Classification.model_validate(active_group("classification"))
        public = _writing_of(corpus)
    except ValidationError:
        return Form(priced=True, private_control=False)
    priced = evaluation.is_priced(corpus)
    classified = classification.is_measured(task, priced=priced)
    return Form(
        priced,
        evaluation.has_private_control(corpus),
        evaluation.has_untuned_control(public),
        classified,
        tagged=evaluation.entities.measured and not priced,
        asked=evaluation.questions.measured and not priced,
    )


def _writing_of(corpus: Corpus) -> Sampler | None:
    """How the run's one generator writes the public texts; None where it does not."""
    if not (corpus.is_described and generator_describes()):
        return None
    return Described.model_validate(active_group("described")).texts.sampler


def public_controls() -> dict[str, str]:
    """The data set of each control that spends no privacy, by condition."""
    untuned = {UNTUNED_CONTROL.name: "untuned_texts"} if active_form().untuned_control else {}
    return {PUBLIC_CONTROL.name: "public_samples", **untuned}


def validate_measures() -> None:
    """Refuses measures that cannot be taken before any work.

    Raises:
        RunRefusedError: a name of `evaluation.measures` is nobody's, or no measure of sets of texts; or classification,
            entities or answers are asked for where they cannot be measured.
    """
    _refuse_classification()
    try:
        names = Evaluation.model_validate(active_group("evaluation")).measures
    except ValidationError:
        return  # Kedro says what is wrong with the group
    try:
        set_measures(names)
    except ValueError as error:
        raise RunRefusedError(f"evaluation.measures: {error}") from None


def _refuse_classification() -> None:
    try:
        corpus = Corpus.model_validate(active_group("corpus"))
        evaluation = Evaluation.model_validate(active_group("evaluation"))
        task = Task.model_validate(active_group("task"))
        classification = Classification.model_validate(active_group("classification"))
    except ValidationError:
        return
    try:
        classification.validate_settings(task)
        evaluation.entities.validate_settings(priced=evaluation.is_priced(corpus))
        evaluation.questions.validate_settings(priced=evaluation.is_priced(corpus))
    except ValueError as error:
        raise RunRefusedError(str(error)) from None

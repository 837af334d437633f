"""The variant of the evaluation's graph, from the active parameters when pipelines are registered."""

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


class EvaluationVariant(NamedTuple):
    """The measurements of an evaluation.

    Attributes:
        priced: Test clients have a privacy cost for figures, which carry noise (DP evaluation).
        private_control: The non-private bound, epsilon = infinity, is scored.
        untuned_control: The untuned generator writes a baseline.
        classified: Classifiers are trained too.
        tagged: Entity recognition models are trained too.
        asked: Extractive question answering models are trained too.
    """

    priced: bool
    private_control: bool
    untuned_control: bool = True
    classified: bool = False
    tagged: bool = False
    asked: bool = False

    @property
    def counts_copies(self) -> bool:
        """Whether held-out text is searched for in the training text: no budget protects the owners in that figure."""
        return self.private_control and not self.priced

    @property
    def draws_private_samples(self) -> bool:
        """Whether private samples of several sizes and draws are trained on; the median is chosen on exact figures."""
        return self.private_control and not self.priced


class PolicyEvaluation(NamedTuple):
    """The evaluation of policies: by which judge (None: none), beside which others, and by which privacy test."""

    judge: JudgeKind | None
    controls: tuple[str, ...]
    membership: bool


def active_policies() -> PolicyEvaluation:
    """Return the policies' evaluation by the active parameters; none if Kedro will find corpus or evaluation faulty.

    Raises:
        RunRefusedError: The group `policies` is faulty, which Kedro does not see without a judge; a judge is declared
            that cannot judge; or membership where protected pairs may not be read.
    """
    try:
        policies = Policies.model_validate(active_group("policies"))
    except ValidationError:
        raise parameters_refusal(parameter_faults(active_parameters(), {"policies": Policies})) from None
    try:
        corpus = Corpus.model_validate(active_group("corpus"))
        evaluation = Evaluation.model_validate(active_group("evaluation"))
    except ValidationError:
        return PolicyEvaluation(None, (), membership=False)
    try:
        policies.membership.validate_settings(corpus, evaluation)
        judge = policies.judged_by(corpus, priced=evaluation.is_priced(corpus))
    except ValueError as error:
        raise RunRefusedError(str(error)) from None
    return PolicyEvaluation(judge, policies.controls if judge else (), policies.membership.measured)


def active_variant() -> EvaluationVariant:
    """Return the evaluation of the active parameters; the most private one if Kedro will find them faulty."""
    try:
        corpus = Corpus.model_validate(active_group("corpus"))
        evaluation = Evaluation.model_validate(active_group("evaluation"))
        task = Task.model_validate(active_group("task"))
        classification = Classification.model_validate(active_group("classification"))
        public = _writing_of(corpus)
    except ValidationError:
        return EvaluationVariant(priced=True, private_control=False)
    priced = evaluation.is_priced(corpus)
    classified = classification.is_measured(task, priced=priced)
    return EvaluationVariant(
        priced,
        evaluation.has_private_control(corpus),
        evaluation.has_untuned_control(public),
        classified,
        tagged=evaluation.entities.measured and not priced,
        asked=evaluation.questions.measured and not priced,
    )


def _writing_of(corpus: Corpus) -> Sampler | None:
    """Return how the run's one generator writes the public texts; None if it does not."""
    if not (corpus.is_described and generator_describes()):
        return None
    return Described.model_validate(active_group("described")).texts.sampler


def public_controls() -> dict[str, str]:
    """Return the data set of each baseline without privacy cost, by condition."""
    untuned = {UNTUNED_CONTROL.name: "untuned_texts"} if active_variant().untuned_control else {}
    return {PUBLIC_CONTROL.name: "public_samples", **untuned}


def validate_measures() -> None:
    """Check, before any work, that the declared measures can be taken.

    Raises:
        RunRefusedError: A name of `evaluation.measures` is unknown, or no measure of sets of texts; or classification,
            entities or answers are declared where they cannot be measured.
    """
    _validate_classification()
    try:
        names = Evaluation.model_validate(active_group("evaluation")).measures
    except ValidationError:
        return  # Kedro says what is wrong with the group
    try:
        set_measures(names)
    except ValueError as error:
        raise RunRefusedError(f"evaluation.measures: {error}") from None


def _validate_classification() -> None:
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

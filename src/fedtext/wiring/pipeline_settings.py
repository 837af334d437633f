"""The settings that decide the graphs: read once when pipelines are registered, and passed to every pipeline.

The number of rounds of an algorithm, the parties that are compared and the measures that are taken decide what nodes
there are. `register_pipelines` builds one `Settings` of the session's configuration, so that `kedro run --params
popri.rounds=5`, `--env paper`, `kedro viz run --params ...` and `kedro registry list` all agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

from pydantic import ValidationError

from fedtext.evaluation.measures.known import set_measures
from fedtext.evaluation.measures.mauve import MAUVE
from fedtext.evaluation.tasks.known import TASKS
from fedtext.evaluation.tasks.task import DownstreamTask
from fedtext.params import words
from fedtext.params.conditions import PUBLIC_CONTROL, UNTUNED_CONTROL
from fedtext.params.corpus import Corpus, is_described
from fedtext.params.described import Described
from fedtext.params.evaluation import Evaluation, TaskParameters
from fedtext.params.federation import FederationParameters
from fedtext.params.generation import Sampler
from fedtext.params.policies import JudgeKind, Policies
from fedtext.params.task import Task
from fedtext.system.errors import InputError
from fedtext.system.refusal import RunRefusedError, parameter_faults, parameters_refusal, refusal_of
from fedtext.wiring.config import ProjectConfigLoader, corpus_is_public

MOST_ROUNDS = 200  # a graph of 200 rounds is built in 5 s; one of 1000 takes 85 s and 2.4 GB


class EvaluationVariant(NamedTuple):
    """The measurements of an evaluation.

    Attributes:
        dp: Figures of test clients carry noise, at a privacy cost (DP evaluation).
        private_control: The non-private bound, epsilon = infinity, is scored.
        untuned_control: The untuned generator writes a baseline.
        tasks: The downstream tasks that are measured beside next-token prediction.
        chosen_on_validation: Trainings of the on-device model are chosen on the validation clients' text.
    """

    dp: bool
    private_control: bool
    untuned_control: bool = True
    tasks: tuple[DownstreamTask, ...] = ()
    chosen_on_validation: bool = False

    @property
    def public_controls(self) -> dict[str, str]:
        """The data set of each baseline without privacy cost, by condition."""
        untuned = {UNTUNED_CONTROL.name: "untuned_texts"} if self.untuned_control else {}
        return {PUBLIC_CONTROL.name: "public_samples", **untuned}

    @property
    def controls(self) -> tuple[str, ...]:
        """The conditions whose texts all algorithms are compared with."""
        return (*self.public_controls, *(["private"] if self.private_control else []))

    @property
    def has_exact_private_control(self) -> bool:
        """Whether the non-private bound is scored without noise.

        Then held-out text is also searched for in the training text, and private samples are trained on in several
        sizes and draws: no budget protects the owners in these figures.
        """
        return self.private_control and not self.dp


class PolicyEvaluation(NamedTuple):
    """The evaluation of policies: by which judge (None: none), beside which others, and by which further tests."""

    judge: JudgeKind | None
    controls: tuple[str, ...]
    membership: bool
    against_people: bool = False
    neural_reward: bool = False


@dataclass(frozen=True)
class Settings:
    """What the graphs depend on; every pipeline is given it.

    Attributes:
        loader: The session's configuration.
    """

    loader: ProjectConfigLoader

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters of the run."""
        return self.loader.parameters

    def group(self, name: str) -> dict[str, Any]:
        """Return one group of parameters, which a graph needs before Kedro has validated any parameter.

        Raises:
            ValueError: it was given one value in place of its parameters.
        """
        group = self.parameters[name]
        if not isinstance(group, dict):
            raise InputError(
                f"{name} is {group!r}, but names a group of parameters: give one of them, {name}.NAME=VALUE",
                code="group-given-a-value",
                parameter=name,
                value=group,
            )
        return group

    def rounds(self, algorithm: str) -> int:
        """Return the declared number of rounds.

        Raises:
            ValueError: it is not a whole number of at least 1, or beyond what a graph can hold.
        """
        rounds = self.group(algorithm)["rounds"]
        if not isinstance(rounds, int) or not 1 <= rounds <= MOST_ROUNDS:
            raise InputError(
                f"{algorithm}.rounds is {rounds!r}: it must be a whole number from 1 to {MOST_ROUNDS}, for every round "
                "is a part of the graph",
                code="rounds-out-of-range",
                parameter=f"{algorithm}.rounds",
                value=rounds,
            )
        return rounds

    @property
    def corpus_is_public(self) -> bool:
        """Whether the corpus is a public stand-in for private text; if its parameters are faulty, it is not."""
        return corpus_is_public(self.parameters)

    @property
    def has_readers(self) -> bool:
        """True if texts are set apart for people to read: of a described kind, unless `for_reading.texts` is 0."""
        return self.is_described and self.group("for_reading").get("texts") != 0

    @property
    def is_described(self) -> bool:
        """Whether a generator writes the public text from a description."""
        corpus = self.group("corpus")
        return is_described(corpus.get("public_path"), corpus.get("description"))

    @property
    def silos(self) -> bool:
        """Whether the private text lies with silos in processes of their own.

        Raises:
            RunRefusedError: corpus.source and federation.engine say different things, or the group is faulty.
        """
        if "federation" not in self.parameters:
            return False
        if faults := parameter_faults(self.parameters, {"federation": FederationParameters}):
            raise parameters_refusal(faults)
        source, engine = self.group("corpus")["source"], self.group("federation")["engine"]
        if (source == "silos") != (engine == "flower"):
            raise RunRefusedError(
                f"corpus.source is {source!r} and federation.engine {engine!r}: silos keep their text and answer over "
                "Flower, so give corpus.source=silos and federation.engine=flower together, or neither",
                code="silos-half-declared",
                parameter="federation.engine",
                value=engine,
            )
        return bool(source == "silos")

    @cached_property
    def generators(self) -> tuple[str, ...]:
        """The names of the generators in `models.plms`, sorted; one whose source is null is left out.

        Raises:
            RunRefusedError: It is not a mapping, or a name is no word that can name an argument.
        """
        named = self._source("plms") or {}
        if not isinstance(named, dict) or not all(str(name).isidentifier() for name in named):
            raise RunRefusedError(
                f"models.plms is {named!r}: it names generators by words of letters, digits and _, each with its "
                "source",
                code="unusable-generator-names",
                parameter="models.plms",
                value=named,
            )
        return tuple(sorted(name for name, source in named.items() if source is not None))

    @cached_property
    def policies(self) -> PolicyEvaluation:
        """The policies' evaluation; none if Kedro will find corpus or evaluation faulty.

        Raises:
            RunRefusedError: The group `policies` is faulty, which Kedro does not see without a judge; a judge is
                declared that cannot judge; or membership, or people's answers, where pairs may not be read.
        """
        try:
            policies = Policies.model_validate(self.group("policies"))
        except ValidationError:
            raise parameters_refusal(parameter_faults(self.parameters, {"policies": Policies})) from None
        try:
            corpus = Corpus.model_validate(self.group("corpus"))
            evaluation = Evaluation.model_validate(self.group("evaluation"))
        except ValidationError:
            return PolicyEvaluation(None, (), membership=False)
        try:
            policies.membership.validate_settings(corpus, evaluation)
            policies.neural_reward.validate_settings(corpus, evaluation)
            policies.validate_people(corpus, evaluation)
            judge = policies.judged_by(corpus, dp=evaluation.is_dp(corpus))
        except InputError as error:
            raise refusal_of(error) from None
        controls = policies.controls if judge else ()
        reward, people = policies.neural_reward.measured, policies.against_people
        return PolicyEvaluation(judge, controls, policies.membership.measured, people, reward)

    @cached_property
    def evaluation(self) -> EvaluationVariant:
        """The variant of the evaluation; the most private one if Kedro will find its parameters faulty."""
        try:
            corpus = Corpus.model_validate(self.group("corpus"))
            evaluation = Evaluation.model_validate(self.group("evaluation"))
            classes = Task.model_validate(self.group("task"))
            own = {task: self._settings_of(task) for task in TASKS}
            public = self._writing_of(corpus)
        except ValidationError:
            return EvaluationVariant(dp=True, private_control=False)
        dp = evaluation.is_dp(corpus)
        return EvaluationVariant(
            dp,
            evaluation.has_private_control(corpus),
            evaluation.has_untuned_control(public),
            tuple(task for task, settings in own.items() if settings.is_measured(classes, dp=dp)),
            evaluation.training.chosen_on == "validation",
        )

    def _settings_of(self, task: DownstreamTask) -> TaskParameters:
        """Return a downstream task's parameters."""
        top, *inside = task.group.split(".")
        group: Any = self.group(top)
        for name in inside:
            group = group[name]
        return task.parameters.model_validate(group)

    @property
    def has_mauve_of_features(self) -> bool:
        """Whether MAUVE is measured by the features of a language model (`models.features`)."""
        measured = self.group("evaluation").get("measures") or ""
        return self._source("features") is not None and MAUVE.name in cast("tuple[str, ...]", words(measured))

    def validate_measures(self) -> None:
        """Check, before any work, that the declared measures can be taken.

        Raises:
            RunRefusedError: A name of `evaluation.measures` is unknown, or no measure of sets of texts; parameters of a
                downstream task are faulty; or a task is declared where it cannot be measured.
        """
        self._validate_tasks()
        try:
            names = Evaluation.model_validate(self.group("evaluation")).measures
        except ValidationError:
            return  # Kedro says what is wrong with the group
        try:
            set_measures(names)
        except ValueError as error:
            raise RunRefusedError(
                f"evaluation.measures: {error}", code="unusable-measures", parameter="evaluation.measures"
            ) from None

    def _validate_tasks(self) -> None:
        faults = parameter_faults(self.parameters, {task.group: task.parameters for task in TASKS})
        if faults:  # Kedro checks what a node reads, and no node reads the parameters of a task that is not measured
            raise parameters_refusal(faults)
        try:
            corpus = Corpus.model_validate(self.group("corpus"))
            evaluation = Evaluation.model_validate(self.group("evaluation"))
            classes = Task.model_validate(self.group("task"))
        except ValidationError:
            return
        try:
            evaluation.validate_choice(corpus)
            for task in TASKS:
                self._settings_of(task).validate_settings(classes, dp=evaluation.is_dp(corpus))
        except InputError as error:
            raise refusal_of(error) from None

    def _writing_of(self, corpus: Corpus) -> Sampler | None:
        """Return how the run's one generator writes the public texts; None if it does not."""
        same = self._source("describer") in (None, self._source("generator"))
        if not (corpus.is_described and same):
            return None
        return Described.model_validate(self.group("described")).texts.sampler

    def _source(self, role: str) -> Any:
        """Return the source of a role of `models`: the command line's, else the configuration's."""
        given: Any = (self.loader.runtime_params or {}).get("models") or {}
        return given.get(role) or self.loader["globals"]["models"].get(role)

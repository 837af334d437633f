"""How a synthetic data set is evaluated: next-token prediction, and the downstream tasks.

The parameters of downstream tasks (`fedtext.evaluation.tasks`) derive from `TaskParameters`; those of a task without a
private (DP) version, from `NonPrivateMeasure`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, PositiveInt, field_validator

from fedtext.params import Parameters, Seed, words
from fedtext.params.corpus import Corpus
from fedtext.params.generation import Sampler
from fedtext.params.privacy import Privacy
from fedtext.params.task import Task
from fedtext.params.training import CausalTraining, TunedTraining
from fedtext.system.errors import InputError


class TaskParameters(Parameters):
    """Base of a downstream task's parameters: whether it is measured, and whether it can be.

    `task` has the classes, and `dp` says whether figures of held-out text are noisy releases.
    """

    def is_measured(self, task: Task, *, dp: bool) -> bool:
        """Return whether the task is measured."""
        raise NotImplementedError

    def validate_settings(self, task: Task, *, dp: bool) -> None:
        """Raise ValueError if the task is requested and cannot be measured."""
        raise NotImplementedError


class NonPrivateMeasure(TaskParameters):
    """Base of parameters with `measured`: whether a measure is computed, which needs exact figures of held-out text.

    Attributes:
        group: Name of the group of parameters, for messages.
        figures: The measure in a word, for messages.
    """

    group: ClassVar[str]
    figures: ClassVar[str]
    if TYPE_CHECKING:
        measured: bool

    def is_measured(self, task: Task, *, dp: bool) -> bool:
        """Return whether it is requested, which DP evaluation refuses."""
        return self.measured and not dp

    def validate_settings(self, task: Task, *, dp: bool) -> None:
        """Raise ValueError if the measure is requested and held-out figures must be private."""
        if self.measured and dp:
            raise InputError(
                f"{self.group}.measured is true, but this run releases figures of held-out text with noise, and "
                f"{self.figures} have no such release: leave it out ({self.group}.measured=false), or measure without "
                "protection (evaluation.dp=false)",
                code="measure-has-no-release",
                parameter=f"{self.group}.measured",
                value=True,
            )


class Questions(NonPrivateMeasure):
    """Question answering: a model (`models.classifier`, fine-tuned) is trained on texts that are exercises.

    `length` is the most tokens of question and passage that it reads, `answer_length` the most of an answer.
    """

    group = "evaluation.questions"
    figures = "answers"

    measured: bool
    fine_tuning: CausalTraining
    length: int = Field(ge=16)
    answer_length: int = Field(ge=1)


EntityHead = Literal["logistic", "fine_tuned"]


class Entities(NonPrivateMeasure):
    """Entity recognition: the texts' entities (`models.tagger`) train a recogniser, evaluated on held-out text.

    The recogniser is a `logistic` regression on words, or an encoder (`models.classifier`) that is `fine_tuned` as
    `fine_tuning` says. `penalty` is C of scikit-learn's regression, the inverse of the L2 penalty's weight.
    """

    group = "evaluation.entities"
    figures = "entities"

    measured: bool
    head: EntityHead
    penalty: float = Field(gt=0)
    fine_tuning: CausalTraining


class UntunedControl(Parameters):
    """Settings of the baseline that the untuned generator writes: `responses` texts a prompt.

    `oversample` times as many as are wanted, since some are empty or dropped; the first usable ones are the baseline.
    `written`: whether this baseline exists. None: unless the public texts are such texts already.
    """

    written: bool | None
    responses: int = Field(ge=1)
    oversample: float = Field(ge=1)
    sampler: Sampler


class Evaluation(Parameters):
    """Downstream training and the size of every comparison set.

    `training` is the same for every condition; what it selects, it selects on the condition's own training texts.
    `texts` is the number of these (synthetic and baselines alike). Epsilon = infinity uses the private training samples
    themselves, at most `private_texts` of them, one of every client before a second of any; None: all. Of
    `private_draws` such draws the median one is reported. `private_curve` are sizes of smaller draws, from which it is
    read how many private samples a set of texts is worth. A DP evaluation has one draw and no curve.
    `max_eval_samples` limits the held-out samples. `top` are the ranks of top-k accuracy, 1 first, the main measure.
    `measures` names the measures of sets of texts: distances to held-out text, and properties of the texts alone
    (`fedtext.evaluation.measures.known`). `entities` and `questions` are downstream tasks.

    `dp`: whether figures of held-out text are noisy releases (DP evaluation), at a privacy cost of `epsilon` each
    to test clients (None: the run's). None: if the corpus is private. `private_control`: whether epsilon = infinity is
    trained and scored at all. None: on public corpora only. In a DP evaluation `clip_norm` is the clipping norm of a
    test client's contribution to accuracy, in tokens; `random_features` and `main_axes` are the sizes of its
    contribution to distances.
    """

    training: TunedTraining
    untuned: UntunedControl
    texts: int = Field(ge=1)
    private_texts: int | None = Field(ge=1)
    private_draws: int = Field(ge=1)
    private_curve: tuple[PositiveInt, ...]
    max_eval_samples: int = Field(ge=10)
    top: tuple[PositiveInt, ...]
    measures: tuple[str, ...]
    published_metric: bool
    entities: Entities
    questions: Questions
    seed: Seed
    dp: bool | None
    epsilon: float | None = Field(gt=0)
    private_control: bool | None
    clip_norm: float = Field(gt=0)
    random_features: int = Field(ge=2, multiple_of=2)
    main_axes: int = Field(ge=1)

    _words = field_validator("top", "measures", "private_curve", mode="before")(words)

    @field_validator("top")
    @classmethod
    def _one_comes_first(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if value[:1] != (1,):
            raise InputError(
                f"evaluation.top is '{' '.join(map(str, value))}': begin with 1, which reports lead with",
                code="top-begins-above-one",
                parameter="evaluation.top",
                value=value,
            )
        return value

    def is_dp(self, corpus: Corpus) -> bool:
        """Return whether figures of held-out text are noisy releases, which protect the test clients."""
        return not corpus.is_public if self.dp is None else self.dp

    def validate_choice(self, corpus: Corpus) -> None:
        """Raise ValueError if trainings are to be chosen on validation clients' text that is not public."""
        if self.training.chosen_on == "validation" and (self.is_dp(corpus) or not corpus.is_public):
            raise InputError(
                "evaluation.training.chosen_on is validation, which reads the validation clients' text without a "
                "mechanism in every training, and this text is to be protected: choose on the texts themselves "
                "(own_texts), or on a corpus that is public (corpus.declared_public=true)",
                code="choice-on-private-text",
                parameter="evaluation.training.chosen_on",
                value="validation",
            )

    def has_private_control(self, corpus: Corpus) -> bool:
        """Return whether a model is trained on the protected text without protection, as a non-private bound."""
        return corpus.is_public if self.private_control is None else self.private_control

    def has_untuned_control(self, public: Sampler | None) -> bool:
        """Return whether the untuned generator writes a baseline of its own.

        `public` is how it generated the public texts, None if it did not. If the baseline would be generated in the
        same way, on pages without examples, the public texts are that baseline.
        """
        own = self.untuned
        if own.written is not None:
            return own.written
        return public is None or own.sampler.shows_examples or not public.same_prompts_as(own.sampler)

    def declaration(self, privacy: Privacy) -> Privacy:
        """Return the test clients' privacy declaration.

        It is the run's, but all test clients are queried and noise is calibrated exactly.
        """
        own = {"epsilon": self.epsilon or privacy.epsilon, "sampling": "full", "clients_per_round": None}
        return privacy.model_copy(update={**own, "noise_multiplier": None, "calibration": "exact"})


Kind = Literal["tfidf", "embeddings", "fine_tuned"]


class ClassifierTraining(Parameters):
    """A logistic regression on TF-IDF or on frozen `embeddings`, or an encoder that is `fine_tuned`.

    `penalty` is C of scikit-learn's logistic regression, the inverse of the L2 penalty's weight. `fine_tuning` is the
    encoder's; `length` is the most tokens of a text that it reads. `head_reads` says what the new head sees: the
    `sentence` embedding, or the state of the `first_token`, as BERT's own head does.
    """

    kind: Kind
    penalty: float = Field(gt=0)
    fine_tuning: CausalTraining
    length: int = Field(ge=4)
    head_reads: Literal["sentence", "first_token"]


class Classification(TaskParameters):
    """Classification: a classifier is trained on the texts and evaluated on held-out text.

    `untrained` is what epsilon = 0 answers: the class whose `names` is nearest to a text, or the `largest_class` of the
    held-out texts for all of them, which no budget covers.

    `measured`: null: if `task.labels` names classes and figures of held-out text may be exact; true: also as a noisy
    release, where `clip_norm` is the clipping norm of a test client's contribution, in texts.
    """

    measured: bool | None
    untrained: Literal["names", "largest_class"]
    clip_norm: float = Field(gt=0)
    training: ClassifierTraining
    seed: Seed

    def is_measured(self, task: Task, *, dp: bool) -> bool:
        """Return whether texts are classified; `dp`: whether figures of held-out text are noisy releases."""
        return not dp and len(task.labels) > 1 if self.measured is None else self.measured

    def validate_settings(self, task: Task, *, dp: bool) -> None:
        """Raise ValueError if it is requested and there are no classes; it has a noisy release, `dp` or not."""
        if self.measured:
            task.validate_classes("classification.measured=true")
        if self.untrained == "largest_class" and dp:
            raise InputError(
                "classification.untrained is largest_class, and this run releases figures of held-out text with noise: "
                "which class is the largest would be one more release, so set it to names, or measure without "
                "protection (evaluation.dp=false)",
                code="largest-class-has-no-release",
                parameter="classification.untrained",
                value="largest_class",
            )

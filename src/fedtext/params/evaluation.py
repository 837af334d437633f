"""How a synthetic data set is judged.

- Measures of held-out text that have no priced form.
- How texts are judged by a model that learns from them to answer questions about a passage.
- How texts are judged by a model that learns from them where entities stand.
- How texts are judged by a classifier that learns from them.
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


class NonPrivateMeasure(Parameters):
    """Base of parameters with `measured`: whether it is taken at all, which only exact figures allow.

    Attributes:
        group: Name of the group of parameters, for messages.
        figures: What has no priced form, in a word.
    """

    group: ClassVar[str]
    figures: ClassVar[str]
    if TYPE_CHECKING:
        measured: bool

    def validate_settings(self, *, priced: bool) -> None:
        """Raises ValueError where it is asked for and test clients pay for figures of their text."""
        if self.measured and priced:
            raise InputError(
                f"{self.group}.measured is true, but this run's test clients pay for figures of their text and "
                f"{self.figures} have no priced form: leave it out ({self.group}.measured=false), or measure without "
                "protection (evaluation.priced=false)"
            )


class Questions(NonPrivateMeasure):
    """Whether a reader (`models.classifier`, fine-tuned) learns from texts that are exercises (`corpora.exercises`).

    `length` is the most tokens of question and passage that it reads, `answer_length` the most of an answer.
    """

    group = "evaluation.questions"
    figures = "answers"

    measured: bool
    fine_tuning: CausalTraining
    length: int = Field(ge=16)
    answer_length: int = Field(ge=1)


class Entities(NonPrivateMeasure):
    """Whether entities are found in the texts (`models.tagger`), learned, and looked for in held-out text.

    What learns is a logistic regression on words; `penalty` is C of scikit-learn's, the inverse of the L2 penalty's
    weight.
    """

    group = "evaluation.entities"
    figures = "entities"

    measured: bool
    penalty: float = Field(gt=0)


class UntunedControl(Parameters):
    """How the untuned generator writes its control: `responses` texts a prompt.

    `oversample` times as many as are wanted, for some are empty or dropped; the first that are not are the control.
    `written`: whether there is this control. None: unless the public texts are such texts already.
    """

    written: bool | None
    responses: int = Field(ge=1)
    oversample: float = Field(ge=1)
    sampler: Sampler


class Evaluation(Parameters):
    """Downstream training and the size of every comparison set.

    `training` is one rule for every condition; what it chooses, it chooses on the condition's own training texts.
    `texts` is the number of these (synthetic and controls alike). Epsilon = infinity uses
    the private training samples themselves, at most `private_texts` of them, one of every client before a second of
    any; None: all. `max_eval_samples` bounds the held-out samples; `top` are the ranks of top-k accuracy, 1 first:
    reports lead with it. `measures` names what is taken of sets of texts: distances to held-out text, and properties of
    the texts alone (`fedtext.evaluation.measures.known`). `entities` says whether a model learns to find them,
    `questions` whether one learns to answer.

    `priced`: whether figures of held-out text are noised releases that test clients pay for, at `epsilon` each (None:
    the run's). None: priced where the corpus is private. `private_control`: whether epsilon = infinity is trained and
    scored at all. None: on public corpora only. Of a priced evaluation, `clip_norm` is the most that a test client can
    say about accuracy, in tokens; `random_features` and `main_axes` are the sizes of what it says about distances.
    """

    training: TunedTraining
    untuned: UntunedControl
    texts: int = Field(ge=1)
    private_texts: int | None = Field(ge=1)
    max_eval_samples: int = Field(ge=10)
    top: tuple[PositiveInt, ...]
    measures: tuple[str, ...]
    published_metric: bool
    entities: Entities
    questions: Questions
    seed: Seed
    priced: bool | None
    epsilon: float | None = Field(gt=0)
    private_control: bool | None
    clip_norm: float = Field(gt=0)
    random_features: int = Field(ge=2, multiple_of=2)
    main_axes: int = Field(ge=1)

    _words = field_validator("top", "measures", mode="before")(words)

    @field_validator("top")
    @classmethod
    def _one_comes_first(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if value[:1] != (1,):
            raise InputError(f"evaluation.top is '{' '.join(map(str, value))}': begin with 1, which reports lead with")
        return value

    def is_priced(self, corpus: Corpus) -> bool:
        """Whether test clients pay for what is measured on them, and are protected by it."""
        return not corpus.is_public if self.priced is None else self.priced

    def has_private_control(self, corpus: Corpus) -> bool:
        """Whether a model is trained on the protected text without protection, to be compared with."""
        return corpus.is_public if self.private_control is None else self.private_control

    def has_untuned_control(self, public: Sampler | None) -> bool:
        """Whether the untuned generator writes a control of its own.

        `public` is how it wrote the public texts, None if it did not. Where it would write the control in the same way,
        on pages without examples, the public texts are that control.
        """
        own = self.untuned
        if own.written is not None:
            return own.written
        return public is None or own.sampler.shows_examples or not public.asks_as(own.sampler)

    def declaration(self, privacy: Privacy) -> Privacy:
        """What test clients are promised: the run's declaration, every one of them asked, noise calibrated exactly."""
        own = {"epsilon": self.epsilon or privacy.epsilon, "sampling": "full", "clients_per_round": None}
        return privacy.model_copy(update={**own, "noise_multiplier": None, "calibration": "exact"})


Kind = Literal["tfidf", "embeddings", "fine_tuned"]


class ClassifierTraining(Parameters):
    """What learns: logistic regression on TF-IDF or on frozen `embeddings`, or an encoder that is `fine_tuned`.

    `penalty` is C of scikit-learn's logistic regression, the inverse of the L2 penalty's weight. `fine_tuning` is the
    encoder's; `length` is the most tokens of a text that it reads.
    """

    kind: Kind
    penalty: float = Field(gt=0)
    fine_tuning: CausalTraining
    length: int = Field(ge=4)


class Classification(Parameters):
    """Whether a classifier judges the texts, and which one.

    `measured`: null, where `task.labels` names classes and figures of held-out text have no price; true: at a price
    too, of which `clip_norm` is the most that a test client can say, in texts.
    """

    measured: bool | None
    clip_norm: float = Field(gt=0)
    training: ClassifierTraining
    seed: Seed

    def is_measured(self, task: Task, *, priced: bool) -> bool:
        """Whether texts are judged so; `priced`: whether test clients pay for figures of their text."""
        return not priced and len(task.labels) > 1 if self.measured is None else self.measured

    def validate_settings(self, task: Task) -> None:
        """Raises ValueError where it is asked for and there are no classes."""
        if self.measured:
            task.validate_classes("classification.measured=true")

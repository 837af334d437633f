"""Classification as a downstream task (`classification`): the one that DP evaluation can release too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from fedtext.corpora.records import spread_samples
from fedtext.evaluation import classification as learning
from fedtext.evaluation.accuracy_release import AccuracyContribution, release_accuracies
from fedtext.evaluation.classification import View, class_codes, evaluate_with_parts, labelled_texts
from fedtext.evaluation.measures import downstream as measures
from fedtext.evaluation.measures.downstream import (
    CLASS_ACCURACY,
    MACRO_F1,
    UNKNOWN,
    class_accuracy,
    macro_f1,
    weighted_f1,
)
from fedtext.evaluation.measures.measure import ABSENT, OnHeldOut
from fedtext.evaluation.private_evaluation import ReleasedCounts
from fedtext.evaluation.tasks.task import (
    HELD_OUT,
    Document,
    DownstreamTask,
    PrivateRelease,
    Scores,
    Table,
    TaskNode,
    in_report_order,
    stressed,
)
from fedtext.evaluation.units import drawn_units, units_and_holders
from fedtext.evaluation.wording import change, count, interval, share
from fedtext.federation.mechanism import summed_stddev
from fedtext.models.encoder import Encoder
from fedtext.params.conditions import CONDITIONS, EPS0, PRIVATE
from fedtext.params.corpus import Corpus, Partition
from fedtext.params.evaluation import Classification, Evaluation
from fedtext.params.task import Task
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey

HALF = 0.5  # what is guessed of the accuracy of classes: a text that is right or wrong is as far from it
TEXTS = 0.5  # scale of a client's number of texts, beside differences of whole texts
LEARNERS = {
    "tfidf": "a logistic regression on words",
    "embeddings": "a logistic regression on sentence embeddings",
    "fine_tuned": "a fine-tuned encoder",
}


def classify_untrained(
    private_test_sample: pd.DataFrame, classifier: Encoder, task: Task, corpus: Corpus, classification: Classification
) -> Scores:
    """Classify without training, by the nearest name of a class or as the largest class: epsilon = 0."""

    def judged(classes: Task, view: View) -> Scores:
        if classification.untrained == "largest_class":
            return learning.classify_as_largest(view(private_test_sample), classes)
        return learning.classify_by_name(view(private_test_sample), classes, classifier)

    return evaluate_with_parts(judged, task, corpus.code_columns)


def class_trainer(private: bool) -> Callable[..., Scores]:
    """Create the training on `evaluation.texts` of a condition's texts, or on `private_texts` private samples."""

    def classify(
        private_test_sample: pd.DataFrame,
        classifier: Encoder,
        task: Task,
        classification: Classification,
        evaluation: Evaluation,
        corpus: Corpus,
        texts: pd.DataFrame,
    ) -> Scores:
        """Train a classifier on the texts, and classify held-out text."""
        given, most, label = texts, None if private else evaluation.texts, "private texts" if private else "texts"
        if private:
            own = texts[class_codes(texts["label"], task) != UNKNOWN].reset_index(drop=True)
            given = spread_samples(own, evaluation.private_texts)

        def judged(classes: Task, view: View) -> Scores:
            learned_from = labelled_texts(view(given), classes, classifier, most, seed=classification.seed)
            held_out = view(private_test_sample)
            return learning.classify_condition(learned_from, held_out, classes, classification, classifier, label=label)

        return evaluate_with_parts(judged, task, corpus.code_columns)

    return classify


def compare_classifications(
    private_test_sample: pd.DataFrame,
    task: Task,
    classification: Classification,
    corpus: Corpus,
    partition: Partition,
    **conditions: Scores,
) -> dict[str, Any]:
    """Compare accuracy and F1 of all conditions: paired differences and the share of the gap closed."""
    drawn, kind = drawn_units(private_test_sample, partition), classification.training.kind
    scored = in_report_order(conditions)
    return learning.compare_classified(
        scored, task, drawn, kind, corpus.code_columns, untrained=classification.untrained
    )


def release_classification(
    private_test_sample: pd.DataFrame,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    classification: Classification,
    **conditions: Scores,
) -> tuple[np.ndarray, Ledger]:
    """Release the noisy sum over test clients of each condition's right classes in their held-out text."""
    counted = {name: CLASS_ACCURACY.counts(scores) for name, scores in conditions.items()}
    contribution = AccuracyContribution(HALF, classification.clip_norm, TEXTS)
    name = (ledger.planned or ())[-2].name  # the last is that of next-token accuracies
    units = units_and_holders(private_test_sample, ledger.declaration)
    return release_accuracies(counted, contribution, name, units, ledger, private_noise_key, scored=conditions)


def compare_released_classifications(
    sums: np.ndarray,
    ledger: Ledger,
    task: Task,
    classification: Classification,
    evaluation: Evaluation,
    corpus: Corpus,
    **texts: pd.DataFrame,
) -> dict[str, Any]:
    """Compare classifications as `compare_classifications` does, from the released sums: accuracy alone."""
    sizes: dict[str, int | None] = {EPS0.name: 0}
    sizes |= {name: min(evaluation.texts, len(learning.usable_texts(own, task)[0])) for name, own in texts.items()}
    sizes |= {PRIVATE.name: None} if evaluation.has_private_control(corpus) else {}
    contribution = AccuracyContribution(HALF, classification.clip_norm, TEXTS)
    released = ReleasedCounts.of(sums, tuple(sizes), noise=summed_stddev(ledger), **contribution._asdict())
    return learning.compare_released_classes(released, sizes, task, classification.training.kind)


def classification_tables(document: Document) -> list[Table]:
    """Return the table of accuracy and macro-F1 of every condition with intervals, and one of each part of codes."""
    against = EPS0.label.replace(" = ", "\u00a0=\u00a0")
    learner, classes = LEARNERS[document["kind"]], len(document["labels"])
    whole = Table(
        f"Training texts of {learner}: {classes} classes of held-out text (95% intervals)",
        ["learned from", "texts", CLASS_ACCURACY.column, MACRO_F1.column, f"points against {against}", "gap closed"],
        [_row(name, document) for name in document["conditions"]],
        stressed(document),
    )
    parts = document.get("parts", {})
    return [whole, *(_part_table(part, len(values), document) for part, values in parts.items())]


def _part_table(part: str, values: int, document: Document) -> Table:
    """Return the table of one part of the control codes, with macro-F1 beside the weighted F1 that papers print."""
    shown = [class_accuracy(part), weighted_f1(part), macro_f1(part)]
    return Table(
        f"By {part} alone: {values} values (95% intervals)",
        ["learned from", "accuracy", "weighted F1", "macro-F1"],
        [
            [_learned_from(name, document), *(_with_interval(each, own) for each in shown)]
            for name, own in document["conditions"].items()
        ],
        stressed(document),
    )


def _with_interval(measure: OnHeldOut, own: Mapping[str, Any]) -> str:
    if measure.name not in own:
        return ABSENT
    ends = {end: own[f"{measure.name}_{end}"] for end in ("low", "high")}
    return f"{measure.shown(own[measure.name])} ({interval(measure, ends)})"


UNTRAINED = {"names": "names of the classes alone (ε = 0)", "largest_class": "the largest class for every text (ε = 0)"}


def _learned_from(name: str, document: Document) -> str:
    return CONDITIONS[name].title if name != EPS0.name else UNTRAINED[document.get("untrained", "names")]


def _row(name: str, document: Document) -> list[str]:
    own, gain = document["conditions"][name], document["gains"].get(name, {}).get(EPS0.name)
    return [
        _learned_from(name, document),
        ABSENT if own["texts"] is None else count(own["texts"]),
        f"{CLASS_ACCURACY.shown(own[CLASS_ACCURACY.name])} ({interval(CLASS_ACCURACY, own)})",
        _with_interval(MACRO_F1, own),
        change(CLASS_ACCURACY, gain) if gain else ABSENT,
        share(document["gap_closed"].get(name)),
    ]


def classification_limits(document: Document) -> list[str]:
    """Return sentences on the table's limits: texts labelled by class names, classes without training texts."""
    named = [CONDITIONS[name].label for name, own in document["classes"].items() if own["named"]]
    sentences = [
        f"{', '.join(named)}: these texts came without classes; each has the class whose name is nearest to it."
        for _ in named[:1]
    ]
    labels = document["labels"]
    for name, own in document["classes"].items():
        if none := [label for label, texts in zip(labels, own["by_class"], strict=True) if not texts]:
            listed = f"{', '.join(none[:5])}{', ...' if len(none) > 5 else ''}"
            sentences.append(
                f"{CONDITIONS[name].label}: {len(none)} of {len(labels)} classes have no text to learn from, "
                f"so none is ever found ({listed})."
            )
    return sentences


_LABELLED = {"task": "params:task", "corpus": "params:corpus"}
_SETTINGS = {**_LABELLED, "classification": "params:classification"}
_TEST = {HELD_OUT: HELD_OUT, "classifier": "classifier"}
_NOISY = {HELD_OUT: HELD_OUT, "private_noise_key": "private_noise_key"}
CLASSIFICATION = DownstreamTask(
    name="classification",
    verb="classify",
    group="classification",
    parameters=Classification,
    measures=measures.CLASSIFICATION,
    inputs={**_TEST, **_SETTINGS, "evaluation": "params:evaluation"},
    trainer=class_trainer,
    compare=TaskNode(compare_classifications, _SETTINGS),
    untrained=TaskNode(classify_untrained, {**_TEST, **_SETTINGS}),
    private=PrivateRelease(
        TaskNode(release_classification, {**_NOISY, "classification": "params:classification"}),
        TaskNode(compare_released_classifications, {**_SETTINGS, "evaluation": "params:evaluation"}),
    ),
    tables=classification_tables,
    limits=classification_limits,
)

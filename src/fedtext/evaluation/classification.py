"""Train a classifier on one condition's labelled texts and classify every held-out text.

All conditions are evaluated on the same held-out texts of declared classes, so their differences are paired by client.
A condition trains on its texts of declared classes. Texts that come without classes, as public ones mostly do, get the
class whose name has the nearest embedding. So does every held-out text under epsilon = 0, where nothing is trained.

Where classes are control codes, a classifier is also trained and evaluated on each part alone, such as the category or
the stars of reviews, on the same texts. A text whose code is not declared is left out here too, and so is a part that
has the same value in all declared codes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Int

from fedtext.embedding.similarity import nearest
from fedtext.evaluation.measures.downstream import (
    CLASS_ACCURACY,
    GIVEN,
    MACRO_F1,
    TRUE,
    UNKNOWN,
    WEIGHTED_F1,
    class_accuracy,
    key_of,
    macro_f1,
    weighted_f1,
)
from fedtext.evaluation.measures.measure import OnHeldOut, Scored
from fedtext.evaluation.paired import compare_scored
from fedtext.evaluation.private_evaluation import ReleasedCounts, compare_released
from fedtext.evaluation.ratios import as_share
from fedtext.params.conditions import PRIVATE, TRAINED_MODEL
from fedtext.params.evaluation import Classification
from fedtext.params.task import Task, parts_of
from fedtext.seeding import stream
from fedtext.system.missing import nullable
from fedtext.training.classifier import train_classifier

if TYPE_CHECKING:
    from fedtext.models.encoder import Encoder


View = Callable[[pd.DataFrame], pd.DataFrame]  # replaces the labels of a table by those to evaluate
Judge = Callable[[Task, View], dict[str, np.ndarray]]  # evaluates one condition by the classes of a task


class Part(NamedTuple):
    """A part of the control codes by its name, with a task whose classes are the part's values."""

    name: str
    task: Task
    value: dict[str, str]  # of each declared code

    def view(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the table with the part's value as its label, None where the code is not declared."""
        values = [self.value.get(label) for label in nullable(table["label"])]
        return table.assign(label=pd.Series(values, index=table.index, dtype=object))


def code_parts(task: Task, names: Sequence[str]) -> tuple[Part, ...]:
    """Return the parts of the task's codes, named in order by `names`; empty where classes have one part only."""
    if len(names) < 2:
        return ()
    found = []
    for place, name in enumerate(names):
        value = {label: parts_of(label)[place] for label in task.labels}
        values = tuple(dict.fromkeys(value.values()))
        if len(values) > 1:
            found.append(Part(name, task.model_copy(update={"labels": values}), value))
    return tuple(found)


def evaluate_with_parts(judge: Judge, task: Task, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Evaluate a condition by its classes, and add the true and the predicted value of every part of the codes."""
    scored = judge(task, lambda table: table)
    for part in code_parts(task, names):
        found = judge(part.task, part.view)
        scored |= {key_of(name, part.name): found[name] for name in (TRUE, GIVEN)}
    return scored


Codes = Int[np.ndarray, " text"]
BY_CLASS, NAMED = "by_class", "named"  # training texts of each class; whether class names labelled them


class Labelled(NamedTuple):
    """Training texts with their class codes; `named` if the classes come from the nearest class name."""

    texts: list[str]
    codes: Codes
    named: bool


NOTHING = Labelled([], np.zeros(0, dtype=np.int64), named=True)


def class_codes(labels: pd.Series, task: Task) -> Codes:
    """Return the code of each label, -1 where it is missing or not a declared class."""
    code = {label: number for number, label in enumerate(task.labels)}
    return np.asarray([code.get(label, UNKNOWN) for label in nullable(labels)], dtype=np.int64)


def nearest_class(texts: Sequence[str], task: Task, encoder: Encoder) -> Codes:
    """Return for each text the class whose name has the nearest embedding."""
    names = encoder.encode(task.names, label="names of classes")
    found, _ = nearest(encoder.encode(texts, label="texts to name", undirected_as_zeros=True), names)
    return np.asarray(found, dtype=np.int64)


def usable_texts(table: pd.DataFrame, task: Task) -> tuple[Codes, bool]:
    """Return the rows that can be trained on, and whether their classes must come from the nearest class name.

    Empty texts are left out. Rows without a declared class are used only if no row has one.
    """
    codes = class_codes(table["label"], task)
    named = not (codes != UNKNOWN).any()
    return np.flatnonzero((table["text"].to_numpy() != "") & (named | (codes != UNKNOWN))), named


def labelled_texts(table: pd.DataFrame, task: Task, encoder: Encoder, most: int | None, *, seed: int) -> Labelled:
    """Sample at most `most` non-empty texts of a condition, with their classes.

    Texts without a declared class are left out. If no text has one, each gets the class with the nearest name.
    """
    codes, texts = class_codes(table["label"], task), table["text"].to_numpy()
    usable, named = usable_texts(table, task)
    if most is not None and len(usable) > most:
        usable = np.sort(stream(seed, "labelled texts").choice(usable, most, replace=False))
    kept = texts[usable].tolist()
    return Labelled(kept, nearest_class(kept, task, encoder) if named else codes[usable], named)


def classify_by_name(held_out: pd.DataFrame, task: Task, encoder: Encoder) -> dict[str, np.ndarray]:
    """Classify held-out texts without training (epsilon = 0), by the nearest class name."""
    given = nearest_class(held_out["text"].tolist(), task, encoder)
    return class_scores(held_out, task, given)


def classify_as_largest(held_out: pd.DataFrame, task: Task) -> dict[str, np.ndarray]:
    """Give every held-out text the class that most of them have (epsilon = 0 of POPri's OpenReview, section 5)."""
    true = class_codes(held_out["label"], task)
    largest = np.bincount(true[true != UNKNOWN], minlength=len(task.labels)).argmax()
    return class_scores(held_out, task, np.full(len(true), largest), NOTHING._replace(named=False))


def classify_condition(
    learned_from: Labelled,
    held_out: pd.DataFrame,
    task: Task,
    classification: Classification,
    encoder: Encoder,
    *,
    label: str,
) -> dict[str, np.ndarray]:
    """Train a classifier on labelled texts and predict the class of every held-out text.

    Returns:
        `true_class` and `given_class` of every held-out text, `texts` (to learn from), `by_class` and `named`.

    Raises:
        ValueError: there is nothing to learn from.
    """
    classifier = train_classifier(
        encoder,
        learned_from.texts,
        learned_from.codes,
        len(task.labels),
        classification.training,
        seed=classification.seed,
        label=label,
    )
    given = classifier.probabilities(held_out["text"].tolist()).argmax(axis=1)
    return class_scores(held_out, task, given, learned_from)


def compare_classified(
    scored: Mapping[str, Scored],
    task: Task,
    clients: Codes,
    kind: str,
    columns: Sequence[str] = (),
    untrained: str = "names",
) -> dict[str, Any]:
    """Return the classification document that a report reads; it holds aggregates only.

    All conditions are evaluated on the same held-out texts.

    Args:
        scored: Predictions of each condition, as `classify_condition` returns them.
        task: The classes.
        clients: The cluster (client) of each held-out text, by which errors are computed.
        kind: The kind of the classifier.
        columns: Names of the parts of control codes.
        untrained: What epsilon = 0 answers (`Classification.untrained`).

    Returns:
        The document of `paired.compare_scored`, with F1 measures and the intervals of all; `labels`, `kind` (of
        classifier), `untrained`, `parts` (the values of each evaluated part of the codes) and `classes`. The last is
        for conditions that train on texts which are not private: texts of each class (`by_class`), and whether the
        nearest class name gave the classes (`named`).
    """
    parts = {part.name: list(part.task.labels) for part in code_parts(task, columns)}
    beside = [
        MACRO_F1,
        WEIGHTED_F1,
        *(make(part) for part in parts for make in (class_accuracy, macro_f1, weighted_f1)),
    ]
    document = compare_scored(scored, [CLASS_ACCURACY], clients, beside=beside)
    for name, one in scored.items():
        own = document["conditions"][name]
        if name == TRAINED_MODEL.name:
            own["texts"] = None  # how many private texts there are is nobody's to know
        own |= {"low": as_share(own["low"]), "high": as_share(own["high"]), **_intervals(one, beside, clients)}
    learned = {name: one for name, one in scored.items() if name != PRIVATE.name and int(one["texts"])}
    return {
        **document,
        "measures": [CLASS_ACCURACY.name, MACRO_F1.name],
        "labels": list(task.labels),
        "kind": kind,
        "untrained": untrained,
        "parts": parts,
        "classes": {n: {BY_CLASS: o[BY_CLASS].tolist(), NAMED: bool(o[NAMED])} for n, o in learned.items()},
    }


def compare_released_classes(
    released: ReleasedCounts, texts: Mapping[str, int | None], task: Task, kind: str
) -> dict[str, Any]:
    """Return the same document from noisy sums: accuracy alone, since F1 would need counts of every class."""
    compared = compare_released(released, texts, CLASS_ACCURACY)
    told = {"labels": list(task.labels), "kind": kind, "untrained": "names", "parts": {}, "classes": {}}
    return {**compared, **told}


def _intervals(scored: Scored, measures: Sequence[OnHeldOut], clients: Codes) -> dict[str, float]:
    """Return both ends of every measure's 95% interval: `macro_f1_low`, `macro_f1_high` and so on."""
    found = {measure.name: measure.ratio(scored, clients) for measure in measures}
    return {f"{name}_{end}": as_share(getattr(one, end)) for name, one in found.items() for end in ("low", "high")}


def class_scores(
    held_out: pd.DataFrame, task: Task, given: Codes, learned_from: Labelled = NOTHING
) -> dict[str, np.ndarray]:
    """Return the true and the given class of every held-out text, and what was learned from."""
    return {
        TRUE: class_codes(held_out["label"], task),
        GIVEN: np.asarray(given, dtype=np.int64),
        "texts": np.asarray(len(learned_from.texts)),
        BY_CLASS: np.bincount(learned_from.codes, minlength=len(task.labels)),
        NAMED: np.asarray(int(learned_from.named)),
    }

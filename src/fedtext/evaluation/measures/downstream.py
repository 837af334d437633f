"""Measures of downstream tasks: classification, entity recognition and question answering.

Classification: accuracy and F1 on held-out labelled texts, from the codes of `evaluation.classification`. A text
without a declared class is not evaluated. F1 of a class is 2 TP / (predicted + true); it is 0 for a class that is never
predicted. Macro-F1 is the mean over the classes of the held-out texts. Weighted F1 weighs each class by its texts: a
constant prediction of a class that 44.14% of the texts have already has a weighted F1 of 27.0%, so it is reported
beside macro-F1. Where classes are control codes, each of the three exists for one part alone too: `macro_f1_of_stars`.

Entities: strict F1, from the counts of `evaluation.entities`. An entity is found if the same tokens are given the same
kind. F1 of a kind is 2 right / (true + given), and the measure is the mean over the kinds of held-out text.

Questions: F1 and exact match of answers, from the counts of `evaluation.questions`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from jaxtyping import Int

from fedtext.evaluation.measures.measure import SHARE, Counts, Direction, OnHeldOut, PerText, Scored
from fedtext.evaluation.ratios import Ratio, clustered_mean_of_ratios
from fedtext.system.errors import InputError

HOME = ("classification", "conditions")
TRUE, GIVEN = "true_class", "given_class"  # of every held-out text: a code of the declared classes, -1 for none
UNKNOWN = -1
NAME = re.compile(r"(class_accuracy|macro_f1|weighted_f1)_of_(\S+)")


def key_of(name: str, part: str) -> str:
    """Return the key of the codes `TRUE` or `GIVEN` of a part of the classes; of the classes themselves for part ""."""
    return f"{name}_of_{part}" if part else name


@dataclass(frozen=True, kw_only=True)
class ClassAccuracy(PerText):
    """Share of correctly classified texts among texts of declared classes."""

    HOME = HOME


@dataclass(frozen=True, kw_only=True)
class MeanF1(OnHeldOut):
    """Mean F1 over classes, with the linearised standard error of sampling whole clients."""

    HOME = HOME
    part: str
    weighted: bool

    def ratio(self, scored: Scored, clusters: Int[np.ndarray, " text"] | None = None) -> Ratio:
        """Compute the value with its standard error.

        Raises:
            ValueError: no held-out text has a declared class.
        """
        true_codes, given_codes = (scored[key_of(name, self.part)] for name in (TRUE, GIVEN))
        judged = true_codes != UNKNOWN
        classes = np.unique(true_codes[judged])
        if classes.size == 0:
            raise InputError(
                f"{self.title}: the held-out texts hold no declared class to score", code="no-declared-class-held-out"
            )
        true = true_codes[:, None] == classes
        given = (given_codes[:, None] == classes) & judged[:, None]
        support = true.astype(float)
        return clustered_mean_of_ratios(
            2.0 * (true & given), support + given, clusters, weights=support if self.weighted else None
        )


@cache
def class_accuracy(part: str = "") -> ClassAccuracy:
    """Return the accuracy measure of the classes, or of a part of them."""
    return ClassAccuracy(
        name=key_of("class_accuracy", part),
        title=f"classification accuracy{_of(part)}",
        noun="accuracy",
        column=f"accuracy{_of(part)}",
        direction=Direction.HIGHER,
        unit=SHARE,
        decimals=1,
        counts=partial(_right, part=part),
        counted="labels",
    )


@cache
def macro_f1(part: str = "") -> MeanF1:
    """Return the macro-F1 measure of the classes, or of a part of them."""
    return _mean_f1("macro_f1", "macro-F1", part, weighted=False)


@cache
def weighted_f1(part: str = "") -> MeanF1:
    """Return the measure of F1 weighted by the texts of each class, of the classes or of a part of them."""
    return _mean_f1("weighted_f1", "weighted F1", part, weighted=True)


def _mean_f1(name: str, title: str, part: str, *, weighted: bool) -> MeanF1:
    return MeanF1(
        name=key_of(name, part),
        title=f"{title} of the classes{_of(part)}",
        column=f"{title}{_of(part)}",
        direction=Direction.HIGHER,
        unit=SHARE,
        decimals=1,
        part=part,
        weighted=weighted,
    )


def named(name: str) -> OnHeldOut | None:
    """Return the measure named like `macro_f1_of_stars`; None for any other name."""
    found = NAME.fullmatch(name)
    makers = {"class_accuracy": class_accuracy, "macro_f1": macro_f1, "weighted_f1": weighted_f1}
    return makers[found[1]](found[2]) if found else None


def _of(part: str) -> str:
    return f", {part}" if part else ""


def _right(scored: Scored, part: str) -> Counts:
    true, given = (scored[key_of(name, part)] for name in (TRUE, GIVEN))
    judged = true != UNKNOWN
    return Counts(((true == given) & judged).astype(np.int64), judged.astype(np.int64))


CLASS_ACCURACY, MACRO_F1, WEIGHTED_F1 = class_accuracy(), macro_f1(), weighted_f1()
CLASSIFICATION = (CLASS_ACCURACY, MACRO_F1, WEIGHTED_F1)


ENTITIES_RIGHT, ENTITIES_TRUE, ENTITIES_GIVEN = (
    "entities_right",
    "entities_true",
    "entities_given",
)  # of each held-out text and kind


@dataclass(frozen=True, kw_only=True)
class EntityF1(OnHeldOut):
    """Mean strict F1 over kinds, with the linearised standard error of sampling whole clients."""

    HOME = ("entities", "conditions")

    def ratio(self, scored: Scored, clusters: Int[np.ndarray, " text"] | None = None) -> Ratio:
        """Compute the value with its standard error.

        Raises:
            ValueError: held-out text holds no entity.
        """
        known = scored[ENTITIES_TRUE].sum(axis=0) > 0
        if not known.any():
            raise InputError(
                f"{self.title}: the tagger finds no entity in held-out text; take another (models.tagger)",
                code="no-entity-held-out",
            )
        right, true, given = (scored[name][:, known] for name in (ENTITIES_RIGHT, ENTITIES_TRUE, ENTITIES_GIVEN))
        return clustered_mean_of_ratios(2.0 * right, (true + given).astype(float), clusters)


ENTITY_F1 = EntityF1(
    name="entity_f1",
    title="macro-F1 of entities",
    column="macro-F1 of entities",
    direction=Direction.HIGHER,
    unit=SHARE,
    decimals=1,
)


ASKED, F1, EXACT = "asked", "answer_f1", "answer_exact"  # has a question? score of its answer


@dataclass(frozen=True, kw_only=True)
class AnswerScore(PerText):
    """Mean score over held-out questions."""

    HOME = ("questions", "conditions")


def _over_asked(name: str, scored: Scored) -> Counts:
    return Counts(scored[name], scored[ASKED])


ANSWER_F1, ANSWER_EXACT = (
    AnswerScore(
        name=name,
        title=title,
        column=column,
        direction=Direction.HIGHER,
        unit=SHARE,
        decimals=1,
        counts=partial(_over_asked, name),
        counted="questions",
    )
    for name, title, column in (
        (F1, "F1 of answers", "F1 of answers"),
        (EXACT, "answers that match exactly", "exact match"),
    )
)
QUESTIONS = (ANSWER_F1, ANSWER_EXACT)

"""Accuracy and macro-F1 of a classifier on held-out labelled texts, from the codes of `evaluation.classification`.

A text whose class is none of the declared ones is not judged. Macro-F1 is the mean of F1 = 2 TP / (predicted + true)
over the classes that held-out texts have; a class that a classifier never learned has an F1 of 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from fedtext.evaluation.measures.measure import SHARE, Counts, Direction, OnHeldOut, PerText, Scored
from fedtext.evaluation.ratios import Ratio, clustered_mean_of_ratios
from fedtext.system.errors import InputError

HOME = ("classification", "conditions")
TRUE, GIVEN = "true_class", "given_class"  # of every held-out text: a code of the declared classes, -1 for none
UNKNOWN = -1


@dataclass(frozen=True, kw_only=True)
class ClassAccuracy(PerText):
    """Texts whose class is found, over texts of declared classes."""

    HOME = HOME


@dataclass(frozen=True, kw_only=True)
class MacroF1(OnHeldOut):
    """The mean over classes of F1, with the linearised error of sampling whole clients."""

    HOME = HOME

    def ratio(self, scored: Scored, clusters: Int[np.ndarray, " text"] | None = None) -> Ratio:
        """The value with its error.

        Raises:
            ValueError: no held-out text has a declared class.
        """
        classes = np.unique(scored[TRUE][scored[TRUE] != UNKNOWN])
        if classes.size == 0:
            raise InputError(f"{self.title}: the held-out texts hold no declared class to score")
        judged = scored[TRUE][:, None] != UNKNOWN
        true = scored[TRUE][:, None] == classes
        given = (scored[GIVEN][:, None] == classes) & judged
        return clustered_mean_of_ratios(2.0 * (true & given), true.astype(float) + given, clusters)


def _right(scored: Scored) -> Counts:
    judged = scored[TRUE] != UNKNOWN
    return Counts(((scored[TRUE] == scored[GIVEN]) & judged).astype(np.int64), judged.astype(np.int64))


CLASS_ACCURACY = ClassAccuracy(
    name="class_accuracy",
    title="classification accuracy",
    noun="accuracy",
    column="accuracy",
    direction=Direction.HIGHER,
    unit=SHARE,
    decimals=1,
    counts=_right,
    counted="labels",
)
MACRO_F1 = MacroF1(
    name="macro_f1",
    title="macro-F1 of the classes",
    column="macro-F1",
    direction=Direction.HIGHER,
    unit=SHARE,
    decimals=1,
)
CLASSIFICATION = (CLASS_ACCURACY, MACRO_F1)

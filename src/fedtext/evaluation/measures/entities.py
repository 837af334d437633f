"""F1 of entities found in held-out text, from the counts of `evaluation.entities`.

Strict: an entity is found if the same tokens are given the same kind. F1 of a kind is 2 right / (true + given), and the
measure is the mean over the kinds that held-out text has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from fedtext.evaluation.measures.measure import SHARE, Direction, OnHeldOut, Scored
from fedtext.evaluation.ratios import Ratio, clustered_mean_of_ratios
from fedtext.system.errors import InputError

RIGHT, TRUE, GIVEN = "entities_right", "entities_true", "entities_given"  # of each held-out text and kind


@dataclass(frozen=True, kw_only=True)
class EntityF1(OnHeldOut):
    """The mean over kinds of strict F1, with the linearised error of sampling whole clients."""

    HOME = ("entities", "conditions")

    def ratio(self, scored: Scored, clusters: Int[np.ndarray, " text"] | None = None) -> Ratio:
        """The value with its error.

        Raises:
            ValueError: held-out text holds no entity.
        """
        known = scored[TRUE].sum(axis=0) > 0
        if not known.any():
            raise InputError(f"{self.title}: the tagger finds no entity in held-out text; take another (models.tagger)")
        right, true, given = (scored[name][:, known] for name in (RIGHT, TRUE, GIVEN))
        return clustered_mean_of_ratios(2.0 * right, (true + given).astype(float), clusters)


ENTITY_F1 = EntityF1(
    name="entity_f1",
    title="macro-F1 of entities",
    column="macro-F1 of entities",
    direction=Direction.HIGHER,
    unit=SHARE,
    decimals=1,
)

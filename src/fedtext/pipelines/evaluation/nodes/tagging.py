"""Entities in held-out text. A condition is one training and one reading, so that each resumes on its own.

What was found in each held-out text is as private as the text; only aggregates leave, by `compare_entity_scores`.
"""

from typing import Any

import numpy as np
import pandas as pd

from fedtext.corpora.samples import spread_samples
from fedtext.evaluation.entities import compare_entities, entity_scores
from fedtext.evaluation.paired import in_order
from fedtext.evaluation.scoring import evenly_spaced
from fedtext.models.tagger import Tagger
from fedtext.params.corpus import Partition
from fedtext.params.evaluation import Evaluation
from fedtext.pipelines.evaluation.nodes.held_out import drawn_units

Counts = dict[str, np.ndarray]


def tag_after_texts(
    private_test_sample: pd.DataFrame, tagger: Tagger, evaluation: Evaluation, texts: pd.DataFrame
) -> Counts:
    """After learning from `evaluation.texts` of the texts: synthetic ones, or a control's."""
    learned_from = evenly_spaced(texts["text"].tolist(), evaluation.texts)
    return entity_scores(learned_from, private_test_sample["text"].tolist(), tagger, evaluation.entities.penalty)


def tag_after_private_text(
    private_test_sample: pd.DataFrame,
    tagger: Tagger,
    evaluation: Evaluation,
    private_train: pd.DataFrame,
) -> Counts:
    """Epsilon = infinity: after learning from `evaluation.private_texts` samples of the private text itself."""
    learned_from = spread_samples(private_train, evaluation.private_texts)["text"].tolist()
    return entity_scores(learned_from, private_test_sample["text"].tolist(), tagger, evaluation.entities.penalty)


def compare_entity_scores(
    private_test_sample: pd.DataFrame, tagger: Tagger, partition: Partition, **conditions: Counts
) -> dict[str, Any]:
    """Macro-F1 of all conditions with its intervals."""
    by_name = {name: conditions[name] for name in in_order(conditions)}
    return compare_entities(by_name, tagger.kinds, drawn_units(private_test_sample, partition))

"""Scored conditions compared with each other: aggregates only, by a declared held-out evaluation."""

from typing import Any

import numpy as np
import pandas as pd

from fedtext.evaluation.measures.next_token_accuracy import CROSS_ENTROPY, ranks_of
from fedtext.evaluation.paired import compare_scored, in_order
from fedtext.params.corpus import Partition
from fedtext.pipelines.evaluation.nodes.held_out import drawn_units


def compare_accuracies(
    private_test_sample: pd.DataFrame, partition: Partition, **conditions: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Accuracies of all conditions, their paired differences and the share of the gap closed."""
    drawn = drawn_units(private_test_sample, partition)
    by_name = {name: conditions[name] for name in in_order(conditions)}
    ranks = ranks_of(next(iter(by_name.values())))
    return compare_scored(by_name, ranks, drawn, beside=[CROSS_ENTROPY])

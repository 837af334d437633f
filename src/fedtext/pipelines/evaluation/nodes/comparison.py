"""Scored conditions compared with each other: aggregates only, by a declared held-out evaluation."""

from typing import Any

import numpy as np
import pandas as pd

from fedtext.evaluation.measures.next_token_accuracy import CROSS_ENTROPY, ranks_of
from fedtext.evaluation.paired import compare_scored, in_order


def compare_accuracies(private_test_sample: pd.DataFrame, **conditions: dict[str, np.ndarray]) -> dict[str, Any]:
    """Accuracies of all conditions, their paired differences and the share of the gap closed."""
    clients, _ = pd.factorize(private_test_sample["client_id"], sort=True)
    by_name = {name: conditions[name] for name in in_order(conditions)}
    ranks = ranks_of(next(iter(by_name.values())))
    return compare_scored(by_name, ranks, clients, beside=[CROSS_ENTROPY])

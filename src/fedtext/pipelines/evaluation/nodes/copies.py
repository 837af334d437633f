"""How much of the held-out text stands in the training text too."""

from typing import Any

import numpy as np
import pandas as pd

from fedtext.evaluation.copies import copied, summary


def find_copies(private_train: pd.DataFrame, private_test_sample: pd.DataFrame) -> dict[str, np.ndarray]:
    """Which held-out samples stand in training samples, word for word or nearly."""
    return copied(private_train["text"].tolist(), private_test_sample["text"].tolist())


def count_copies(private_copies: dict[str, np.ndarray]) -> dict[str, Any]:
    """How many of the held-out samples those are."""
    return summary(private_copies)

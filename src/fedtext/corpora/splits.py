"""Train, validation and test clients, told apart by a hash of the client id.

A client's split depends on its own id and the seed alone: appending clients to a corpus, or reordering it, never moves
one from test to train.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from fedtext.records import SPLITS
from fedtext.seeding import derived_seed

Split = Literal["train", "validation", "test"]


def split_of(client_id: str, *, validation_share: float, test_share: float, seed: int) -> Split:
    """Split of one client: test, validation and train take successive parts of the range of the sha256 of its id.

    Raises:
        ValueError: the two shares leave nothing to train on.
    """
    if validation_share + test_share >= 1:
        raise ValueError(
            f"partition.validation_share {validation_share} and partition.test_share {test_share} leave no training "
            "clients: make their sum less than 1"
        )
    position = derived_seed(seed, "split", client_id) / 2**63
    if position < test_share:
        return "test"
    return "validation" if position < test_share + validation_share else "train"


def split_clients(client_ids: Iterable[str], *, validation_share: float, test_share: float, seed: int) -> np.ndarray:
    """Split of each entry of `client_ids`, in order; an id may occur many times.

    Raises:
        ValueError: a split would have no client.
    """
    ids = [str(one) for one in client_ids]
    splits = {
        one: split_of(one, validation_share=validation_share, test_share=test_share, seed=seed) for one in set(ids)
    }
    for name in SPLITS:
        if name not in splits.values():
            raise ValueError(
                f"none of {len(splits)} clients falls into the {name} split at partition.validation_share "
                f"{validation_share} and partition.test_share {test_share}: have more clients, change the shares, or "
                f"change partition.seed (now {seed})"
            )
    return np.array([splits[one] for one in ids], dtype=object)

"""Whose private samples are: the codes of the units that they may be protected as."""

from typing import get_args

import numpy as np
import pandas as pd

from fedtext.federation.units import record_codes, unit_codes
from fedtext.params.privacy import Unit
from fedtext.system.missing import nullable


def unit_of(private: pd.DataFrame, unit: Unit) -> np.ndarray:
    """The code of each sample's client, or of the sample as a record of its own.

    Args:
        private: Samples with `client_id` and `text`, and with `label` where they have one.
        unit: Which of the two.
    """
    ids = private["client_id"].tolist()
    if unit == "client":
        return unit_codes(ids)
    labels = nullable(private["label"]) if "label" in private else [None] * len(private)
    return record_codes(ids, private["text"].tolist(), labels)


def units_of(private: pd.DataFrame) -> dict[str, np.ndarray]:
    """Both, as `unit_of` has them. Arrays `client` and `record`."""
    return {unit: unit_of(private, unit) for unit in get_args(Unit)}

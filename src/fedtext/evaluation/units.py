"""Units of a table of samples: those that are protected, and those by which held-out text was drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fedtext.federation.units import record_codes, unit_codes
from fedtext.params.corpus import Partition
from fedtext.params.privacy import Privacy, Unit
from fedtext.system.missing import nullable


def unit_of(private: pd.DataFrame, unit: Unit) -> np.ndarray:
    """Return the integer code of each sample's unit: of its client, or of the sample as a record of its own.

    Args:
        private: Samples with `client_id` and `text`, and with `label` where they have one.
        unit: The unit of privacy.
    """
    ids = private["client_id"].tolist()
    if unit == "client":
        return unit_codes(ids)
    labels = nullable(private["label"]) if "label" in private else [None] * len(private)
    return record_codes(ids, private["text"].tolist(), labels)


def units_and_holders(private: pd.DataFrame, privacy: Privacy) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the protected unit of each sample, and the client that holds it where the unit is a record."""
    holder = unit_of(private, "client") if privacy.unit == "record" else None
    return unit_of(private, privacy.unit), holder


def drawn_units(private_test_sample: pd.DataFrame, partition: Partition) -> np.ndarray:
    """Return a code for the unit that was held out with each sample: its client, or itself if records are split.

    Intervals are over these: with `partition.split=record` the silos stay and other records might have been held out.
    """
    if partition.split == "record":
        return np.arange(len(private_test_sample))
    return pd.factorize(private_test_sample["client_id"], sort=True)[0]

"""Whose private samples are: the codes of the units that they may be protected as."""

import numpy as np
import pandas as pd

from fedtext.federation.units import record_codes, unit_codes


def units_of(private: pd.DataFrame) -> dict[str, np.ndarray]:
    """The code of each sample's client, and of the sample as a record of its own. Arrays `client` and `record`.

    Args:
        private: Samples with `client_id` and `text`, and with `label` where they have one.
    """
    ids, texts = private["client_id"].tolist(), private["text"].tolist()
    labels = private.get("label", pd.Series([None] * len(private), dtype=object)).astype(object)
    return {
        "client": unit_codes(ids),
        "record": record_codes(ids, texts, labels.where(labels.notna(), None).tolist()),
    }

"""Tables."""

from __future__ import annotations

from kedro_datasets import pandas

from fedtext.datasets.atomic import AtomicSave


class ParquetDataset(AtomicSave, pandas.ParquetDataset):  # type: ignore[misc]
    """A pandas table in Parquet, saved all-or-nothing."""
